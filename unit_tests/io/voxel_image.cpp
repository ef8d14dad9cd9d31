// SPDX-License-Identifier: BSD-3-Clause
// Voxel images from files: what our writers leave, and files put together byte by byte. test_voxel_images.py has VTK
// and NumPy write others, which the last case reads.
#include "brickwork/io/voxel_image.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <limits>
#include <sstream>

#include "brickwork/core/check.hpp"
#include "brickwork/core/config.hpp"
#include "brickwork/io/image_data.hpp"
#include "brickwork/io/isosurface.hpp"
#include "io/temporary_directory.hpp"
#include "support/catch.hpp"

#if BRICKWORK_HAS_HDF5()
#include <hdf5.h>
#endif

using namespace brickwork;
using brickwork_test::contains;
using brickwork_test::message_of;
using brickwork_test::TemporaryDirectory;
using brickwork_test::write_file;

namespace {

// Different along every axis, exact in every type that holds 120: no two axes can be swapped unseen.
double expected(index_t i, index_t j, index_t k) { return static_cast<double>(i + 5 * j + 20 * k); }

std::vector<float> sample_field(Index3 const& n, double shift = 0) {
  std::vector<float> values;
  for (index_t k = 0; k < n[2]; ++k) {
    for (index_t j = 0; j < n[1]; ++j) {
      for (index_t i = 0; i < n[0]; ++i) values.push_back(static_cast<float>(expected(i, j, k) + shift));
    }
  }
  return values;
}

// The bytes of the numbers in `values` as Value, in either byte order.
template <class Value>
std::string bytes_of(std::vector<float> const& values, bool swapped = false) {
  std::string bytes;
  for (float value : values) {
    auto const number = static_cast<Value>(value);
    char part[sizeof(Value)];
    std::memcpy(part, &number, sizeof(Value));
    if (swapped) std::reverse(part, part + sizeof(Value));
    bytes.append(part, sizeof(Value));
  }
  return bytes;
}

std::string word(std::uint64_t value, int width, bool swapped = false) {
  std::string bytes;
  for (int i = 0; i < width; ++i) bytes += static_cast<char>(value >> (8 * (swapped ? width - 1 - i : i)) & 0xff);
  return bytes;
}

std::string encode_base64(std::string const& bytes) {
  char const* const digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  for (std::size_t at = 0; at < bytes.size(); at += 3) {
    unsigned bits = 0;
    std::size_t const used = std::min<std::size_t>(3, bytes.size() - at);
    for (std::size_t i = 0; i < 3; ++i) bits = bits << 8 | (i < used ? static_cast<unsigned char>(bytes[at + i]) : 0u);
    for (std::size_t i = 0; i < 4; ++i) text += i <= used ? digits[bits >> (18 - 6 * i) & 63] : '=';
  }
  return text;
}

std::string npy(int version, std::string const& descr, bool fortran, std::string const& shape,
                std::string const& data) {
  std::string const header =
      "{'descr': " + descr + ", 'fortran_order': " + (fortran ? "True" : "False") + ", 'shape': " + shape + ", }\n";
  return std::string("\x93NUMPY") + static_cast<char>(version) + '\0' + word(header.size(), version == 1 ? 2 : 4) +
         header + data;
}

// An image of 2 x 3 x 1 cells whose markup is put together by the caller.
std::string vti(std::string const& attributes, std::string const& body) {
  return "<?xml version=\"1.0\"?>\n<!-- <DataArray> in a comment -->\n<VTKFile type=\"ImageData\" " + attributes +
         ">\n<ImageData WholeExtent=\"0 2 0 3 0 1\" Origin=\"1 2 3\" Spacing=\".5 1e-1 2\">\n"
         "<FieldData><DataArray type=\"Int32\" Name=\"step\" format=\"ascii\">7</DataArray></FieldData>\n"
         "<Piece Extent=\"0 2 0 3 0 1\">" +
         body + "</Piece></ImageData></VTKFile>\n";
}

std::string cell_array(std::string const& attributes, std::string const& data) {
  return "<CellData><DataArray " + attributes + ">" + data + "</DataArray></CellData>";
}

Index3 const small{2, 3, 1};
char const* const small_ascii = "0 1\n5 6 10\t11";

std::string error_of(std::string const& path, VoxelImageOptions const& options = {}) {
  return message_of<InputError>([&] { read_voxel_image(path, options); });
}

VoxelImageOptions raw_options(Index3 const& cells, std::string const& type) {
  VoxelImageOptions options;
  options.cells = cells;
  options.type = type;
  return options;
}

}  // namespace

