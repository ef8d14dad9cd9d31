// SPDX-License-Identifier: BSD-3-Clause
#include "brickwork/io/image_data.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <ostream>
#include <system_error>
#include <type_traits>
#include <utility>

#include "brickwork/core/check.hpp"
#include "brickwork/core/config.hpp"
#include "brickwork/io/atomic_file.hpp"
#include "byte_source.hpp"
#include "check_image.hpp"
#include "format.hpp"

#if BRICKWORK_HAS_HDF5()
#include "hdf5.hpp"
#endif

namespace brickwork {

namespace detail {

void check_image(ImageGeometry const& geometry, std::vector<ImageField> const& fields) {
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
    BRICKWORK_REQUIRE(static_cast<bool>(field.float32) != static_cast<bool>(field.uint8), "image: field '", field.name,
                      "' has no values");
    BRICKWORK_REQUIRE(field.size == count, "image: field '", field.name, "' has ", field.size, " values for ",
                      geometry.cells[0], " x ", geometry.cells[1], " x ", geometry.cells[2], " = ", count, " cells");
  }
}

}  // namespace detail

namespace {

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

// An array as a source; none for a null pointer.
template <class Value>
CellSource<Value> array_source(Value const* array) {
  if (array == nullptr) return nullptr;
  return [array](index_t first, index_t count, Value* values) { std::copy_n(array + first, count, values); };
}

// Calls visit(slab, values) with the values of one slab after another; Value is float or std::uint8_t.
template <class Value, class Visit>
void for_each_slab_of(Index3 const& cells, CellSource<Value> const& source, Visit const& visit) {
  Index3 const extent = slab_extent(cells, slab_bytes / static_cast<index_t>(sizeof(Value)));
  std::vector<Value> values(static_cast<std::size_t>(extent[0] * extent[1] * extent[2]));
  for_each_slab(cells, extent, [&](Slab const& slab) {
    source(slab.offset, slab.count(), values.data());
    visit(slab, values.data());
  });
}

}  // namespace

ImageField::ImageField(std::string field_name, float const* values, index_t count)
    : name(std::move(field_name)), float32(array_source(values)), size(count) {}
ImageField::ImageField(std::string field_name, std::uint8_t const* values, index_t count)
    : name(std::move(field_name)), uint8(array_source(values)), size(count) {}

Index3 slab_extent(Index3 const& cells, index_t most) {
  BRICKWORK_REQUIRE(most >= 1, "slab_extent: ", most, " cells per slab; at least 1 is needed");
  Index3 extent{};
  for (std::size_t axis = 0; axis < 3; ++axis) {
    index_t const longest = std::clamp<index_t>(most, 1, cells[axis]);
    index_t const slabs = (cells[axis] + longest - 1) / longest;
    extent[axis] = (cells[axis] + slabs - 1) / slabs;  // of about equal size: HDF5 stores whole chunks
    most /= cells[axis];
  }
  return extent;
}

void quantize_density(float const* density, index_t size, std::uint8_t* quantized) {
  for (index_t i = 0; i < size; ++i) {
    float const rho = density[i] > 0 ? std::min(density[i], 1.0f) : 0.0f;  // false for NaN
    quantized[i] = static_cast<std::uint8_t>(rho * 255.0f + 0.5f);
  }
}

std::vector<std::uint8_t> quantize_density(float const* density, index_t size) {
  std::vector<std::uint8_t> quantized(static_cast<std::size_t>(size));
  quantize_density(density, size, quantized.data());
  return quantized;
}

void write_vti(std::string const& path, ImageGeometry const& geometry, std::vector<ImageField> const& fields) {
  detail::check_image(geometry, fields);
  AtomicFile file(path);
  std::ostream& out = file.stream();
  std::string extent;
  for (index_t n : geometry.cells) extent += (extent.empty() ? "0 " : " 0 ") + std::to_string(n);
  auto const triple = [](Vec3 const& v) {
    return detail::format_double(v[0]) + " " + detail::format_double(v[1]) + " " + detail::format_double(v[2]);
  };
  out << "<?xml version=\"1.0\"?>\n<VTKFile type=\"ImageData\" version=\"1.0\" byte_order=\""
      << (detail::little_endian() ? "LittleEndian" : "BigEndian")
      << "\" header_type=\"UInt64\">\n<ImageData WholeExtent=\"" << extent << "\" Origin=\"" << triple(geometry.origin)
      << "\" Spacing=\"" << triple(geometry.spacing) << "\">\n<Piece Extent=\"" << extent << "\">\n<CellData Scalars=\""
      << xml_escape(fields.front().name) << "\">\n";
  for (ImageField const& field : fields) {
    out << "<DataArray type=\"" << (field.float32 ? "Float32" : "UInt8") << "\" Name=\"" << xml_escape(field.name)
        << "\" format=\"binary\">\n";
    Base64Writer base64(out);
    auto const write = [&](auto const& source, std::size_t value_bytes) {
      std::uint64_t const bytes = static_cast<std::uint64_t>(field.size) * value_bytes;
      base64.write(&bytes, sizeof(bytes));
      for_each_slab_of(geometry.cells, source, [&](Slab const& slab, void const* values) {
        base64.write(values, static_cast<std::size_t>(slab.count()) * value_bytes);
        file.check();  // a full disk is noticed before the other slabs are asked for
      });
    };
    if (field.float32) {
      write(field.float32, sizeof(float));
    } else {
      write(field.uint8, sizeof(std::uint8_t));
    }
    base64.finish();
    out << "\n</DataArray>\n";
  }
  out << "</CellData>\n</Piece>\n</ImageData>\n</VTKFile>\n";
  file.commit();
}

