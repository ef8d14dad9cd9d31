// SPDX-License-Identifier: BSD-3-Clause
// VTK XML image data. The markup is scanned once for the arrays and where their data stand; only the chosen array is
// decoded, from the file straight into the image.
#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <sstream>
#include <vector>

#include "brickwork/core/check.hpp"
#include "byte_source.hpp"
#include "voxel_formats.hpp"

namespace brickwork::detail {

namespace {

struct Tag {
  std::string name;  ///< "/Name" where it closes
  std::map<std::string, std::string> attributes;
  bool empty = false;  ///< <Name/>
  index_t text_position =
      -1;  ///< of the first character between the tag before and this one that is no space; -1: none
};

bool is_space(int c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; }

std::string unescape(std::string const& text) {
  static std::pair<char const*, char> const entities[] = {
      {"&lt;", '<'}, {"&gt;", '>'}, {"&quot;", '"'}, {"&apos;", '\''}, {"&amp;", '&'}};
  std::string plain;
  for (std::size_t at = 0; at < text.size();) {
    bool found = false;
    for (auto const& [entity, character] : entities) {
      std::string const name = entity;
      if (text.compare(at, name.size(), name) == 0) {
        plain += character;
        at += name.size();
        found = true;
        break;
      }
    }
    if (!found) plain += text[at++];
  }
  return plain;
}

// Gives one tag after the other; comments and declarations are passed over.
class Scanner {
 public:
  explicit Scanner(InputFile& file) : file_(file) {}

  bool next(Tag& tag) {
    tag = Tag();
    for (;;) {
      while (is_space(file_.peek())) file_.get();
      if (file_.peek() >= 0 && file_.peek() != '<' && tag.text_position < 0) tag.text_position = file_.position();
      int c = file_.get();
      while (c >= 0 && c != '<') c = file_.get();
      if (c < 0) return false;
      if (file_.peek() == '?') {
        pass("?>");
      } else if (file_.peek() == '!') {
        file_.get();
        pass(file_.peek() == '-' ? "-->" : ">");
      } else {
        break;
      }
    }
    for (int c = file_.peek(); c >= 0 && c != '>' && !is_space(c) && !(c == '/' && !tag.name.empty());
         c = file_.peek()) {
      tag.name += character();
    }
    for (;;) {
      while (is_space(file_.peek())) file_.get();
      char const c = character();
      if (c == '>') return true;
      if (c == '/') {
        tag.empty = true;
        continue;
      }
      std::string name(1, c), value;
      while (file_.peek() != '=') {
        char const part = character();
        if (!is_space(part)) name += part;
        if (name.size() > 1024) file_.fail("its XML is damaged");
      }
      file_.get();
      while (is_space(file_.peek())) file_.get();
      char const quote = character();
      if (quote != '"' && quote != '\'') file_.fail("its XML is damaged: attribute " + name + " of " + tag.name);
      while (file_.peek() != quote) value += character();
      file_.get();
      tag.attributes[name] = unescape(value);
    }
  }

 private:
  char character() {
    int const c = file_.get();
    if (c < 0) file_.fail("it ends inside a tag");
    return static_cast<char>(c);
  }

  void pass(std::string const& end) {
    std::string last;
    while (last != end) {
      last += character();
      if (last.size() > end.size()) last.erase(0, 1);
    }
  }

  InputFile& file_;
};

std::string attribute(Tag const& tag, std::string const& name, std::string const& missing = "") {
  auto const found = tag.attributes.find(name);
  return found == tag.attributes.end() ? missing : found->second;
}

std::vector<double> numbers(InputFile const& file, Tag const& tag, std::string const& name, std::size_t count,
                            std::string const& missing = "") {
  std::istringstream in(attribute(tag, name, missing));
  std::vector<double> values;
  for (std::string word; in >> word;) {
    std::optional<double> const value = parse_number(word);
    if (!value || !std::isfinite(*value)) file.fail(tag.name + " has the " + name + " '" + in.str() + "'");
    values.push_back(*value);
  }
  if (values.size() != count) {
    file.fail(tag.name + " needs " + std::to_string(count) + " numbers as " + name + ", not '" + in.str() + "'");
  }
  return values;
}

index_t whole_number(InputFile const& file, Tag const& tag, std::string const& name, std::string const& missing = "") {
  double const value = numbers(file, tag, name, 1, missing)[0];
  if (!(value >= 0 && value < 9e15 && value == std::floor(value))) {
    file.fail(tag.name + " has the " + name + " '" + attribute(tag, name) + "'");
  }
  return static_cast<index_t>(value);
}

// First sample and samples per axis.
struct Extent {
  Index3 first{};
  Index3 points{};