TEST_CASE("what the image writers leave is read back") {
  TemporaryDirectory const directory;
  Vec3 const origin{1, -2, 0.1}, spacing{0.5, 0.25, 0.1};
  std::vector<std::string> names{"a.vti", "a.npy"};
  if (vtkhdf_available()) names.push_back("a.vtkhdf");
  for (Index3 const& n : {Index3{4, 3, 2}, Index3{1, 1, 1}, Index3{5, 1, 7}, Index3{2, 1, 2}, Index3{1, 2, 2},
                          Index3{1, 70, 51}, Index3{130, 121, 90}}) {
    auto const count = n[0] * n[1] * n[2];
    std::vector<float> const values = sample_field(n, 0.25);
    std::vector<std::uint8_t> bytes;
    for (float value : values) bytes.push_back(static_cast<std::uint8_t>(static_cast<int>(value) % 251));
    for (bool is_float : {true, false}) {
      ImageField const field =
          is_float ? ImageField("rho & \"co\"", values.data(), count) : ImageField("rho & \"co\"", bytes.data(), count);
      ImageGeometry const geometry{n, origin, spacing};
      write_vti(directory.file("a.vti"), geometry, {field});
      write_npy(directory.file("a.npy"), geometry, field);
      if (vtkhdf_available()) write_vtkhdf(directory.file("a.vtkhdf"), geometry, {field}, 1);
      for (std::string const& name : names) {
        INFO(name << " " << n[0] << " x " << n[1] << " x " << n[2] << (is_float ? " float32" : " uint8"));
        VoxelImageOptions options;
        options.cells = n;
        VoxelImage const image = read_voxel_image(directory.file(name), options);
        CHECK(image.cells == n);
        CHECK(image.values == (is_float ? values : std::vector<float>(bytes.begin(), bytes.end())));
        CHECK(image.has_geometry == (name != "a.npy"));
        if (image.has_geometry) {
          for (std::size_t axis = 0; axis < 3; ++axis) {
            CHECK(image.origin[axis] == Approx(origin[axis]).margin(1e-15));
            CHECK(image.spacing[axis] == spacing[axis]);
          }
        }
        options.cells[2] += 1;
        std::string const message = error_of(directory.file(name), options);
        CHECK(contains(message, " " + std::to_string(n[2]) + " cells"));
        CHECK(contains(message, " " + std::to_string(n[2] + 1) + " are asked for"));
      }
    }
  }
}

TEST_CASE("densities written as bytes are densities again, other bytes stay what they are") {
  TemporaryDirectory const directory;
  Index3 const n{3, 2, 1};
  std::vector<float> const density{0, 0.001f, 0.25f, 0.5f, 0.998f, 1};
  std::vector<std::uint8_t> const bytes = quantize_density(density.data(), 6);
  std::vector<std::uint8_t> const mask{0, 1, 1, 0, 0, 1};
  ImageGeometry const geometry{n, {0, 0, 0}, {1, 1, 1}};
  std::vector<std::string> names{"a.vti"};
  if (vtkhdf_available()) names.push_back("a.vtkhdf");
  auto const read = [&](std::string const& name, ImageField const& field) {
    if (name == "a.vti") write_vti(directory.file(name), geometry, {field});
    if (name == "a.vtkhdf") write_vtkhdf(directory.file(name), geometry, {field});
    if (name == "a.npy") write_npy(directory.file(name), geometry, field);
    return read_voxel_image(directory.file(name));
  };
  for (std::string const& name : names) {
    INFO(name);
    VoxelImage image = read(name, ImageField("density", bytes.data(), 6));
    CHECK(image.field == "density");
    CHECK(image.is_uint8);
    REQUIRE(densities_from_bytes(image));
    for (std::size_t cell = 0; cell < 6; ++cell)
      CHECK(std::abs(image.values[cell] - density[cell]) <= 0.5f / 255 + 1e-7f);
    CHECK(image.values[5] == 1);
    // Zeros and ones are densities as they are; labels are no densities; floats never were bytes.
    image = read(name, ImageField("density", mask.data(), 6));
    CHECK(!densities_from_bytes(image));
    CHECK(image.values == std::vector<float>(mask.begin(), mask.end()));
    image = read(name, ImageField("label", bytes.data(), 6));
    CHECK(!densities_from_bytes(image));
    CHECK(image.values[5] == 255);
    std::vector<float> const wrong{0, 255, 3, 4, 5, 6};
    image = read(name, ImageField("density", wrong.data(), 6));
    CHECK(!image.is_uint8);
    CHECK(!densities_from_bytes(image));
  }
  VoxelImage image = read("a.npy", ImageField("density", bytes.data(), 6));
  CHECK(image.is_uint8);
  CHECK(image.field.empty());  // a name is lost in .npy, so nothing says what the bytes are
  CHECK(!densities_from_bytes(image));
}