void write_npy(std::string const& path, ImageGeometry const& geometry, ImageField const& field) {
  detail::check_image(geometry, {field});
  Index3 const& n = geometry.cells;
  std::string header = "{'descr': '" +
                       std::string(field.uint8               ? "|u1"
                                   : detail::little_endian() ? "<f4"
                                                             : ">f4") +
                       "', 'fortran_order': False, 'shape': (" + std::to_string(n[2]) + ", " + std::to_string(n[1]) +
                       ", " + std::to_string(n[0]) + "), }";
  // Magic, version and length are 10 bytes; the values begin at a multiple of 64 so that they can be mapped.
  header.append(63 - (10 + header.size()) % 64, ' ');
  header += '\n';
  AtomicFile file(path);
  char const start[] = {'\x93',
                        'N',
                        'U',
                        'M',
                        'P',
                        'Y',
                        1,
                        0,
                        static_cast<char>(header.size() & 0xff),
                        static_cast<char>(header.size() >> 8)};
  file.stream().write(start, sizeof(start));
  file.stream() << header;
  auto const write = [&](auto const& source, std::size_t value_bytes) {
    for_each_slab_of(n, source, [&](Slab const& slab, void const* values) {
      file.stream().write(static_cast<char const*>(values),
                          static_cast<std::streamsize>(static_cast<std::size_t>(slab.count()) * value_bytes));
      file.check();
    });
  };
  if (field.float32) {
    write(field.float32, sizeof(float));
  } else {
    write(field.uint8, sizeof(std::uint8_t));
  }
  file.commit();
}

#if BRICKWORK_HAS_HDF5()

namespace {

using detail::Hdf5Handle;
using detail::QuietHdf5;
using detail::require;
using detail::write_attribute;
using detail::write_string_attribute;

// Sample points per axis: the cell centres, or both faces of an only cell.
Index3 samples(ImageGeometry const& geometry) {
  Index3 n = geometry.cells;
  for (index_t& count : n) count = std::max<index_t>(count, 2);
  return n;
}

// A slab's values with those of single cells twice along the axes of `samples` that have one cell.
template <class Value>
void repeat_single_layers(Slab const& slab, Index3 const& samples, Value const* values, std::vector<Value>& repeated) {
  repeated.clear();
  for (index_t k = 0; k < samples[2]; ++k) {
    for (index_t j = 0; j < samples[1]; ++j) {
      for (index_t i = 0; i < samples[0]; ++i) {
        Index3 const& n = slab.cells;
        repeated.push_back(
            values[std::min(i, n[0] - 1) + n[0] * (std::min(j, n[1] - 1) + n[1] * std::min(k, n[2] - 1))]);
      }
    }
  }
}

void check_deflate(int level) {
  BRICKWORK_REQUIRE(level >= 0 && level <= 9, "image: deflate level ", level, " must lie in [0, 9]");
  if (level > 0 && H5Zfilter_avail(H5Z_FILTER_DEFLATE) <= 0) {
    throw Error("image: this HDF5 cannot deflate; use level 0");
  }
}

hsize_t to_hsize(index_t n) { return static_cast<hsize_t>(n); }

template <class Value>
void write_field(hid_t group, ImageGeometry const& geometry, std::string const& name, CellSource<Value> const& source,
                 int deflate, std::string const& failure) {
  Index3 const& cells = geometry.cells;
  Index3 const all = samples(geometry);
  Index3 const extent = slab_extent(cells, slab_bytes / static_cast<index_t>(sizeof(Value)));
  hsize_t dims[3], chunk[3];
  for (std::size_t axis = 0; axis < 3; ++axis) {
    dims[2 - axis] = to_hsize(all[axis]);
    chunk[2 - axis] = to_hsize(cells[axis] == 1 ? 2 : extent[axis]);
  }
  Hdf5Handle const space(H5Screate_simple(3, dims, nullptr), H5Sclose, failure);
  Hdf5Handle const properties(H5Pcreate(H5P_DATASET_CREATE), H5Pclose, failure);
  require(H5Pset_chunk(properties, 3, chunk) >= 0, failure);
  if (deflate > 0) {
    require(H5Pset_shuffle(properties) >= 0 && H5Pset_deflate(properties, static_cast<unsigned>(deflate)) >= 0,
            failure);
  }
  bool const is_float = std::is_same_v<Value, float>;
  Hdf5Handle set(H5Dcreate2(group, name.c_str(), is_float ? H5T_IEEE_F32LE : H5T_STD_U8LE, space, H5P_DEFAULT,
                            properties, H5P_DEFAULT),
                 H5Dclose, failure);
  std::vector<Value> repeated;
  for_each_slab_of(cells, source, [&](Slab const& slab, Value const* values) {
    Index3 slab_samples = slab.cells;
    for (std::size_t axis = 0; axis < 3; ++axis) slab_samples[axis] *= all[axis] / cells[axis];
    if (slab_samples != slab.cells) {
      repeat_single_layers(slab, slab_samples, values, repeated);
      values = repeated.data();
    }
    hsize_t start[3], count[3];
    for (std::size_t axis = 0; axis < 3; ++axis) {
      start[2 - axis] = to_hsize(slab.first[axis]);
      count[2 - axis] = to_hsize(slab_samples[axis]);
    }
    Hdf5Handle const memory(H5Screate_simple(3, count, nullptr), H5Sclose, failure);
    require(H5Sselect_hyperslab(space, H5S_SELECT_SET, start, nullptr, count, nullptr) >= 0, failure);
    require(H5Dwrite(set, is_float ? H5T_NATIVE_FLOAT : H5T_NATIVE_UCHAR, memory, space, H5P_DEFAULT, values) >= 0,
            failure);
  });
  require(set.close(), failure);
}

}  // namespace

