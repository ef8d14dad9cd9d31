// SPDX-License-Identifier: BSD-3-Clause
// Numbers out of binary and text files, as FP32. Private to src/io.
#pragma once

#include <cstddef>
#include <cstdint>
#include <fstream>
#include <optional>
#include <string>
#include <vector>

#include "brickwork/core/types.hpp"

namespace brickwork::detail {

enum class ScalarType { int8, uint8, int16, uint16, int32, uint32, int64, uint64, float32, float64 };

/// From names such as uint8, UInt8 (VTK) or u1 (NumPy; b1, bool, is read as uint8); none for another.
std::optional<ScalarType> scalar_type(std::string name);
index_t scalar_bytes(ScalarType type);

bool little_endian();

/// The number that `text` spells in the C locale, also nan and inf; none where it spells something else.
std::optional<double> parse_number(std::string const& text);

/// nx ny nz.
/// \throws InputError ("path: ...") where a factor is below 1 or the product passes 2^62
index_t cell_count(std::string const& path, Index3 const& cells);

/// "3 x 4 x 5"
std::string size_text(Index3 const& cells);

/// A file that is read from any place on.
class InputFile {
 public:
  /// \throws InputError where it cannot be read
  explicit InputFile(std::string path);

  std::string const& path() const { return path_; }
  index_t size() const { return size_; }
  index_t position();
  void seek(index_t position);
  /// The next byte, -1 at the end.
  int get() { return buffer_.sbumpc(); }
  /// The same without passing it.
  int peek() { return buffer_.sgetc(); }
  /// \throws InputError where fewer bytes are left
  void read(void* to, std::size_t bytes);
  /// \throws InputError "cannot read 'path': what"
  [[noreturn]] void fail(std::string const& what) const;

 private:
  std::string path_;
  index_t size_ = 0;
  std::filebuf buffer_;
};

/// A stream of bytes; a read that passes its end throws InputError.
class ByteSource {
 public:
  virtual ~ByteSource() = default;
  virtual void read(void* to, std::size_t bytes) = 0;
};

/// The bytes of a file as they are.
class PlainBytes : public ByteSource {
 public:
  explicit PlainBytes(InputFile& file) : file_(file) {}
  void read(void* to, std::size_t bytes) override { file_.read(to, bytes); }

 private:
  InputFile& file_;
};

/// Base64 text up to a character that is none; padding may stand inside, where encoded pieces follow each other.
class Base64Bytes : public ByteSource {
 public:
  explicit Base64Bytes(InputFile& file) : file_(file) {}
  void read(void* to, std::size_t bytes) override;

 private:
  void next_group();

  InputFile& file_;
  unsigned char group_[3] = {0, 0, 0};
  int next_ = 0, end_ = 0;
};

/// The blocks that VTK's zlib compressor leaves: a header of words (blocks, bytes of a block, bytes of a last partial
/// block or 0, compressed bytes of each block), then the blocks.
class InflatedBytes : public ByteSource {
 public:
  /// Reads the header.
  /// \throws InputError where it does not promise `bytes` bytes, or where this build has no zlib
  InflatedBytes(InputFile const& file, ByteSource& source, bool wide_header, bool swapped, index_t bytes);
  void read(void* to, std::size_t bytes) override;

 private:
  void next_block();

  InputFile const& file_;
  ByteSource& source_;
  std::vector<std::uint64_t> compressed_sizes_;
  std::size_t block_ = 0;
  std::uint64_t block_bytes_ = 0, last_bytes_ = 0;
  std::vector<unsigned char> compressed_, inflated_;
  std::size_t next_ = 0;
};

/// An unsigned word of 4 or 8 bytes.
std::uint64_t read_word(ByteSource& source, bool wide, bool swapped);

/// Reads `count` numbers of `type`, byte-swapped where asked for, and rounds them to FP32.
void read_values(ByteSource& source, ScalarType type, bool swapped, index_t count, float* values);

/// Reads `count` numbers that are separated by white space.
void read_text_values(InputFile& file, index_t count, float* values);

}  // namespace brickwork::detail