TEST_CASE("a series gives its last file, or that of a step") {
  TemporaryDirectory const directory;
  auto const write = [&](std::string const& name, float value) {
    std::vector<float> const values(6, value);
    write_vti(directory.file(name), {small, {0, 0, 0}, {1, 1, 1}}, {ImageField("density", values.data(), 6)});
  };
  write("a_0002.vti", 2);
  write("b \"c\".vti", 5);
  std::string const path = directory.file("a.vti.series");
  write_file(path, R"({"file-series-version": "1.0", "files": [
      {"name": "a_0002.vti", "time": 2}, {"time": 5.0, "extra": [{"x": "}"}], "name": "b \"c\".vti"}]})");
  VoxelImageOptions options;
  CHECK(read_voxel_image(path).values == std::vector<float>(6, 5));
  options.step = 2;
  CHECK(read_voxel_image(path, options).values == std::vector<float>(6, 2));
  options.step = 3;
  CHECK(contains(error_of(path, options), "a.vti.series': it has no step 3; it has 2, 5"));
  CHECK(contains(error_of(directory.file("a_0002.vti"), options), "step 3 is asked for, but this is no .series"));
  // Without times, files count from 0.
  write_file(path, R"({"files": [{"name": "b \"c\".vti"}, {"name": "a_0002.vti"}]})");
  options.step = 0;
  CHECK(read_voxel_image(path, options).values == std::vector<float>(6, 5));
  CHECK(read_voxel_image(path).values == std::vector<float>(6, 2));

  std::pair<char const*, char const*> const refused[] = {
      {"", "no series of files"},
      {"<xml/>", "no series of files"},
      {"{\"files\": []}", "lists no files"},
      {"{\"files\": [{\"name\": \"a.vti", "ends inside a string"},
      {"{\"files\": [{\"name\": \"gone.vti\", \"time\": 1}]}", "gone.vti"},
      {"{\"files\": [{\"name\": \"a_0002.vti\", \"time\": \"late\"}]}", "the time 'late'"},
      {"{\"files\": [{\"name\": \"a.vti.series\", \"time\": 1}]}", "a series itself"}};
  for (auto const& [text, reason] : refused) {
    INFO(text);
    write_file(path, text);
    CHECK(contains(error_of(path), reason));
  }
  if (!vtkhdf_available()) return;
  VtkHdfSeries series(directory.file("."), "density", {small, {0, 0, 0}, {1, 1, 1}});
  for (int step : {10, 20, 30, 40, 50, 60, 70, 80, 90, 100}) {
    std::vector<float> const values(6, static_cast<float>(step));
    series.append(step, {ImageField("density", values.data(), 6)});
  }
  std::string const written = directory.file("density.vtkhdf.series");
  options.step = 20;
  CHECK(read_voxel_image(written, options).values == std::vector<float>(6, 20));
  CHECK(read_voxel_image(written).values == std::vector<float>(6, 100));
  options.step = 25;
  CHECK(contains(error_of(written, options), "no step 25; it has 10, 20, 30, 40, ..., 70, 80, 90, 100"));
}

TEST_CASE("a field is found by its name, by being the only one, or as the active scalar") {
  TemporaryDirectory const directory;
  std::vector<float> const a = sample_field(small), b = sample_field(small, 1);
  ImageGeometry const geometry{small, {0, 0, 0}, {1, 1, 1}};
  write_vti(directory.file("a.vti"), geometry, {{"one", a.data(), 6}, {"two", b.data(), 6}});
  VoxelImageOptions named;
  named.field = "two";
  CHECK(read_voxel_image(directory.file("a.vti")).values == a);  // our writer's first field is the active scalar
  CHECK(read_voxel_image(directory.file("a.vti"), named).values == b);
  named.field = "three";
  CHECK(contains(error_of(directory.file("a.vti"), named), "no field 'three'; it holds 'one', 'two'"));

  auto const array = [](std::string const& name, std::string const& more, std::string const& data) {
    return "<DataArray type=\"UInt8\" format=\"ascii\" Name=\"" + name + "\"" + more + ">" + data + "</DataArray>";
  };
  std::string const one = array("one", "", small_ascii), two = array("two", "", "1 2 6 7 11 12");
  std::string const vector = array("v", " NumberOfComponents=\"3\"", "0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0");
  auto const write = [&](std::string const& body) { write_file(directory.file("b.vti"), vti("", body)); };
  write("<CellData>" + one + two + "</CellData>");
  CHECK(contains(error_of(directory.file("b.vti")), "say which field; it holds 'one', 'two'"));
  named.field = "two";
  CHECK(read_voxel_image(directory.file("b.vti"), named).values == b);
  write("<CellData Vectors=\"v\">" + vector + two + "</CellData>");  // only one is a scalar
  CHECK(read_voxel_image(directory.file("b.vti")).values == b);
  named.field = "v";
  CHECK(contains(error_of(directory.file("b.vti"), named), "3 components"));
  write("<CellData>" + vector + "</CellData>");
  CHECK(contains(error_of(directory.file("b.vti")), "'v' (3 components)"));
  write("<CellData></CellData><PointData/>");
  CHECK(contains(error_of(directory.file("b.vti")), "no field"));
}