  // Along an axis with one layer of points VTK counts one layer of cells.
  Index3 samples(bool cell_data) const {
    Index3 n = points;
    if (cell_data) {
      for (index_t& count : n) count = std::max<index_t>(count - 1, 1);
    }
    return n;
  }
};

Extent extent(InputFile const& file, Tag const& tag, std::string const& name) {
  std::vector<double> const ends = numbers(file, tag, name, 6);
  Extent box;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    double const first = ends[2 * axis], last = ends[2 * axis + 1];
    if (!(std::abs(first) < 2147483648.0 && std::abs(last) < 2147483648.0 && first <= last &&
          first == std::floor(first) && last == std::floor(last))) {
      file.fail(tag.name + " has the " + name + " '" + attribute(tag, name) + "'");
    }
    box.first[axis] = static_cast<index_t>(first);
    box.points[axis] = static_cast<index_t>(last - first) + 1;
  }
  return box;
}

struct Array {
  OfferedField field;
  std::size_t piece = 0;
  std::string type, format;
  index_t position = -1;  ///< of inline data in the file, or of appended data behind the underscore
};

struct Header {
  Extent whole;
  Vec3 origin{}, spacing{};
  bool swapped = false, wide_words = false;
  std::string compressor;
  std::string active_cell_scalar, active_point_scalar;
  std::vector<Extent> pieces;
  std::vector<Array> arrays;
  std::string appended_encoding;
  index_t appended_position = -1;
};

Header scan(InputFile& file) {
  Header header;
  Scanner scanner(file);
  Tag tag;
  std::string section;   // CellData or PointData of a piece
  int inside_array = 0;  // depth of tags from an open DataArray on
  bool is_vtk = false, is_image = false;
  while (scanner.next(tag)) {
    bool const closes = tag.name[0] == '/';
    if (inside_array > 0) {
      // Data stand before or behind an array's own <InformationKey>s.
      if (inside_array == 1 && header.arrays.back().position < 0) header.arrays.back().position = tag.text_position;
      if (!tag.empty) inside_array += closes ? -1 : 1;
      continue;
    }
    if (tag.name == "VTKFile") {
      is_vtk = true;
      std::string const type = attribute(tag, "type"), order = attribute(tag, "byte_order", "LittleEndian");
      if (type != "ImageData") file.fail("it holds a VTK file of type '" + type + "'; ImageData is needed");
      if (order != "LittleEndian" && order != "BigEndian") file.fail("byte_order '" + order + "' is unknown");
      header.swapped = (order == "LittleEndian") != little_endian();
      std::string const word = attribute(tag, "header_type", "UInt32");
      if (word != "UInt32" && word != "UInt64") file.fail("header_type '" + word + "' must be UInt32 or UInt64");
      header.wide_words = word == "UInt64";
      header.compressor = attribute(tag, "compressor");
    } else if (tag.name == "ImageData") {
      is_image = true;
      header.whole = extent(file, tag, "WholeExtent");
      std::vector<double> const origin = numbers(file, tag, "Origin", 3, "0 0 0");
      std::vector<double> const spacing = numbers(file, tag, "Spacing", 3, "1 1 1");
      if (numbers(file, tag, "Direction", 9, "1 0 0 0 1 0 0 0 1") != std::vector<double>{1, 0, 0, 0, 1, 0, 0, 0, 1}) {
        file.fail("its axes are turned (Direction); only images along x, y and z can be read");
      }
      for (std::size_t axis = 0; axis < 3; ++axis) {
        if (!(spacing[axis] > 0)) file.fail("its spacing '" + attribute(tag, "Spacing") + "' must be above 0");
        header.origin[axis] = origin[axis];
        header.spacing[axis] = spacing[axis];
      }
    } else if (tag.name == "Piece") {
      header.pieces.push_back(extent(file, tag, "Extent"));
    } else if ((tag.name == "CellData" || tag.name == "PointData") && !tag.empty && !header.pieces.empty()) {
      section = tag.name;
      (tag.name == "CellData" ? header.active_cell_scalar : header.active_point_scalar) = attribute(tag, "Scalars");
    } else if (tag.name == "/CellData" || tag.name == "/PointData") {
      section.clear();
    } else if (tag.name == "DataArray" && !section.empty()) {
      Array array;
      array.field.name = attribute(tag, "Name");
      array.field.cell_data = section == "CellData";
      array.field.components = whole_number(file, tag, "NumberOfComponents", "1");
      array.piece = header.pieces.size() - 1;
      array.type = attribute(tag, "type");
      array.format = attribute(tag, "format", "ascii");
      if (array.format == "appended") array.position = whole_number(file, tag, "offset");
      header.arrays.push_back(array);
      if (!tag.empty) inside_array = 1;
    } else if (tag.name == "AppendedData") {
      header.appended_encoding = attribute(tag, "encoding", "base64");
      while (is_space(file.peek())) file.get();
      if (file.get() != '_') file.fail("its appended data do not begin with '_'");
      header.appended_position = file.position();
      break;  // what follows may be no text
    }
  }
  if (!is_vtk || !is_image || header.pieces.empty()) file.fail("it is no VTK XML image");
  return header;
}

void read_array(InputFile& file, Header const& header, Array const& array, VoxelImage& image) {
  std::optional<ScalarType> const type = scalar_type(array.type);
  if (!type) file.fail("field '" + array.field.name + "' has the type '" + array.type + "', which is no number");
  Extent const& piece = header.pieces[array.piece];
  Index3 const n = piece.samples(array.field.cell_data);
  Index3 offset{};
  for (std::size_t axis = 0; axis < 3; ++axis) {
    offset[axis] = piece.first[axis] - header.whole.first[axis];
    if (offset[axis] < 0 || offset[axis] + n[axis] > image.cells[axis])
      file.fail("a piece lies outside its WholeExtent");
  }
  index_t const count = n[0] * n[1] * n[2], bytes = count * scalar_bytes(*type);

  bool const appended = array.format == "appended";
  bool const ascii = array.format == "ascii";
  if (!appended && !ascii && array.format != "binary") file.fail("format '" + array.format + "' is unknown");
  if (array.position < 0 || (appended && header.appended_position < 0)) {
    file.fail("field '" + array.field.name + "' has no data");
  }
  file.seek(appended ? header.appended_position + array.position : array.position);

  std::unique_ptr<ByteSource> encoded, inflated;
  if (!ascii) {
    if (appended && header.appended_encoding == "raw") {
      encoded = std::make_unique<PlainBytes>(file);
    } else if (!appended || header.appended_encoding == "base64") {
      encoded = std::make_unique<Base64Bytes>(file);
    } else {
      file.fail("encoding '" + header.appended_encoding + "' of its appended data is unknown");
    }
    if (header.compressor == "vtkZLibDataCompressor") {
      inflated = std::make_unique<InflatedBytes>(file, *encoded, header.wide_words, header.swapped, bytes);
    } else if (!header.compressor.empty()) {
      file.fail("its data are compressed by " + header.compressor + "; vtkZLibDataCompressor or none can be read");
    } else {
      std::uint64_t const stored = read_word(*encoded, header.wide_words, header.swapped);
      if (stored != static_cast<std::uint64_t>(bytes)) {
        file.fail("field '" + array.field.name + "' has " + std::to_string(stored) + " bytes where its piece needs " +
                  std::to_string(bytes));
      }
    }
  }
  auto const read = [&](index_t run, float* values) {
    if (ascii) {
      read_text_values(file, run, values);
    } else {
      read_values(inflated ? *inflated : *encoded, *type, header.swapped, run, values);
    }
  };
  if (n == image.cells) {
    read(count, image.values.data());
    return;
  }
  for (index_t k = 0; k < n[2]; ++k) {
    for (index_t j = 0; j < n[1]; ++j) {
      index_t const row = offset[0] + image.cells[0] * (offset[1] + j + image.cells[1] * (offset[2] + k));
      read(n[0], image.values.data() + row);
    }
  }
}

}  // namespace

