// SPDX-License-Identifier: BSD-3-Clause
// A directory that lives as long as its object, and file helpers for tests.
#pragma once

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <string>

namespace brickwork_test {

class TemporaryDirectory {
 public:
  TemporaryDirectory() {
    std::string pattern = (std::filesystem::temp_directory_path() / "brickwork-test-XXXXXX").string();
    if (mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("mkdtemp failed");
    path = pattern;
  }
  ~TemporaryDirectory() {
    std::error_code ignored;
    std::filesystem::remove_all(path, ignored);
  }
  TemporaryDirectory(TemporaryDirectory const&) = delete;
  TemporaryDirectory& operator=(TemporaryDirectory const&) = delete;

  std::string file(std::string const& name) const { return path + "/" + name; }

  std::string path;
};

inline std::string read_file(std::string const& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) throw std::runtime_error("cannot read " + path);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

inline void write_file(std::string const& path, std::string const& text) {
  std::ofstream(path, std::ios::binary) << text;
}

// The message of the exception that `call` throws; "" where it throws none.
template <class Exception, class Call>
std::string message_of(Call const& call) {
  try {
    call();
  } catch (Exception const& error) {
    return error.what();
  }
  return "";
}

inline bool contains(std::string const& text, std::string const& part) { return text.find(part) != std::string::npos; }

}  // namespace brickwork_test