TEST_CASE("VTK images in text and base64, of either byte order, header and kind of data") {
  TemporaryDirectory const directory;
  std::string const path = directory.file("a.vti");
  std::vector<float> const values = sample_field(small);
  auto const check = [&] {
    VoxelImage const image = read_voxel_image(path);
    CHECK(image.cells == small);
    CHECK(image.values == values);
    CHECK(image.origin == Vec3{1, 2, 3});
    CHECK(image.spacing == Vec3{0.5, 0.1, 2});
  };
  write_file(path, vti("", cell_array("type='Int16' Name='a'", small_ascii)));  // format: ascii where none is given
  check();
  write_file(path, vti("", cell_array("type=\"Float64\" Name=\"a\" format=\"ascii\"", "0.0 +1. 5e0 6 1E1 11.000")));
  check();
  for (bool big : {false, true}) {
    std::string const order = big ? "byte_order=\"BigEndian\"" : "byte_order=\"LittleEndian\"";
    for (int width : {4, 8}) {
      std::string const attributes =
          order + (width == 8 ? " header_type=\"UInt64\"" : "");  // UInt32 where none is given
      std::string const data = bytes_of<double>(values, big), header = word(data.size(), width, big);
      std::string const array = "type=\"Float64\" Name=\"a\" format=\"binary\"";
      write_file(path, vti(attributes, cell_array(array, "\n  " + encode_base64(header + data) + "\n")));
      check();
      // Header and data encoded apart, and an information key before the data: other writers do so.
      write_file(path, vti(attributes, cell_array(array, "<InformationKey name=\"x\">1</InformationKey>\n" +
                                                             encode_base64(header) + encode_base64(data) + "\n")));
      check();
      std::string const appended = "</Piece></ImageData><AppendedData encoding=\"raw\">\n _" + std::string("xxx") +
                                   header + data + "</AppendedData></VTKFile>";
      std::string const before = vti(attributes,
                                     "<CellData><DataArray type=\"Float64\" Name=\"a\" format=\"appended\" "
                                     "offset=\"3\"/></CellData>");
      write_file(path, before.substr(0, before.find("</Piece>")) + appended);
      check();
    }
  }
  // Two pieces, and samples at points: the cell centres.
  write_file(path,
             "<VTKFile type=\"ImageData\"><ImageData WholeExtent=\"3 4 0 2 5 5\" Origin=\"0 0 0\" Spacing=\"1 2 4\">"
             "<Piece Extent=\"3 4 0 1 5 5\"><PointData><DataArray type=\"UInt8\" Name=\"a\">0 1 5 6</DataArray>"
             "</PointData></Piece><Piece Extent=\"3 4 1 2 5 5\"><PointData>"
             "<DataArray type=\"UInt8\" Name=\"a\">5 6 10 11</DataArray></PointData></Piece></ImageData></VTKFile>");
  VoxelImage const image = read_voxel_image(path);
  CHECK(image.cells == small);
  CHECK(image.values == values);
  CHECK(image.origin == Vec3{2.5, -1, 18});
}

TEST_CASE("damaged or unsuitable VTK images are refused with a reason") {
  TemporaryDirectory const directory;
  std::string const path = directory.file("a.vti");
  auto const message = [&](std::string const& text) {
    write_file(path, text);
    return error_of(path);
  };
  std::string const binary = "type=\"UInt8\" Name=\"a\" format=\"binary\"";
  std::string const ascii = "type=\"UInt8\" Name=\"a\"";
  CHECK(contains(message(""), "no VTK XML image"));
  CHECK(contains(message("not XML"), "no VTK XML image"));
  CHECK(contains(message("<VTKFile type=\"PolyData\">"), "type 'PolyData'"));
  CHECK(contains(message("<VTKFile type=\"ImageData\"><ImageData WholeExtent=\"0 1\">"), "6 numbers as WholeExtent"));
  CHECK(contains(message("<VTKFile type=\"ImageData\"><ImageData WholeExtent=\"0 1 0 1 2 1\">"), "WholeExtent"));
  CHECK(contains(message("<VTKFile type=\"ImageData\"><ImageData WholeExtent=\"0 1 0 1 0 1\" Spacing=\"1 0 1\">"),
                 "spacing '1 0 1'"));
  CHECK(contains(message("<VTKFile type=\"ImageData\"><ImageData WholeExtent=\"0 1 0 1 0 1\" Origin=\"1 0 nan\">"),
                 "Origin"));
  CHECK(contains(message("<VTKFile type=\"ImageData\"><ImageData WholeExtent=\"0 1 0 1 0 1\" "
                         "Direction=\"0 1 0 1 0 0 0 0 1\">"),
                 "Direction"));
  CHECK(contains(message("<VTKFile type=\"ImageData"), "ends inside a tag"));
  CHECK(contains(message(vti("byte_order=\"Odd\"", "")), "byte_order 'Odd'"));
  CHECK(contains(message(vti("header_type=\"Int8\"", "")), "header_type 'Int8'"));
  CHECK(contains(message(vti("", cell_array(ascii, "0 1 2 3 4"))), "5 values where 6"));
  CHECK(contains(message(vti("", cell_array(ascii, "0 1 2 x 4 5"))), "'x' is no number"));
  CHECK(contains(message(vti("", cell_array("type=\"String\" Name=\"a\"", "0"))), "type 'String'"));
  CHECK(contains(message(vti("", cell_array("type=\"UInt8\" Name=\"a\" format=\"odd\"", "0"))), "format 'odd'"));
  CHECK(contains(message(vti("", cell_array(binary, encode_base64(word(5, 4) + "12345")))),
                 "5 bytes where its piece needs 6"));
  CHECK(contains(message(vti("", cell_array(binary, encode_base64(word(6, 4) + "123")))), "base64 data end early"));
  CHECK(contains(message(vti("", cell_array(binary, "BgAAAA=A"))), "base64 data are damaged"));
  CHECK(contains(message(vti("", cell_array(binary, ""))), "no data"));
  CHECK(contains(message(vti("", cell_array(ascii + " NumberOfComponents=\"1e300\"", "0"))),
                 "NumberOfComponents '1e300'"));
  CHECK(contains(
      message(vti("", "<CellData><DataArray type=\"UInt8\" Name=\"a\" format=\"appended\" offset=\"0\"/></CellData>")),
      "no data"));
  CHECK(contains(message(vti("compressor=\"vtkLZ4DataCompressor\"", cell_array(binary, "AAAA"))),
                 "vtkLZ4DataCompressor"));
  std::string const zlib = "compressor=\"vtkZLibDataCompressor\"";
  std::string const blocks = encode_base64(word(1, 4) + word(6, 4) + word(0, 4) + word(3, 4)) + encode_base64("abc");
  std::string const wrong_size =
      encode_base64(word(2, 4) + word(6, 4) + word(0, 4) + word(3, 4)) + encode_base64("abc");
  if (voxel_image_inflates()) {
    CHECK(contains(message(vti(zlib, cell_array(binary, blocks))), "compressed data are damaged"));
    CHECK(contains(message(vti(zlib, cell_array(binary, wrong_size))), "do not hold 6 bytes"));
  } else {
    CHECK(contains(message(vti(zlib, cell_array(binary, blocks))), "lacks"));
  }
  CHECK(contains(message("<VTKFile type=\"ImageData\"><ImageData WholeExtent=\"0 4000 0 4000 0 4000\">"
                         "<Piece Extent=\"0 4000 0 4000 0 4000\">" +
                         cell_array(ascii, "0")),
                 "too short for 4000 x 4000 x 4000"));
  CHECK(contains(message("<VTKFile type=\"ImageData\"><ImageData WholeExtent=\"0 2 0 1 0 1\">"
                         "<Piece Extent=\"0 1 0 1 0 1\">" +
                         cell_array(ascii, "0")),
                 "fewer values"));
  CHECK(contains(message("<VTKFile type=\"ImageData\"><ImageData WholeExtent=\"0 2 0 1 0 1\">"
                         "<Piece Extent=\"1 3 0 1 0 1\">" +
                         cell_array(ascii, "0 0")),
                 "outside its WholeExtent"));
}

