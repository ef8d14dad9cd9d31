// SPDX-License-Identifier: BSD-3-Clause
#include "byte_source.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <limits>
#include <locale>
#include <sstream>
#include <system_error>
#include <utility>

#include "brickwork/core/check.hpp"
#include "brickwork/core/config.hpp"

#if BRICKWORK_HAS_ZLIB()
#include <zlib.h>
#endif

namespace brickwork::detail {

namespace {

struct ScalarName {
  ScalarType type;
  char const* name;
  char const* short_name;
  index_t bytes;
};

constexpr ScalarName scalars[] = {{ScalarType::int8, "int8", "i1", 1},       {ScalarType::uint8, "uint8", "u1", 1},
                                  {ScalarType::int16, "int16", "i2", 2},     {ScalarType::uint16, "uint16", "u2", 2},
                                  {ScalarType::int32, "int32", "i4", 4},     {ScalarType::uint32, "uint32", "u4", 4},
                                  {ScalarType::int64, "int64", "i8", 8},     {ScalarType::uint64, "uint64", "u8", 8},
                                  {ScalarType::float32, "float32", "f4", 4}, {ScalarType::float64, "float64", "f8", 8},
                                  {ScalarType::uint8, "bool", "b1", 1}};

template <class Value>
void convert(unsigned char const* bytes, bool swapped, index_t count, float* values) {
  for (index_t i = 0; i < count; ++i, bytes += sizeof(Value)) {
    unsigned char ordered[sizeof(Value)];
    std::memcpy(ordered, bytes, sizeof(Value));
    if (swapped) std::reverse(ordered, ordered + sizeof(Value));
    Value value;
    std::memcpy(&value, ordered, sizeof(Value));
    values[i] = static_cast<float>(value);
  }
}

using Convert = void (*)(unsigned char const*, bool, index_t, float*);

Convert converter(ScalarType type) {
  switch (type) {
    case ScalarType::int8:
      return convert<std::int8_t>;
    case ScalarType::uint8:
      return convert<std::uint8_t>;
    case ScalarType::int16:
      return convert<std::int16_t>;
    case ScalarType::uint16:
      return convert<std::uint16_t>;
    case ScalarType::int32:
      return convert<std::int32_t>;
    case ScalarType::uint32:
      return convert<std::uint32_t>;
    case ScalarType::int64:
      return convert<std::int64_t>;
    case ScalarType::uint64:
      return convert<std::uint64_t>;
    case ScalarType::float32:
      return convert<float>;
    case ScalarType::float64:
      break;
  }
  return convert<double>;
}

// Values of the base64 digits; 64 padding, 65 white space, 66 anything else.
std::array<unsigned char, 256> base64_values() {
  std::array<unsigned char, 256> table{};
  table.fill(66);
  char const* const digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=";
  for (unsigned char i = 0; i < 65; ++i) table[static_cast<unsigned char>(digits[i])] = i;
  for (char space : {' ', '\n', '\r', '\t'}) table[static_cast<unsigned char>(space)] = 65;
  return table;
}

}  // namespace

std::optional<ScalarType> scalar_type(std::string name) {
  for (char& c : name) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  for (ScalarName const& scalar : scalars) {
    if (name == scalar.name || name == scalar.short_name) return scalar.type;
  }
  return std::nullopt;
}

index_t scalar_bytes(ScalarType type) {
  for (ScalarName const& scalar : scalars) {
    if (scalar.type == type) return scalar.bytes;
  }
  return 0;
}

bool little_endian() {
  std::uint16_t const one = 1;
  unsigned char first = 0;
  std::memcpy(&first, &one, 1);
  return first == 1;
}

std::optional<double> parse_number(std::string const& text) {
  char const* begin = text.c_str();
  char const* const end = begin + text.size();
  if (text.size() > 1 && *begin == '+') ++begin;
  double value = 0;
#if defined(__cpp_lib_to_chars)
  auto const [stop, error] = std::from_chars(begin, end, value);
  if (error == std::errc() && stop == end) return value;
  if (error == std::errc::result_out_of_range && stop == end) {
    return text.find("e-") != std::string::npos || text.find("E-") != std::string::npos
               ? 0.0
               : std::numeric_limits<double>::infinity();
  }
#else
  std::istringstream in(std::string(begin, end));
  in.imbue(std::locale::classic());
  if (in >> value && in.peek() == std::istringstream::traits_type::eof()) return value;
  // The stream's word for a number out of range.
  if (std::abs(value) == std::numeric_limits<double>::max()) return std::numeric_limits<double>::infinity();
  std::string word(*begin == '-' ? begin + 1 : begin, end);
  for (char& c : word) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  if (word == "nan") return std::numeric_limits<double>::quiet_NaN();
  if (word == "inf" || word == "infinity") return std::numeric_limits<double>::infinity();
#endif
  return std::nullopt;
}

std::string size_text(Index3 const& cells) {
  return std::to_string(cells[0]) + " x " + std::to_string(cells[1]) + " x " + std::to_string(cells[2]);
}

index_t cell_count(std::string const& path, Index3 const& cells) {
  double product = 1;
  for (index_t n : cells) {
    BRICKWORK_REQUIRE(n >= 1, "'", path, "': ", size_text(cells), " cells; each axis needs at least 1");
    product *= static_cast<double>(n);
  }
  BRICKWORK_REQUIRE(product < 4e18, "'", path, "': ", size_text(cells), " cells are more than 2^62");
  return cells[0] * cells[1] * cells[2];
}

InputFile::InputFile(std::string path) : path_(std::move(path)) {
  std::error_code error;
  auto const size = std::filesystem::file_size(path_, error);  // an error for a folder
  if (error) fail(error.message());
  size_ = static_cast<index_t>(size);
  errno = 0;
  if (buffer_.open(path_, std::ios::in | std::ios::binary) == nullptr) fail(std::strerror(errno));
}

index_t InputFile::position() {
  return static_cast<index_t>(std::streamoff(buffer_.pubseekoff(0, std::ios::cur, std::ios::in)));
}

void InputFile::seek(index_t position) {
  if (position < 0 || position > size_) fail("it ends before byte " + std::to_string(position));
  buffer_.pubseekpos(std::streampos(position), std::ios::in);
}

void InputFile::read(void* to, std::size_t bytes) {
  auto const got = buffer_.sgetn(static_cast<char*>(to), static_cast<std::streamsize>(bytes));
  if (got != static_cast<std::streamsize>(bytes)) fail("it ends early, after " + std::to_string(size_) + " bytes");
}

void InputFile::fail(std::string const& what) const { throw InputError("cannot read '" + path_ + "': " + what); }

void Base64Bytes::next_group() {
  static std::array<unsigned char, 256> const table = base64_values();
  unsigned bits = 0;
  int digits = 0, padding = 0;
  while (digits + padding < 4) {
    int const c = file_.peek();
    unsigned char const value = c < 0 ? 66 : table[static_cast<unsigned char>(c)];
    if (value == 66) file_.fail("its base64 data end early");
    file_.get();
    if (value == 65) continue;
    if (value == 64) {
      ++padding;
      bits <<= 6;
    } else {
      if (padding > 0) file_.fail("its base64 data are damaged near byte " + std::to_string(file_.position()));
      ++digits;
      bits = bits << 6 | value;
    }
  }
  if (digits < 2) file_.fail("its base64 data are damaged near byte " + std::to_string(file_.position()));
  for (int i = 0; i < 3; ++i) group_[i] = static_cast<unsigned char>(bits >> (8 * (2 - i)) & 0xff);
  next_ = 0;
  end_ = digits - 1;
}

void Base64Bytes::read(void* to, std::size_t bytes) {
  auto* out = static_cast<unsigned char*>(to);
  for (; bytes > 0; --bytes) {
    if (next_ == end_) next_group();
    *out++ = group_[next_++];
  }
}

std::uint64_t read_word(ByteSource& source, bool wide, bool swapped) {
  unsigned char bytes[8];
  std::size_t const size = wide ? 8 : 4;
  source.read(bytes, size);
  if (swapped) std::reverse(bytes, bytes + size);
  if (wide) {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes, 8);
    return word;
  }
  std::uint32_t word = 0;
  std::memcpy(&word, bytes, 4);
  return word;
}

