// SPDX-License-Identifier: BSD-3-Clause
// Text and binary files that appear whole or not at all: written under a temporary name beside the target, then
// renamed.
#pragma once

#include <fstream>
#include <string>

namespace brickwork {

/// A file being written. The target keeps its old content until `commit`; without it, the temporary file is removed.
class AtomicFile {
 public:
  /// \throws Error where the temporary file cannot be created
  explicit AtomicFile(std::string path);
  ~AtomicFile();
  AtomicFile(AtomicFile const&) = delete;
  AtomicFile& operator=(AtomicFile const&) = delete;

  std::ostream& stream() { return stream_; }

  /// \throws Error where something written so far was refused (no space left, ...)
  void check() const;

  /// Flushes and renames onto the target.
  /// \throws Error where something could not be written (no space left, ...)
  void commit();

 private:
  std::string path_;
  std::string temporary_;
  std::ofstream stream_;
  bool committed_ = false;
};

/// Writes `text` to `path` through AtomicFile.
void write_text_file(std::string const& path, std::string const& text);

/// Renames `from` onto `to`, replacing it.
/// \throws Error with the system's reason
void rename_file(std::string const& from, std::string const& to);

}  // namespace brickwork