TEST_CASE("a value that is not finite is an error that names its cell") {
  TemporaryDirectory const directory;
  float const nan = std::numeric_limits<float>::quiet_NaN(), inf = std::numeric_limits<float>::infinity();
  for (float bad : {nan, inf, -inf}) {
    std::vector<float> values = sample_field({4, 3, 2});
    values[1 + 4 * (2 + 3 * 1)] = bad;
    ImageGeometry const geometry{{4, 3, 2}, {0, 0, 0}, {1, 1, 1}};
    write_vti(directory.file("a.vti"), geometry, {{"a", values.data(), 24}});
    write_npy(directory.file("a.npy"), geometry, {"a", values.data(), 24});
    write_file(directory.file("a.raw"), bytes_of<float>(values));
    CHECK(contains(error_of(directory.file("a.vti")), "cell (1, 2, 1) is "));
    CHECK(contains(error_of(directory.file("a.npy")), "cell (1, 2, 1) is "));
    CHECK(contains(error_of(directory.file("a.raw"), raw_options({4, 3, 2}, "float32")), "cell (1, 2, 1) is "));
    CHECK(contains(message_of<InputError>([&] {
                     write_stl(directory.file("a.stl"), geometry, {"a", values.data(), 24});
                   }),
                   "cell (1, 2, 1) is "));
  }
  for (char const* word : {"nan", "-nan", "inf", "-inf", "1e400"}) {
    write_file(directory.file("b.vti"),
               vti("", cell_array("type=\"Float64\" Name=\"a\"", "0 0 0 " + std::string(word) + " 0 0")));
    CHECK(contains(error_of(directory.file("b.vti")), "cell (1, 1, 0) is "));
  }
  write_file(directory.file("b.vti"), vti("", cell_array("type=\"Float64\" Name=\"a\"", "0 0 0 1e-400 0 0")));
  CHECK(read_voxel_image(directory.file("b.vti")).values == std::vector<float>(6, 0.0f));
  write_file(directory.file("c.npy"), npy(1, "'<f8'", false, "(1, 1, 1)", word(0x7fefffffffffffff, 8)));  // 1.8e308
  CHECK(contains(error_of(directory.file("c.npy")), "cell (0, 0, 0) is inf"));
}