InflatedBytes::InflatedBytes(InputFile const& file, ByteSource& source, bool wide_header, bool swapped, index_t bytes)
    : file_(file), source_(source) {
#if !BRICKWORK_HAS_ZLIB()
  file_.fail("its data are compressed with zlib, which this build lacks; write it uncompressed, or rebuild with zlib");
#endif
  std::uint64_t const blocks = read_word(source, wide_header, swapped);
  block_bytes_ = read_word(source, wide_header, swapped);
  last_bytes_ = read_word(source, wide_header, swapped);
  auto const all = static_cast<std::uint64_t>(bytes);
  // A division: a damaged header must not overflow the product.
  bool good = blocks >= 1 && block_bytes_ >= 1 && last_bytes_ <= block_bytes_;
  if (last_bytes_ == 0) last_bytes_ = block_bytes_;
  good = good && blocks - 1 <= all / block_bytes_ && (blocks - 1) * block_bytes_ + last_bytes_ == all &&
         blocks <= static_cast<std::uint64_t>(file.size());
  if (!good) file_.fail("its compressed data do not hold " + std::to_string(bytes) + " bytes");
  compressed_sizes_.resize(blocks);
  for (std::uint64_t& size : compressed_sizes_) {
    size = read_word(source, wide_header, swapped);
    if (size > static_cast<std::uint64_t>(file.size())) file_.fail("its compressed data are damaged");
  }
}

