// SPDX-License-Identifier: BSD-3-Clause
#include "brickwork/io/image_data.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <ostream>
#include <system_error>
#include <utility>

#include "brickwork/core/check.hpp"
#include "brickwork/core/config.hpp"
#include "brickwork/io/atomic_file.hpp"
#include "format.hpp"

#if BRICKWORK_HAS_HDF5()
#include <hdf5.h>
#endif

namespace brickwork {

namespace {

void check(ImageGeometry const& geometry, std::vector<ImageField> const& fields) {
  double cells = 1;
  for (int axis = 0; axis < 3; ++axis) {
    // VTK extents are 32-bit.
    BRICKWORK_REQUIRE(geometry.cells[axis] >= 1 && geometry.cells[axis] < 2147483647, "image: ", geometry.cells[axis],
                      " cells along ", static_cast<char>('x' + axis), " must lie in [1, 2^31 - 2]");
    BRICKWORK_REQUIRE(std::isfinite(geometry.spacing[axis]) && geometry.spacing[axis] > 0, "image: spacing ",
                      geometry.spacing[axis], " must be above 0 and finite");
    BRICKWORK_REQUIRE(std::isfinite(geometry.origin[axis]), "image: the origin must be finite");
    cells *= static_cast<double>(geometry.cells[axis]);
  }
  BRICKWORK_REQUIRE(!fields.empty(), "image: there is no field to write");
  BRICKWORK_REQUIRE(cells < 9e18, "image: more than 2^63 cells");
  index_t const count = geometry.cells[0] * geometry.cells[1] * geometry.cells[2];
  for (ImageField const& field : fields) {
    BRICKWORK_REQUIRE(!field.name.empty() && field.name.find('/') == std::string::npos, "image: '", field.name,
                      "' cannot name a field");
    BRICKWORK_REQUIRE((field.float32 != nullptr) != (field.uint8 != nullptr), "image: field '", field.name,
                      "' has no values");
    BRICKWORK_REQUIRE(field.size == count, "image: field '", field.name, "' has ", field.size, " values for ",
                      geometry.cells[0], " x ", geometry.cells[1], " x ", geometry.cells[2], " = ", count, " cells");
  }
}

// Base64 of a stream of bytes that arrives in pieces.
class Base64Writer {
 public:
  explicit Base64Writer(std::ostream& out) : out_(out) { buffer_.reserve(block); }

  void write(void const* data, std::size_t size) {
    auto const* bytes = static_cast<unsigned char const*>(data);
    while (size > 0 && pending_ > 0) {
      push(*bytes++);
      --size;
    }
    std::size_t const whole = size / 3 * 3;
    for (std::size_t i = 0; i < whole; i += 3) encode(bytes + i);
    for (std::size_t i = whole; i < size; ++i) push(bytes[i]);
  }

  void finish() {
    if (pending_ > 0) {
      int const used = pending_;
      for (int i = used; i < 3; ++i) group_[i] = 0;
      encode(group_);
      for (int i = used; i < 3; ++i) buffer_[buffer_.size() - static_cast<std::size_t>(i - used) - 1] = '=';
      pending_ = 0;
    }
    flush();
  }

 private:
  static constexpr std::size_t block = 1 << 16;

  void push(unsigned char byte) {
    group_[pending_++] = byte;
    if (pending_ == 3) {
      encode(group_);
      pending_ = 0;
    }
  }
  void encode(unsigned char const* b) {
    static char const digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    if (buffer_.size() + 4 > block) flush();
    buffer_ += digits[b[0] >> 2];
    buffer_ += digits[((b[0] & 3) << 4) | (b[1] >> 4)];
    buffer_ += digits[((b[1] & 15) << 2) | (b[2] >> 6)];
    buffer_ += digits[b[2] & 63];
  }
  void flush() {
    out_.write(buffer_.data(), static_cast<std::streamsize>(buffer_.size()));
    buffer_.clear();
  }