VoxelImage read_vti_image(std::string const& path, VoxelImageOptions const& options) {
  InputFile file(path);
  Header const header = scan(file);
  std::vector<Array> arrays;  // of the first piece: all have the same
  std::vector<OfferedField> fields;
  for (Array const& array : header.arrays) {
    if (array.piece > 0 || array.field.name == "vtkGhostType") continue;
    arrays.push_back(array);
    fields.push_back(array.field);
  }
  Array const chosen =
      arrays[choose_field(path, fields, options.field, header.active_cell_scalar, header.active_point_scalar)];

  VoxelImage image;
  image.field = chosen.field.name;
  image.is_uint8 = scalar_type(chosen.type) == ScalarType::uint8;
  bool const cell_data = chosen.field.cell_data;
  image.cells = header.whole.samples(cell_data);
  image.has_geometry = true;
  image.spacing = header.spacing;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    double const first = static_cast<double>(header.whole.first[axis]) - (cell_data ? 0.0 : 0.5);
    image.origin[axis] = header.origin[axis] + first * header.spacing[axis];
  }
  index_t const count = cell_count(path, image.cells);
  require_size(path, image.cells, options.cells);
  // No encoding is denser than zlib's, which shortens by at most 1032: a damaged extent ends here, not in an
  // allocation.
  if (count / 1032 > file.size()) file.fail("it is too short for " + size_text(image.cells) + " values");
  image.values.resize(static_cast<std::size_t>(count));
  index_t covered = 0;
  for (Array const& array : header.arrays) {
    if (array.field.name != chosen.field.name || array.field.cell_data != cell_data) continue;
    read_array(file, header, array, image);
    Index3 const n = header.pieces[array.piece].samples(cell_data);
    covered += n[0] * n[1] * n[2];
  }
  if (covered < count) file.fail("its pieces hold fewer values than its WholeExtent");
  return image;
}

}  // namespace brickwork::detail
