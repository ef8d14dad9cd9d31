// SPDX-License-Identifier: BSD-3-Clause
#include "brickwork/io/atomic_file.hpp"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

#include "brickwork/core/check.hpp"

namespace brickwork {

AtomicFile::AtomicFile(std::string path) : path_(std::move(path)), temporary_(path_ + ".part") {
  errno = 0;
  stream_.open(temporary_, std::ios::binary | std::ios::trunc);
  if (!stream_) throw Error("cannot write '" + path_ + "': " + std::strerror(errno));
}

AtomicFile::~AtomicFile() {
  if (committed_) return;
  stream_.close();
  std::error_code ignored;
  std::filesystem::remove(temporary_, ignored);
}

void AtomicFile::check() const {
  if (stream_) return;
  throw Error("cannot write '" + path_ + "': " + (errno != 0 ? std::strerror(errno) : "write failed"));
}

void AtomicFile::commit() {
  errno = 0;
  stream_.flush();
  bool const good = stream_.good();
  stream_.close();
  if (!good || stream_.fail()) {
    throw Error("cannot write '" + path_ + "': " + (errno != 0 ? std::strerror(errno) : "write failed"));
  }
  rename_file(temporary_, path_);
  committed_ = true;
}

void write_text_file(std::string const& path, std::string const& text) {
  AtomicFile file(path);
  file.stream() << text;
  file.commit();
}

void rename_file(std::string const& from, std::string const& to) {
  std::error_code error;
  std::filesystem::rename(from, to, error);
  if (error) throw Error("cannot write '" + to + "': " + error.message());
}

}  // namespace brickwork