void InflatedBytes::next_block() {
#if BRICKWORK_HAS_ZLIB()
  if (block_ == compressed_sizes_.size()) file_.fail("its compressed data end early");
  compressed_.resize(compressed_sizes_[block_]);
  source_.read(compressed_.data(), compressed_.size());
  std::uint64_t const bytes = ++block_ == compressed_sizes_.size() ? last_bytes_ : block_bytes_;
  inflated_.resize(bytes);
  uLongf size = static_cast<uLongf>(bytes);
  int const status = uncompress(inflated_.data(), &size, compressed_.data(), static_cast<uLong>(compressed_.size()));
  if (status != Z_OK || size != bytes) file_.fail("its compressed data are damaged");
  next_ = 0;
#endif
}

void InflatedBytes::read(void* to, std::size_t bytes) {
  auto* out = static_cast<unsigned char*>(to);
  while (bytes > 0) {
    if (next_ == inflated_.size()) next_block();
    std::size_t const run = std::min(bytes, inflated_.size() - next_);
    std::memcpy(out, inflated_.data() + next_, run);
    next_ += run;
    out += run;
    bytes -= run;
  }
}

void read_values(ByteSource& source, ScalarType type, bool swapped, index_t count, float* values) {
  constexpr index_t block = 8192;
  unsigned char bytes[8 * block];
  Convert const to_float = converter(type);
  index_t const width = scalar_bytes(type);
  for (index_t first = 0; first < count; first += block) {
    index_t const run = std::min(block, count - first);
    source.read(bytes, static_cast<std::size_t>(run * width));
    to_float(bytes, swapped, run, values + first);
  }
}

void read_text_values(InputFile& file, index_t count, float* values) {
  std::string word;
  auto const space = [](int c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; };
  for (index_t n = 0; n < count; ++n) {
    while (space(file.peek())) file.get();
    word.clear();
    for (int c = file.peek(); c >= 0 && c != '<' && !space(c); c = file.peek()) {
      word += static_cast<char>(c);
      file.get();
      if (word.size() > 64) break;
    }
    if (word.empty()) {
      file.fail("it holds " + std::to_string(n) + " values where " + std::to_string(count) + " are needed");
    }
    std::optional<double> const value = parse_number(word);
    if (!value) file.fail("'" + word + "' is no number");
    values[n] = static_cast<float>(*value);
  }
}

}  // namespace brickwork::detail