  std::ostream& out_;
  std::string buffer_;
  unsigned char group_[3] = {0, 0, 0};
  int pending_ = 0;
};

bool little_endian() {
  std::uint16_t const one = 1;
  unsigned char first = 0;
  std::memcpy(&first, &one, 1);
  return first == 1;
}

std::string xml_escape(std::string const& text) {
  std::string escaped;
  for (char c : text) {
    switch (c) {
      case '&':
        escaped += "&amp;";
        break;
      case '<':
        escaped += "&lt;";
        break;
      case '>':
        escaped += "&gt;";
        break;
      case '"':
        escaped += "&quot;";
        break;
      default:
        escaped += c;
    }
  }
  return escaped;
}

}  // namespace

std::vector<std::uint8_t> quantize_density(float const* density, index_t size) {
  std::vector<std::uint8_t> quantized(static_cast<std::size_t>(size));
  for (index_t i = 0; i < size; ++i) {
    float const rho = density[i] > 0 ? std::min(density[i], 1.0f) : 0.0f;  // false for NaN
    quantized[static_cast<std::size_t>(i)] = static_cast<std::uint8_t>(rho * 255.0f + 0.5f);
  }
  return quantized;
}

void write_vti(std::string const& path, ImageGeometry const& geometry, std::vector<ImageField> const& fields) {
  check(geometry, fields);
  AtomicFile file(path);
  std::ostream& out = file.stream();
  std::string extent;
  for (index_t n : geometry.cells) extent += (extent.empty() ? "0 " : " 0 ") + std::to_string(n);
  auto const triple = [](Vec3 const& v) {
    return detail::format_double(v[0]) + " " + detail::format_double(v[1]) + " " + detail::format_double(v[2]);
  };
  out << "<?xml version=\"1.0\"?>\n<VTKFile type=\"ImageData\" version=\"1.0\" byte_order=\""
      << (little_endian() ? "LittleEndian" : "BigEndian") << "\" header_type=\"UInt64\">\n<ImageData WholeExtent=\""
      << extent << "\" Origin=\"" << triple(geometry.origin) << "\" Spacing=\"" << triple(geometry.spacing)
      << "\">\n<Piece Extent=\"" << extent << "\">\n<CellData Scalars=\"" << xml_escape(fields.front().name) << "\">\n";
  for (ImageField const& field : fields) {
    out << "<DataArray type=\"" << (field.float32 != nullptr ? "Float32" : "UInt8") << "\" Name=\""
        << xml_escape(field.name) << "\" format=\"binary\">\n";
    void const* data = field.float32 != nullptr ? static_cast<void const*>(field.float32) : field.uint8;
    std::uint64_t const bytes = static_cast<std::uint64_t>(field.size) * (field.float32 != nullptr ? 4 : 1);
    Base64Writer base64(out);
    base64.write(&bytes, sizeof(bytes));
    base64.write(data, static_cast<std::size_t>(bytes));
    base64.finish();
    out << "\n</DataArray>\n";
  }
  out << "</CellData>\n</Piece>\n</ImageData>\n</VTKFile>\n";
  file.commit();
}

#if BRICKWORK_HAS_HDF5()

namespace {

// An HDF5 identifier that closes itself.
class Handle {
 public:
  Handle(hid_t id, herr_t (*closer)(hid_t), std::string const& path) : id_(id), close_(closer) {
    if (id < 0) throw Error("cannot write '" + path + "': HDF5 failed (no space left, or no permission?)");
  }
  ~Handle() {
    if (id_ >= 0) close_(id_);
  }
  Handle(Handle const&) = delete;
  Handle& operator=(Handle const&) = delete;
  operator hid_t() const { return id_; }
  bool close() { return close_(std::exchange(id_, -1)) >= 0; }

 private:
  hid_t id_;
  herr_t (*close_)(hid_t);
};

// HDF5 prints its error stack by default; we report one line instead. Restored, since the library belongs to the caller
// too.
class QuietHdf5 {
 public:
  QuietHdf5() {
    H5Eget_auto2(H5E_DEFAULT, &function_, &data_);
    H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
  }
  ~QuietHdf5() { H5Eset_auto2(H5E_DEFAULT, function_, data_); }
  QuietHdf5(QuietHdf5 const&) = delete;
  QuietHdf5& operator=(QuietHdf5 const&) = delete;