bool vtkhdf_available() { return true; }

void write_vtkhdf(std::string const& path, ImageGeometry const& geometry, std::vector<ImageField> const& fields,
                  int deflate) {
  detail::check_image(geometry, fields);
  check_deflate(deflate);
  detail::write_vtkhdf_file(path, [&](hid_t root, std::string const& failure) {
    int const version[2] = {1, 0};
    int extent[6];
    Vec3 origin = geometry.origin;
    for (int axis = 0; axis < 3; ++axis) {
      extent[2 * axis] = 0;
      extent[2 * axis + 1] = static_cast<int>(samples(geometry)[axis]) - 1;
      if (geometry.cells[axis] > 1) origin[axis] += 0.5 * geometry.spacing[axis];
    }
    double const direction[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1};
    write_attribute(root, "Version", H5T_STD_I32LE, H5T_NATIVE_INT, 2, version, failure);
    write_string_attribute(root, "Type", "ImageData", failure);
    write_attribute(root, "WholeExtent", H5T_STD_I32LE, H5T_NATIVE_INT, 6, extent, failure);
    write_attribute(root, "Origin", H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE, 3, origin.data(), failure);
    write_attribute(root, "Spacing", H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE, 3, geometry.spacing.data(), failure);
    hsize_t const cells[3] = {to_hsize(geometry.cells[0]), to_hsize(geometry.cells[1]), to_hsize(geometry.cells[2])};
    write_attribute(root, detail::vtkhdf_cells_attribute, H5T_STD_U64LE, H5T_NATIVE_HSIZE, 3, cells, failure);
    write_attribute(root, "Direction", H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE, 9, direction, failure);
    Hdf5Handle const point_data(H5Gcreate2(root, "PointData", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT), H5Gclose,
                                failure);
    for (ImageField const& field : fields) {
      if (field.float32) {
        write_field(point_data, geometry, field.name, field.float32, deflate, failure);
      } else {
        write_field(point_data, geometry, field.name, field.uint8, deflate, failure);
      }
    }
  });
}

#else

namespace {
void check_deflate(int) {}
}  // namespace

bool vtkhdf_available() { return false; }

void write_vtkhdf(std::string const& path, ImageGeometry const&, std::vector<ImageField> const&, int) {
  throw Error("cannot write '" + path + "': this build has no HDF5; set output.vtkhdf = false or rebuild with HDF5");
}

#endif

VtkHdfSeries::VtkHdfSeries(std::string directory, std::string name, ImageGeometry geometry, int deflate)
    : directory_(std::move(directory)), name_(std::move(name)), geometry_(geometry), deflate_(deflate) {
  if (!vtkhdf_available()) {
    throw Error("this build has no HDF5, so it cannot write '" + name_ +
                ".vtkhdf.series'; set output.vtkhdf = false or rebuild with HDF5");
  }
  check_deflate(deflate_);
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
  write_vtkhdf(directory_ + "/" + file, geometry_, fields, deflate_);
  entries_.emplace_back(file, step);

  std::string json = "{\n  \"file-series-version\": \"1.0\",\n  \"files\": [\n";
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    json += "    {\"name\": " + detail::json_string(entries_[i].first) +
            ", \"time\": " + std::to_string(entries_[i].second) + "}" + (i + 1 < entries_.size() ? ",\n" : "\n");
  }
  write_text_file(directory_ + "/" + name_ + ".vtkhdf.series", json + "  ]\n}\n");
}

}  // namespace brickwork