TEST_CASE("NumPy arrays of every version, order and type") {
  TemporaryDirectory const directory;
  std::string const path = directory.file("a.npy");
  Index3 const n{4, 3, 2};
  std::vector<float> const values = sample_field(n);
  std::vector<float> transposed;
  for (index_t i = 0; i < n[0]; ++i) {
    for (index_t j = 0; j < n[1]; ++j) {
      for (index_t k = 0; k < n[2]; ++k) transposed.push_back(static_cast<float>(expected(i, j, k)));
    }
  }
  auto const check = [&](std::string const& file) {
    write_file(path, file);
    VoxelImage const image = read_voxel_image(path);
    CHECK(image.cells == n);
    CHECK(image.values == values);
    CHECK(!image.has_geometry);
  };
  for (int version : {1, 2, 3}) {
    check(npy(version, "'<f4'", false, "(2, 3, 4)", bytes_of<float>(values)));
    check(npy(version, "'>f8'", true, "(2,3,4)", bytes_of<double>(transposed, true)));
  }
  for (bool big : {false, true}) {
    for (bool fortran : {false, true}) {
      std::vector<float> const& stored = fortran ? transposed : values;
      std::string const order = big ? "'>" : "'<";
      auto const with = [&](std::string const& type, std::string const& data) {
        check(npy(1, order + type + "'", fortran, "(2, 3, 4)", data));
      };
      with("i2", bytes_of<std::int16_t>(stored, big));
      with("u2", bytes_of<std::uint16_t>(stored, big));
      with("i4", bytes_of<std::int32_t>(stored, big));
      with("u4", bytes_of<std::uint32_t>(stored, big));
      with("i8", bytes_of<std::int64_t>(stored, big));
      with("u8", bytes_of<std::uint64_t>(stored, big));
      with("f4", bytes_of<float>(stored, big));
      with("f8", bytes_of<double>(stored, big));
      check(npy(1, "'|u1'", fortran, "(2, 3, 4)", bytes_of<std::uint8_t>(stored)));
      check(npy(1, "'|i1'", fortran, "(2, 3, 4)", bytes_of<std::int8_t>(stored)));
    }
  }
  write_file(path, npy(1, "'|i1'", false, "(1, 1, 2)", "\xff\x80"));
  CHECK(read_voxel_image(path).values == std::vector<float>{-1, -128});
  write_file(path, npy(1, "'|b1'", false, "(1, 2, 1)", std::string("\x01\x00", 2)));
  CHECK(read_voxel_image(path).values == std::vector<float>{1, 0});
  // More than one batch of planes of a Fortran-ordered file.
  Index3 const thin{3, 4096, 2049};
  std::string data;
  for (int i = 0; i < 3; ++i) {
    for (int j = 0; j < 4096; ++j) {
      for (int k = 0; k < 2049; ++k) data += static_cast<char>((i + 5 * j + 7 * k) % 127);
    }
  }
  write_file(path, npy(1, "'|u1'", true, "(2049, 4096, 3)", data));
  VoxelImage const image = read_voxel_image(path);
  REQUIRE(image.cells == thin);
  index_t wrong = 0, at = 0;
  for (int k = 0; k < 2049; ++k) {
    for (int j = 0; j < 4096; ++j) {
      for (int i = 0; i < 3; ++i) {
        wrong += image.values[static_cast<std::size_t>(at++)] != static_cast<float>((i + 5 * j + 7 * k) % 127);
      }
    }
  }
  CHECK(wrong == 0);

  auto const message = [&](std::string const& file) {
    write_file(path, file);
    return error_of(path);
  };
  CHECK(contains(message("short"), "no NumPy array"));
  CHECK(contains(message("no NumPy array at all"), "no NumPy array"));
  CHECK(contains(message(npy(4, "'<f4'", false, "(1, 1, 1)", "1234")), "version 4"));
  CHECK(contains(message(npy(1, "'<f4'", false, "(6,)", "")), "1 axes; 3 are needed"));
  CHECK(contains(message(npy(1, "'<f4'", false, "()", "")), "0 axes; 3 are needed"));
  CHECK(contains(message(npy(1, "'<f4'", false, "(1, 0, 2)", "")), "2 x 0 x 1 cells"));
  CHECK(contains(message(npy(1, "'<c8'", false, "(1, 1, 1)", "12345678")), "'<c8'"));
  CHECK(contains(message(npy(1, "'<f2'", false, "(1, 1, 1)", "12")), "'<f2'"));
  CHECK(contains(message(npy(1, "[('a', '<f4')]", false, "(1, 1, 1)", "1234")), "structures"));
  CHECK(contains(message(npy(1, "'<f4'", false, "(2, 1, 1)", "1234567")), "ends early"));
  CHECK(contains(message(npy(1, "'<f4'", false, "(100000, 100000, 100000)", "1234")), "ends early"));
  CHECK(contains(message(npy(1, "'<f4'", false, "(10000000, 10000000, 10000000)", "")), "more than 2^62"));
  CHECK(contains(message(npy(1, "'<f4'", false, "(1, 1, 99999999999999999999)", "")), "too large"));
  CHECK(contains(message("\x93NUMPY\x01" + std::string(1, '\0') + word(200, 2) + "{}"), "ends inside its header"));
  CHECK(contains(message("\x93NUMPY\x01" + std::string(1, '\0') + word(2, 2) + "{}"), "lacks 'descr'"));
}

