// SPDX-License-Identifier: BSD-3-Clause
#include "brickwork/io/voxel_image.hpp"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <filesystem>
#include <new>
#include <optional>
#include <system_error>

#include "brickwork/core/check.hpp"
#include "brickwork/core/config.hpp"
#include "byte_source.hpp"
#include "voxel_formats.hpp"

namespace brickwork {

namespace detail {

std::size_t choose_field(std::string const& path, std::vector<OfferedField> const& fields, std::string const& wanted,
                         std::string const& active_cell_scalar, std::string const& active_point_scalar) {
  std::string names;
  for (OfferedField const& field : fields) {
    names += (names.empty() ? "'" : ", '") + field.name + "'" + (field.cell_data ? "" : " (points)");
    if (field.components != 1) names += " (" + std::to_string(field.components) + " components)";
  }
  BRICKWORK_REQUIRE(!names.empty(), "cannot read '", path, "': it holds no field");
  for (bool cell_data : {true, false}) {
    std::string const& active = cell_data ? active_cell_scalar : active_point_scalar;
    std::optional<std::size_t> only, chosen;
    int candidates = 0;
    for (std::size_t n = 0; n < fields.size(); ++n) {
      if (fields[n].cell_data != cell_data) continue;
      if (!wanted.empty()) {
        if (fields[n].name == wanted) {
          BRICKWORK_REQUIRE(fields[n].components == 1, "cannot read '", path, "': field '", wanted, "' has ",
                            fields[n].components, " components; one is needed");
          return n;
        }
      } else if (fields[n].components == 1) {
        only = n;
        ++candidates;
        if (fields[n].name == active) chosen = n;
      }
    }
    if (candidates == 1) return *only;
    if (chosen) return *chosen;
    BRICKWORK_REQUIRE(candidates == 0, "cannot read '", path, "': say which field; it holds ", names);
  }
  BRICKWORK_REQUIRE(wanted.empty(), "cannot read '", path, "': it has no field '", wanted, "'; it holds ", names);
  throw InputError("cannot read '" + path + "': it has no field of one component; it holds " + names);
}

void require_size(std::string const& path, Index3 const& cells, Index3 const& wanted) {
  BRICKWORK_REQUIRE(wanted == Index3{} || wanted == cells, "'", path, "' holds ", size_text(cells), " cells where ",
                    size_text(wanted), " are asked for (image.cells, --grid)");
}

namespace {

// What the header of a .npy says.
struct ArrayHeader {
  ScalarType type = ScalarType::float32;
  bool swapped = false;
  bool fortran_order = false;
  std::vector<index_t> shape;
};

// The text behind 'key': in a Python dictionary, from its first character that is no space.
std::string behind_key(InputFile const& file, std::string const& text, std::string const& key) {
  std::size_t at = text.find("'" + key + "'");
  if (at == std::string::npos) at = text.find("\"" + key + "\"");
  if (at != std::string::npos) at = text.find(':', at);
  if (at != std::string::npos) at = text.find_first_not_of(" \t\n", at + 1);
  if (at == std::string::npos) file.fail("its NumPy header lacks '" + key + "'");
  return text.substr(at);
}

ArrayHeader parse_npy_header(InputFile& file) {
  char magic[8];
  if (file.size() < 10) file.fail("it is no NumPy array");
  file.read(magic, 8);
  if (std::string(magic, 6) != "\x93NUMPY") file.fail("it is no NumPy array");
  int const version = magic[6];
  if (version < 1 || version > 3) file.fail("NumPy format version " + std::to_string(version) + "; 1 to 3 are known");
  unsigned char bytes[4] = {0, 0, 0, 0};
  file.read(bytes, version == 1 ? 2 : 4);
  index_t const length = bytes[0] | bytes[1] << 8 | bytes[2] << 16 | index_t(bytes[3]) << 24;
  if (length > file.size()) file.fail("it ends inside its header");
  std::string text(static_cast<std::size_t>(length), ' ');
  file.read(text.data(), text.size());

  ArrayHeader header;
  std::string descr = behind_key(file, text, "descr");
  if (descr[0] != '\'' && descr[0] != '"') file.fail("its values are structures; numbers are needed");
  descr = descr.substr(1, descr.find(descr[0], 1) - 1);
  std::optional<ScalarType> const type = descr.size() < 3 ? std::nullopt : scalar_type(descr.substr(1));
  if (!type || std::string("<>|=").find(descr[0]) == std::string::npos) {
    file.fail("its type is '" + descr + "'; b1, i1, u1, i2, u2, i4, u4, i8, u8, f4 and f8 can be read");
  }
  header.type = *type;
  header.swapped = descr[0] == (little_endian() ? '>' : '<');
  header.fortran_order = behind_key(file, text, "fortran_order").compare(0, 4, "True") == 0;
  std::string const shape = behind_key(file, text, "shape");
  for (std::size_t at = 1; at < shape.size() && shape[at - 1] != ')'; ++at) {
    if (!std::isdigit(static_cast<unsigned char>(shape[at]))) continue;
    index_t n = 0;
    for (; at < shape.size() && std::isdigit(static_cast<unsigned char>(shape[at])); ++at) {
      if (n > (index_t(1) << 58)) file.fail("its shape is too large");
      n = 10 * n + (shape[at] - '0');
    }
    header.shape.push_back(n);
  }
  return header;
}

VoxelImage read_npy_image(std::string const& path, VoxelImageOptions const& options) {
  InputFile file(path);
  ArrayHeader const header = parse_npy_header(file);
  if (header.shape.size() != 3) {
    file.fail("its array has " + std::to_string(header.shape.size()) + " axes; 3 are needed, (nz, ny, nx)");
  }
  VoxelImage image;
  image.is_uint8 = header.type == ScalarType::uint8;
  image.cells = {header.shape[2], header.shape[1], header.shape[0]};
  index_t const count = cell_count(path, image.cells);
  require_size(path, image.cells, options.cells);
  index_t const bytes = file.size() - file.position();
  if (bytes / scalar_bytes(header.type) < count) {
    file.fail("it ends early: " + std::to_string(bytes) + " bytes behind the header for " + size_text(image.cells) +
              " values of " + std::to_string(scalar_bytes(header.type)) + " bytes");
  }
  image.values.resize(static_cast<std::size_t>(count));
  PlainBytes source(file);
  if (!header.fortran_order) {
    read_values(source, header.type, header.swapped, count, image.values.data());
    return image;
  }
  // The file runs z fastest. Several planes x = const at once, so that runs along x are written together.
  auto const [nx, ny, nz] = image.cells;
  index_t const together = std::clamp<index_t>((index_t(1) << 24) / (ny * nz), 1, nx);
  std::vector<float> planes(static_cast<std::size_t>(together * ny * nz));
  for (index_t first = 0; first < nx; first += together) {
    index_t const run = std::min(together, nx - first);
    read_values(source, header.type, header.swapped, run * ny * nz, planes.data());
    for (index_t k = 0; k < nz; ++k) {
      for (index_t j = 0; j < ny; ++j) {
        float* const row = image.values.data() + first + nx * (j + ny * k);
        for (index_t i = 0; i < run; ++i) row[i] = planes[static_cast<std::size_t>(k + nz * (j + ny * i))];
      }
    }
  }
  return image;
}

VoxelImage read_raw_image(std::string const& path, VoxelImageOptions const& options) {
  BRICKWORK_REQUIRE(options.cells != Index3{}, "'", path, "': a raw image needs its cells per axis");
  std::optional<ScalarType> const type = scalar_type(options.type);
  BRICKWORK_REQUIRE(type, "'", path, "': type '", options.type,
                    "' of a raw image must be int8, uint8, int16, uint16, int32, uint32, int64, uint64, float32 or "
                    "float64");
  BRICKWORK_REQUIRE(options.header_bytes >= 0, "'", path, "': ", options.header_bytes,
                    " bytes to skip must not be negative");
  VoxelImage image;
  image.is_uint8 = *type == ScalarType::uint8;
  image.cells = options.cells;
  index_t const count = cell_count(path, image.cells);
  InputFile file(path);
  index_t const left = file.size() - options.header_bytes;
  index_t const width = scalar_bytes(*type);
  if (left < 0 || left % width != 0 || left / width != count) {
    file.fail("it has " + std::to_string(file.size()) + " bytes, not " + std::to_string(options.header_bytes) + " + " +
              size_text(image.cells) + " x " + std::to_string(width));
  }
  file.seek(options.header_bytes);
  image.values.resize(static_cast<std::size_t>(count));
  PlainBytes source(file);
  read_values(source, *type, options.big_endian == little_endian(), count, image.values.data());
  return image;
}

void require_finite(std::string const& path, VoxelImage const& image) {
  // A plain loop over everything first: it vectorizes.
  bool finite = true;
  for (float value : image.values) finite &= std::isfinite(value);
  if (finite) return;
  std::size_t n = 0;
  while (std::isfinite(image.values[n])) ++n;
  auto const cell = static_cast<index_t>(n);
  index_t const nx = image.cells[0], ny = image.cells[1];
  throw InputError(concatenate("'", path, "': the value of cell (", cell % nx, ", ", cell / nx % ny, ", ",
                               cell / nx / ny, ") is ", image.values[n], "; finite ones are needed"));
}

}  // namespace

}  // namespace detail

bool densities_from_bytes(VoxelImage& image) {
  auto const beyond = [](float value) { return value > 1; };
  if (!image.is_uint8 || image.field != "density" || std::none_of(image.values.begin(), image.values.end(), beyond)) {
    return false;
  }
  for (float& value : image.values) value /= 255;
  return true;
}

bool voxel_image_inflates() { return BRICKWORK_HAS_ZLIB(); }

VoxelImage read_voxel_image(std::string const& path, VoxelImageOptions const& options) {
  BRICKWORK_REQUIRE(options.cells == Index3{} || *std::min_element(options.cells.begin(), options.cells.end()) >= 1,
                    "image: ", detail::size_text(options.cells), " cells wanted; each axis needs at least 1");
  std::size_t const dot = path.find_last_of("./\\");
  std::string extension = dot == std::string::npos || path[dot] != '.' ? "" : path.substr(dot);
  for (char& c : extension) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  if (extension == ".series") {
    VoxelImageOptions frame = options;
    frame.step.reset();
    return read_voxel_image(detail::frame_of_series(path, options.step), frame);
  }
  BRICKWORK_REQUIRE(!options.step, "'", path, "': step ", *options.step, " is asked for, but this is no .series");
  std::error_code error;
  BRICKWORK_REQUIRE(!std::filesystem::is_directory(path, error), "cannot read '", path, "': it is a directory");
  auto const read = [&]() -> VoxelImage {
    if (extension == ".vti") return detail::read_vti_image(path, options);
    if (extension == ".vtkhdf") return detail::read_vtkhdf_image(path, options);
    if (extension == ".npy") return detail::read_npy_image(path, options);
    if (extension == ".raw" || extension == ".bin") return detail::read_raw_image(path, options);
    if (extension == ".stl") return detail::read_stl_image(path, options);
    throw InputError("cannot read '" + path + "': extension '" + extension +
                     "' must be .vti, .vtkhdf, .series, .npy, .raw, .bin or .stl");
  };
  try {
    VoxelImage image = read();
    detail::require_finite(path, image);
    return image;
  } catch (std::bad_alloc const&) {
    throw OutOfMemory("'" + path + "' does not fit into memory");
  }
}

}  // namespace brickwork