 private:
  H5E_auto2_t function_ = nullptr;
  void* data_ = nullptr;
};

void require(bool good, std::string const& path) {
  if (!good) throw Error("cannot write '" + path + "': HDF5 failed (no space left?)");
}

void write_attribute(hid_t group, char const* name, hid_t file_type, hid_t memory_type, hsize_t size,
                     void const* values, std::string const& path) {
  Handle const space(H5Screate_simple(1, &size, nullptr), H5Sclose, path);
  Handle const attribute(H5Acreate2(group, name, file_type, space, H5P_DEFAULT, H5P_DEFAULT), H5Aclose, path);
  require(H5Awrite(attribute, memory_type, values) >= 0, path);
}

void write_string_attribute(hid_t group, char const* name, std::string const& text, std::string const& path) {
  Handle const type(H5Tcopy(H5T_C_S1), H5Tclose, path);
  require(H5Tset_size(type, text.size()) >= 0 && H5Tset_strpad(type, H5T_STR_NULLPAD) >= 0, path);
  Handle const space(H5Screate(H5S_SCALAR), H5Sclose, path);
  Handle const attribute(H5Acreate2(group, name, type, space, H5P_DEFAULT, H5P_DEFAULT), H5Aclose, path);
  require(H5Awrite(attribute, type, text.c_str()) >= 0, path);
}

// Sample points per axis: the cell centres, or both faces of an only cell.
Index3 samples(ImageGeometry const& geometry) {
  Index3 n = geometry.cells;
  for (index_t& count : n) count = std::max<index_t>(count, 2);
  return n;
}

template <class T>
std::vector<T> repeat_single_layers(Index3 const& cells, T const* values) {
  Index3 const n = {std::max<index_t>(cells[0], 2), std::max<index_t>(cells[1], 2), std::max<index_t>(cells[2], 2)};
  std::vector<T> repeated;
  repeated.reserve(static_cast<std::size_t>(n[0] * n[1] * n[2]));
  for (index_t k = 0; k < n[2]; ++k) {
    for (index_t j = 0; j < n[1]; ++j) {
      for (index_t i = 0; i < n[0]; ++i) {
        index_t const cell =
            std::min(i, cells[0] - 1) + cells[0] * (std::min(j, cells[1] - 1) + cells[1] * std::min(k, cells[2] - 1));
        repeated.push_back(values[cell]);
      }
    }
  }
  return repeated;
}

void write_field(hid_t group, ImageGeometry const& geometry, ImageField const& field, std::string const& path) {
  Index3 const n = samples(geometry);
  hsize_t dims[3], chunk[3];
  for (int axis = 0; axis < 3; ++axis) {
    dims[2 - axis] = static_cast<hsize_t>(n[axis]);
    chunk[2 - axis] = static_cast<hsize_t>(std::min<index_t>(n[axis], 64));
  }
  Handle const space(H5Screate_simple(3, dims, nullptr), H5Sclose, path);
  Handle const properties(H5Pcreate(H5P_DATASET_CREATE), H5Pclose, path);
  require(H5Pset_chunk(properties, 3, chunk) >= 0, path);
  if (H5Zfilter_avail(H5Z_FILTER_DEFLATE) > 0) {
    require(H5Pset_shuffle(properties) >= 0 && H5Pset_deflate(properties, 1) >= 0, path);
  }
  bool const is_float = field.float32 != nullptr;
  hid_t const file_type = is_float ? H5T_IEEE_F32LE : H5T_STD_U8LE;
  hid_t const memory_type = is_float ? H5T_NATIVE_FLOAT : H5T_NATIVE_UCHAR;
  void const* data = is_float ? static_cast<void const*>(field.float32) : field.uint8;
  std::vector<float> repeated_float;
  std::vector<std::uint8_t> repeated_uint8;
  if (n != geometry.cells) {
    if (is_float) {
      repeated_float = repeat_single_layers(geometry.cells, field.float32);
      data = repeated_float.data();
    } else {
      repeated_uint8 = repeat_single_layers(geometry.cells, field.uint8);
      data = repeated_uint8.data();
    }
  }
  Handle set(H5Dcreate2(group, field.name.c_str(), file_type, space, H5P_DEFAULT, properties, H5P_DEFAULT), H5Dclose,
             path);
  require(H5Dwrite(set, memory_type, H5S_ALL, H5S_ALL, H5P_DEFAULT, data) >= 0, path);
  require(set.close(), path);
}

}  // namespace

bool vtkhdf_available() { return true; }

void write_vtkhdf(std::string const& path, ImageGeometry const& geometry, std::vector<ImageField> const& fields) {
  check(geometry, fields);
  QuietHdf5 const quiet;
  std::string const temporary = path + ".part";
  try {
    Handle file(H5Fcreate(temporary.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT), H5Fclose, path);
    {
      Handle const root(H5Gcreate2(file, "VTKHDF", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT), H5Gclose, path);
      int const version[2] = {1, 0};
      int extent[6];
      Vec3 origin = geometry.origin;
      for (int axis = 0; axis < 3; ++axis) {
        extent[2 * axis] = 0;
        extent[2 * axis + 1] = static_cast<int>(samples(geometry)[axis]) - 1;
        if (geometry.cells[axis] > 1) origin[axis] += 0.5 * geometry.spacing[axis];
      }
      double const direction[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1};
      write_attribute(root, "Version", H5T_STD_I32LE, H5T_NATIVE_INT, 2, version, path);
      write_string_attribute(root, "Type", "ImageData", path);
      write_attribute(root, "WholeExtent", H5T_STD_I32LE, H5T_NATIVE_INT, 6, extent, path);
      write_attribute(root, "Origin", H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE, 3, origin.data(), path);
      write_attribute(root, "Spacing", H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE, 3, geometry.spacing.data(), path);
      write_attribute(root, "Direction", H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE, 9, direction, path);
      Handle const point_data(H5Gcreate2(root, "PointData", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT), H5Gclose, path);
      for (ImageField const& field : fields) write_field(point_data, geometry, field, path);
    }
    require(file.close(), path);
  } catch (...) {
    std::error_code ignored;
    std::filesystem::remove(temporary, ignored);
    throw;
  }
  rename_file(temporary, path);
}

#else

bool vtkhdf_available() { return false; }

void write_vtkhdf(std::string const& path, ImageGeometry const&, std::vector<ImageField> const&) {
  throw Error("cannot write '" + path + "': this build has no HDF5; set output.vtkhdf = false or rebuild with HDF5");
}

#endif

VtkHdfSeries::VtkHdfSeries(std::string directory, std::string name, ImageGeometry geometry)
    : directory_(std::move(directory)), name_(std::move(name)), geometry_(geometry) {
  if (!vtkhdf_available()) {
    throw Error("this build has no HDF5, so it cannot write '" + name_ +
                ".vtkhdf.series'; set output.vtkhdf = false or rebuild with HDF5");
  }
  std::string const folder = directory_ + "/" + name_ + "_frames";
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) throw Error("cannot create '" + folder + "': " + error.message());
}

void VtkHdfSeries::append(index_t step, std::vector<ImageField> const& fields) {
  BRICKWORK_REQUIRE(entries_.empty() || step > entries_.back().second, "series '", name_, "': step ", step,
                    " must be above the previous frame's, ", entries_.back().second);
  char number[24];
  std::snprintf(number, sizeof(number), "%04lld", static_cast<long long>(step));
  std::string const file = name_ + "_frames/" + name_ + "_" + number + ".vtkhdf";
  write_vtkhdf(directory_ + "/" + file, geometry_, fields);
  entries_.emplace_back(file, step);

  std::string json = "{\n  \"file-series-version\": \"1.0\",\n  \"files\": [\n";
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    json += "    {\"name\": " + detail::json_string(entries_[i].first) +
            ", \"time\": " + std::to_string(entries_[i].second) + "}" + (i + 1 < entries_.size() ? ",\n" : "\n");
  }
  write_text_file(directory_ + "/" + name_ + ".vtkhdf.series", json + "  ]\n}\n");
}

}  // namespace brickwork