TEST_CASE("raw images take size, type, byte order and offset from the options") {
  TemporaryDirectory const directory;
  std::string const path = directory.file("a.raw");
  Index3 const n{3, 1, 5};
  std::vector<float> const values = sample_field(n);
  VoxelImageOptions options = raw_options(n, "uint16");
  write_file(path, bytes_of<std::uint16_t>(values));
  CHECK(read_voxel_image(path, options).values == values);
  options.big_endian = true;
  options.header_bytes = 7;
  write_file(directory.file("a.BIN"), "1234567" + bytes_of<std::uint16_t>(values, true));
  VoxelImage const image = read_voxel_image(directory.file("a.BIN"), options);
  CHECK(image.values == values);
  CHECK(image.cells == n);
  CHECK(!image.has_geometry);

  CHECK(contains(error_of(path, options), "30 bytes, not 7 + 3 x 1 x 5 x 2"));
  CHECK(contains(error_of(path, raw_options({3, 1, 4}, "uint16")), "30 bytes, not 0 + 3 x 1 x 4 x 2"));
  CHECK(contains(error_of(path, raw_options({}, "uint16")), "needs its cells"));
  CHECK(contains(error_of(path, raw_options(n, "")), "type ''"));
  CHECK(contains(error_of(path, raw_options(n, "float16")), "type 'float16'"));
  CHECK(contains(error_of(path, raw_options({3, 0, 5}, "uint16")), "3 x 0 x 5"));
  CHECK(contains(error_of(path, raw_options({index_t(1) << 31, index_t(1) << 31, 8}, "uint8")), "more than 2^62"));
  options.header_bytes = -1;
  CHECK(contains(error_of(path, options), "must not be negative"));
}

TEST_CASE("files that are no image are refused by name") {
  TemporaryDirectory const directory;
  std::vector<std::string> extensions{"vti", "vtkhdf", "npy"};
  for (std::string const& extension : extensions) {
    std::string const message = error_of(directory.file("none." + extension));
    CHECK(contains(message, "none." + extension));
    if (extension != "vtkhdf" || vtkhdf_available()) CHECK(contains(message, "No such file"));
  }
  CHECK(contains(error_of(directory.file("none.raw"), raw_options({1, 1, 1}, "u1")), "No such file"));
  std::filesystem::create_directories(directory.file("folder.npy"));
  CHECK(contains(error_of(directory.file("folder.npy")), "directory"));
  for (char const* name : {"image.png", "image", "a.b/image"}) {
    CHECK(contains(error_of(directory.file(name)), "must be .vti"));
  }
}

#if BRICKWORK_HAS_HDF5()

namespace {

// A VTKHDF file written value by value: with any dimensions and either kind of data.
struct HdfFile {
  std::string type = "ImageData";
  std::vector<int> extent{0, 2, 0, 3, 0, 1};
  std::vector<double> spacing{0.5, 0.1, 2};
  std::string group = "CellData";
  std::vector<hsize_t> dims{1, 3, 2};
  bool steps = false;
  bool variable_string = false;
  bool active = false;

  void write(std::string const& path, std::vector<double> const& values) const {
    hid_t const file = H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    hid_t const root = H5Gcreate2(file, "VTKHDF", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    write_text(root, "Type", type);
    write_numbers(root, "WholeExtent", H5T_NATIVE_INT, extent.data(), extent.size());
    double const origin[3] = {1, 2, 3};
    write_numbers(root, "Origin", H5T_NATIVE_DOUBLE, origin, 3);
    write_numbers(root, "Spacing", H5T_NATIVE_DOUBLE, spacing.data(), spacing.size());
    if (steps) H5Gclose(H5Gcreate2(root, "Steps", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
    hid_t const data = H5Gcreate2(root, group.c_str(), H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    if (active) write_text(data, "Scalars", "b");
    for (char const* name : {"a", "b"}) {
      hid_t const space = H5Screate_simple(static_cast<int>(dims.size()), dims.data(), nullptr);
      hid_t const set = H5Dcreate2(data, name, H5T_IEEE_F64BE, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
      H5Dwrite(set, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data());
      H5Dclose(set);
      H5Sclose(space);
      if (!active) break;
    }
    H5Gclose(data);
    H5Gclose(root);
    H5Fclose(file);
  }

 private:
  void write_text(hid_t object, char const* name, std::string const& text) const {
    hid_t const kind = H5Tcopy(H5T_C_S1);
    H5Tset_size(kind, variable_string ? H5T_VARIABLE : text.size());
    hid_t const space = H5Screate(H5S_SCALAR);
    hid_t const attribute = H5Acreate2(object, name, kind, space, H5P_DEFAULT, H5P_DEFAULT);
    char const* const pointer = text.c_str();
    H5Awrite(attribute, kind, variable_string ? static_cast<void const*>(&pointer) : pointer);
    H5Aclose(attribute);
    H5Sclose(space);
    H5Tclose(kind);
  }
  static void write_numbers(hid_t object, char const* name, hid_t kind, void const* values, hsize_t size) {
    hid_t const space = H5Screate_simple(1, &size, nullptr);
    hid_t const attribute = H5Acreate2(object, name, kind, space, H5P_DEFAULT, H5P_DEFAULT);
    H5Awrite(attribute, kind, values);
    H5Aclose(attribute);
    H5Sclose(space);
  }
};

}  // namespace

TEST_CASE("VTKHDF images with cell data, point data, steps and either kind of text") {
  TemporaryDirectory const directory;
  std::string const path = directory.file("a.vtkhdf");
  std::vector<float> const values = sample_field(small);
  std::vector<double> const wide(values.begin(), values.end());
  for (bool variable : {false, true}) {
    HdfFile file;
    file.variable_string = variable;
    file.write(path, wide);
    VoxelImage image = read_voxel_image(path);
    CHECK(image.cells == small);
    CHECK(image.values == values);
    CHECK(image.origin == Vec3{1, 2, 3});
    CHECK(image.spacing == Vec3{0.5, 0.1, 2});
    file.active = true;
    file.write(path, wide);
    CHECK(read_voxel_image(path).values == values);
  }
  {
    HdfFile file;
    file.group = "PointData";
    file.extent = {2, 3, 0, 2, 0, 0};
    file.write(path, wide);
    VoxelImage const image = read_voxel_image(path);
    CHECK(image.cells == small);
    CHECK(image.values == values);
    CHECK(image.origin[0] == Approx(1 + 1.5 * 0.5));
    CHECK(image.origin[2] == Approx(3 - 0.5 * 2));
  }
  {
    HdfFile file;
    file.steps = true;
    file.dims = {2, 1, 3, 2};
    std::vector<double> both(6, -1.0);
    both.insert(both.end(), wide.begin(), wide.end());
    file.write(path, both);
    CHECK(read_voxel_image(path).values == values);  // the last step
  }
  // Samples twice along an axis stay two cells where nothing says that they are one.
  {
    HdfFile file;
    file.group = "PointData";
    file.extent = {0, 1, 0, 2, 0, 1};
    file.dims = {2, 3, 2};
    std::vector<double> twice = wide;
    twice.insert(twice.end(), wide.begin(), wide.end());
    file.write(path, twice);
    CHECK(read_voxel_image(path).cells == Index3{2, 3, 2});
  }
  auto const message = [&](HdfFile const& file) {
    file.write(path, std::vector<double>(64, 0.0));
    return error_of(path);
  };
  HdfFile file;
  file.type = "UnstructuredGrid";
  CHECK(contains(message(file), "'UnstructuredGrid'"));
  file = HdfFile();
  file.dims = {2, 3, 2};
  CHECK(contains(message(file), "dimensions 2 x 3 x 2"));
  file = HdfFile();
  file.dims = {1, 3, 2, 3};
  CHECK(contains(message(file), "3 components"));
  file = HdfFile();
  file.extent = {0, 1};
  CHECK(contains(message(file), "WholeExtent"));
  file = HdfFile();
  file.extent = {0, 2, 0, -3, 0, 1};
  CHECK(contains(message(file), "empty"));
  file = HdfFile();
  file.spacing = {1, 0, 1};
  CHECK(contains(message(file), "Spacing"));
  file = HdfFile();
  file.group = "FieldData";
  CHECK(contains(message(file), "no field"));
  write_file(path, "no HDF5");
  CHECK(contains(error_of(path), "no HDF5 file"));
  H5Fclose(H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT));
  CHECK(contains(error_of(path), "no group VTKHDF"));
}

#endif

// Started by test_voxel_images.py: BRICKWORK_TEST_INPUT holds files and a list of what they must give.
TEST_CASE("images that VTK and NumPy wrote", "[.files]") {
  char const* const folder = std::getenv("BRICKWORK_TEST_INPUT");
  REQUIRE(folder != nullptr);
  std::ifstream list(std::string(folder) + "/list.txt");
  std::string line;
  int files = 0;
  while (std::getline(list, line)) {
    std::istringstream in(line);
    std::string name;
    VoxelImageOptions options;
    Index3 n{};
    Vec3 origin{}, spacing{};
    double shift = 0;
    in >> name >> options.field >> n[0] >> n[1] >> n[2] >> origin[0] >> origin[1] >> origin[2] >> spacing[0] >>
        spacing[1] >> spacing[2] >> shift;
    REQUIRE(!in.fail());
    if (options.field == "-") options.field.clear();
    INFO(line);
    ++files;
    if (contains(name, "zlib") && !voxel_image_inflates()) continue;
    VoxelImage image;
    REQUIRE_NOTHROW(image = read_voxel_image(std::string(folder) + "/" + name, options));
    CHECK(image.cells == n);
    CHECK(image.values == sample_field(n, shift));
    CHECK(image.has_geometry == (name.find(".npy") == std::string::npos));
    if (image.has_geometry) {
      for (std::size_t axis = 0; axis < 3; ++axis) {
        CHECK(image.origin[axis] == Approx(origin[axis]).margin(1e-12));
        CHECK(image.spacing[axis] == Approx(spacing[axis]));
      }
    }
  }
  CHECK(files >= 40);

  // And files for NumPy and VTK.
  std::string const output = std::string(folder) + "/written";
  std::filesystem::create_directories(output);
  std::vector<float> const values = sample_field({4, 3, 2}, 0.25);
  ImageGeometry const geometry{{4, 3, 2}, {1, 2, 3}, {0.5, 0.25, 0.1}};
  write_npy(output + "/float32.npy", geometry, {"a", values.data(), 24});
  std::vector<std::uint8_t> bytes(values.begin(), values.end());
  write_npy(output + "/uint8.npy", geometry, {"a", bytes.data(), 24});
  IsosurfaceOptions options;
  options.level = 20;
  options.tiles = {1, 2, 3};
  write_stl(output + "/closed.stl", geometry, {"a", values.data(), 24}, options);
  options.caps = false;
  write_stl(output + "/open.stl", geometry, {"a", values.data(), 24}, options);
}
