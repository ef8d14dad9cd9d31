// SPDX-License-Identifier: BSD-3-Clause
// Surfaces of periodic fields as STL: closed, periodic, oriented, of the right volume; and surfaces to voxels.
#include "brickwork/io/isosurface.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <map>
#include <random>
#include <set>

#include "brickwork/core/check.hpp"
#include "brickwork/io/voxel_image.hpp"
#include "io/temporary_directory.hpp"
#include "support/catch.hpp"

using namespace brickwork;
using brickwork_test::contains;
using brickwork_test::message_of;
using brickwork_test::read_file;
using brickwork_test::TemporaryDirectory;
using brickwork_test::write_file;

namespace {

using Vertex = std::array<float, 3>;
using Triangle = std::array<Vertex, 3>;

// A binary STL, and what its triangles say about the surface.
struct Surface {
  std::vector<Triangle> triangles;
  std::map<std::pair<Vertex, Vertex>, int> directed;  // edges as their triangles run through them
  std::set<Vertex> vertices;
  double volume = 0;        // enclosed, where it is closed
  double worst_normal = 0;  // deviation of the stored normals
  bool degenerate = false;

  explicit Surface(std::string const& path) {
    std::string const bytes = read_file(path);
    REQUIRE(bytes.size() >= 84);
    std::uint32_t count = 0;
    std::memcpy(&count, bytes.data() + 80, 4);
    REQUIRE(bytes.size() == 84 + 50 * std::size_t(count));
    for (std::size_t t = 0; t < count; ++t) {
      float numbers[12];
      std::memcpy(numbers, bytes.data() + 84 + 50 * t, 48);
      Triangle triangle;
      std::memcpy(triangle.data(), numbers + 3, 36);
      triangles.push_back(triangle);
      double a[3], b[3], c[3];
      for (int i = 0; i < 3; ++i) {
        a[i] = triangle[0][i];
        b[i] = triangle[1][i] - a[i];
        c[i] = triangle[2][i] - a[i];
        vertices.insert(triangle[i]);
        ++directed[{triangle[i], triangle[(i + 1) % 3]}];
        degenerate = degenerate || triangle[i] == triangle[(i + 1) % 3];
      }
      double const n[3] = {b[1] * c[2] - b[2] * c[1], b[2] * c[0] - b[0] * c[2], b[0] * c[1] - b[1] * c[0]};
      double const length = std::sqrt(n[0] * n[0] + n[1] * n[1] + n[2] * n[2]);
      volume += (a[0] * n[0] + a[1] * n[1] + a[2] * n[2]) / 6;
      for (int i = 0; i < 3; ++i) worst_normal = std::max(worst_normal, std::abs(n[i] / length - numbers[i]));
    }
  }

  // Edges without exactly one triangle on each side, which runs through them the other way.
  std::vector<std::pair<Vertex, Vertex>> unmatched() const {
    std::vector<std::pair<Vertex, Vertex>> edges;
    for (auto const& [edge, count] : directed) {
      auto const other = directed.find({edge.second, edge.first});
      if (count != 1 || other == directed.end() || other->second != 1) edges.push_back(edge);
    }
    return edges;
  }

  index_t euler_characteristic() const {
    return static_cast<index_t>(vertices.size()) - static_cast<index_t>(directed.size() / 2) +
           static_cast<index_t>(triangles.size());
  }
};

index_t count_of(Index3 const& n) { return n[0] * n[1] * n[2]; }

index_t write(std::string const& path, ImageGeometry const& geometry, std::vector<float> const& values,
              IsosurfaceOptions const& options = {}) {
  return write_stl(path, geometry, {"density", values.data(), static_cast<index_t>(values.size())}, options);
}

std::vector<float> field(Index3 const& n, std::function<double(double, double, double)> const& f) {
  std::vector<float> values;
  for (index_t k = 0; k < n[2]; ++k) {
    for (index_t j = 0; j < n[1]; ++j) {
      for (index_t i = 0; i < n[0]; ++i) {
        auto const center = [](index_t c, index_t cells) {
          return (static_cast<double>(c) + 0.5) / static_cast<double>(cells);
        };
        values.push_back(static_cast<float>(f(center(i, n[0]), center(j, n[1]), center(k, n[2]))));
      }
    }
  }
  return values;
}

enum class Noise { smooth, black_white, with_the_level };

std::vector<float> random_field(Index3 const& n, Noise noise, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<float> values;
  for (index_t c = 0; c < count_of(n); ++c) {
    switch (noise) {
      case Noise::smooth:
        values.push_back(static_cast<float>(random() % 10001) / 10000);
        break;
      case Noise::black_white:
        values.push_back(static_cast<float>(random() % 2));
        break;
      case Noise::with_the_level:  // many values are 0.5 itself
        values.push_back(static_cast<float>(random() % 5) / 4);
        break;
    }
  }
  return values;
}

double const pi = std::acos(-1.0);

double schwarz_p(double x, double y, double z) {
  return std::cos(2 * pi * x) + std::cos(2 * pi * y) + std::cos(2 * pi * z);
}

}  // namespace

TEST_CASE("the surface of a sphere is closed, of genus 0, oriented outwards, and converges with second order") {
  TemporaryDirectory const directory;
  std::string const path = directory.file("a.stl");
  double const exact = 4.0 / 3.0 * pi * 0.3 * 0.3 * 0.3;
  std::vector<double> errors;
  for (index_t n : {9, 18, 36}) {
    std::vector<float> const values = field({n, n, n}, [](double x, double y, double z) {
      return 0.8 - std::hypot(x - 0.48, y - 0.51, z - 0.5);  // 0.5 at the radius 0.3
    });
    double const h = 1.0 / static_cast<double>(n);
    index_t const triangles = write(path, {{n, n, n}, {0, 0, 0}, {h, h, h}}, values);
    Surface const surface(path);
    CHECK(static_cast<index_t>(surface.triangles.size()) == triangles);
    CHECK(surface.unmatched().empty());
    CHECK(surface.euler_characteristic() == 2);
    CHECK(surface.worst_normal < 1e-3);  // of slivers: the normal may be that of the vertices before rounding
    CHECK(!surface.degenerate);
    errors.push_back(exact - surface.volume);
  }
  INFO(errors[0] << " " << errors[1] << " " << errors[2]);
  CHECK(errors[0] > 0);  // chords of a convex body
  CHECK(errors[0] < 0.1 * exact);
  for (int i : {0, 1}) CHECK(std::log2(errors[i] / errors[i + 1]) == Approx(2).margin(0.25));
}

TEST_CASE("surfaces of any field are closed with caps, and periodic without them") {
  TemporaryDirectory const directory;
  std::string const path = directory.file("a.stl");
  Vec3 const origin{-1, 2, 0.5}, spacing{0.5, 0.25, 0.125};
  for (Index3 const& n : {Index3{1, 1, 1}, Index3{2, 1, 3}, Index3{1, 7, 1}, Index3{5, 4, 3}, Index3{7, 8, 9}}) {
    for (Noise noise : {Noise::smooth, Noise::black_white, Noise::with_the_level}) {
      for (Index3 const& tiles : {Index3{1, 1, 1}, Index3{3, 1, 2}}) {
        std::vector<float> const values = random_field(n, noise, static_cast<unsigned>(count_of(n)));
        INFO(n[0] << " x " << n[1] << " x " << n[2] << ", noise " << static_cast<int>(noise) << ", tiles " << tiles[0]);
        IsosurfaceOptions options;
        options.tiles = tiles;
        write(path, {n, origin, spacing}, values, options);
        Surface const closed(path);
        CHECK(closed.unmatched().empty());
        CHECK(!closed.degenerate);
        CHECK(closed.worst_normal < 2e-2);  // of slivers, in FP32
        Vec3 lengths{}, low = origin, high{};
        double box = 1;
        for (std::size_t axis = 0; axis < 3; ++axis) {
          lengths[axis] = spacing[axis] * static_cast<double>(n[axis] * tiles[axis]);
          high[axis] = low[axis] + lengths[axis];
          box *= lengths[axis];
        }
        CHECK(closed.volume >= 0);
        CHECK(closed.volume <= box * (1 + 1e-6));

        options.caps = false;
        write(path, {n, origin, spacing}, values, options);
        Surface const open(path);
        // What is open lies on the faces of the box, and every edge there has its copy on the opposite face, with the
        // surface on the other side of it.
        auto const boundary = open.unmatched();
        std::set<std::pair<Vertex, Vertex>> const edges(boundary.begin(), boundary.end());
        index_t inside = 0, unpaired = 0;
        for (auto const& [a, b] : edges) {
          bool on_face = false, paired = false;
          for (std::size_t axis = 0; axis < 3; ++axis) {
            for (bool upper : {false, true}) {
              auto const here = static_cast<float>(upper ? high[axis] : low[axis]);
              if (a[axis] != here || b[axis] != here) continue;
              on_face = true;
              Vertex p = a, q = b;
              p[axis] = q[axis] = static_cast<float>(upper ? low[axis] : high[axis]);
              paired = paired || edges.count({q, p}) == 1;
            }
          }
          inside += !on_face;
          unpaired += !paired;
        }
        CHECK(inside == 0);
        CHECK(unpaired == 0);
        // The caps are all that the closed surface has more.
        index_t missing = 0, off_faces = 0;
        std::set<Triangle> const all(closed.triangles.begin(), closed.triangles.end());
        std::set<Triangle> const part(open.triangles.begin(), open.triangles.end());
        for (Triangle const& triangle : open.triangles) missing += all.count(triangle) == 0;
        for (Triangle const& t : closed.triangles) {
          bool flat = false;
          for (std::size_t axis = 0; axis < 3; ++axis) {
            auto const l = static_cast<float>(low[axis]), h = static_cast<float>(high[axis]);
            for (float face : {l, h}) flat = flat || (t[0][axis] == face && t[1][axis] == face && t[2][axis] == face);
          }
          off_faces += !flat && part.count(t) == 0;
        }
        CHECK(missing == 0);
        CHECK(off_faces == 0);
      }
    }
  }
}

TEST_CASE("Schwarz' P surface has genus 3 where opposite faces are joined") {
  TemporaryDirectory const directory;
  std::string const path = directory.file("a.stl");
  IsosurfaceOptions options;
  options.level = 0;
  options.caps = false;
  for (Index3 const& n : {Index3{8, 8, 8}, Index3{9, 12, 15}}) {
    write(path, {n, {0, 0, 0}, {1, 1, 1}}, field(n, schwarz_p), options);
    Surface const surface(path);
    std::set<Vertex> vertices;
    std::set<std::pair<Vertex, Vertex>> edges;
    auto const joined = [&](Vertex v) {
      for (std::size_t axis = 0; axis < 3; ++axis) {
        if (v[axis] == static_cast<float>(n[axis])) v[axis] = 0;
      }
      return v;
    };
    for (Triangle const& t : surface.triangles) {
      for (int i = 0; i < 3; ++i) {
        Vertex const a = joined(t[i]), b = joined(t[(i + 1) % 3]);
        vertices.insert(a);
        edges.insert({std::min(a, b), std::max(a, b)});
      }
    }
    CHECK(2 * edges.size() == 3 * surface.triangles.size());
    CHECK(static_cast<index_t>(vertices.size()) - static_cast<index_t>(edges.size()) +
              static_cast<index_t>(surface.triangles.size()) ==
          -4);
  }
}

TEST_CASE("tiles are one surface, that of the repeated field") {
  TemporaryDirectory const directory;
  Index3 const n{4, 3, 2}, tiles{2, 3, 3};
  std::vector<float> const values = random_field(n, Noise::smooth, 5);
  Index3 const all{n[0] * tiles[0], n[1] * tiles[1], n[2] * tiles[2]};
  std::vector<float> repeated;
  for (index_t k = 0; k < all[2]; ++k) {
    for (index_t j = 0; j < all[1]; ++j) {
      for (index_t i = 0; i < all[0]; ++i) {
        repeated.push_back(values[static_cast<std::size_t>(i % n[0] + n[0] * (j % n[1] + n[1] * (k % n[2])))]);
      }
    }
  }
  IsosurfaceOptions options;
  options.tiles = tiles;
  Vec3 const origin{1, 2, 3}, spacing{0.1, 0.2, 0.3};
  CHECK(write(directory.file("a.stl"), {n, origin, spacing}, values, options) ==
        write(directory.file("b.stl"), {all, origin, spacing}, repeated));
  CHECK(read_file(directory.file("a.stl")) == read_file(directory.file("b.stl")));
}

TEST_CASE("uniform fields and layers have the surfaces that geometry says") {
  TemporaryDirectory const directory;
  std::string const path = directory.file("a.stl");
  Index3 const n{3, 4, 2};
  ImageGeometry const geometry{n, {1, 1, 1}, {0.5, 0.25, 2}};
  IsosurfaceOptions open;
  open.caps = false;
  CHECK(write(path, geometry, std::vector<float>(24, 0.0f)) == 0);
  CHECK(read_file(path).size() == 84);
  CHECK(write(path, geometry, std::vector<float>(24, 1.0f), open) == 0);
  CHECK(write(path, geometry, std::vector<float>(24, 0.5f)) == 0);  // the level itself is void
  write(path, geometry, std::vector<float>(24, 1.0f));
  Surface const box(path);
  CHECK(box.unmatched().empty());
  CHECK(box.euler_characteristic() == 2);
  CHECK(box.volume == Approx(1.5 * 1 * 4));

  // Two of four layers are solid: the surface lies half-way between the centres of a solid and a void layer.
  std::vector<float> layers(48, 0.0f);
  std::fill(layers.begin() + 12, layers.begin() + 36, 1.0f);
  ImageGeometry const four{{3, 4, 4}, {1, 1, 1}, {0.5, 0.25, 2}};
  auto const heights = [&](IsosurfaceOptions const& options) {
    write(path, four, layers, options);
    Surface const surface(path);
    std::set<float> z;
    for (Vertex const& v : surface.vertices) z.insert(v[2]);
    return z;
  };
  CHECK(heights(open) == std::set<float>{3, 7});
  IsosurfaceOptions low = open;
  low.level = 0.25;  // met at three quarters of the way to the void
  CHECK(heights(low) == std::set<float>{2.5f, 7.5f});
  write(path, four, layers);
  Surface const layer(path);
  CHECK(layer.unmatched().empty());
  CHECK(layer.volume == Approx(1.5 * 1 * 4));
  // Where solid and void meet in a face of the box, that face is the level itself: no film is left on its void side.
  layers = std::vector<float>(24, 0.0f);
  std::fill(layers.begin(), layers.begin() + 12, 1.0f);
  write(path, geometry, layers);
  Surface const lower(path);
  CHECK(lower.unmatched().empty());
  CHECK(lower.volume == Approx(3).epsilon(2e-3));
  for (Vertex const& v : lower.vertices) CHECK(v[2] <= 3);
  // uint8 fields in their own values.
  std::vector<std::uint8_t> const bytes(24, 255);
  IsosurfaceOptions byte_level;
  byte_level.level = 127.5;
  write_stl(path, geometry, {"density", bytes.data(), 24}, byte_level);
  CHECK(Surface(path).volume == Approx(6));
}

TEST_CASE("the surface of a field, back as voxels, is where the field is above the level") {
  TemporaryDirectory const directory;
  std::string const path = directory.file("a.stl");
  Vec3 const origin{-1, 2, 0.5}, spacing{0.3, 0.25, 0.1};
  // Rays through the cell centres pass through vertices and along edges of this surface everywhere.
  for (Index3 const& n : {Index3{1, 1, 1}, Index3{5, 1, 7}, Index3{6, 5, 4}, Index3{13, 11, 9}}) {
    for (Noise noise : {Noise::smooth, Noise::black_white, Noise::with_the_level}) {
      for (index_t tiles : {1, 3}) {
        std::vector<float> values = random_field(n, noise, 11 + static_cast<unsigned>(count_of(n)));
        values[0] = 1;  // something is solid
        IsosurfaceOptions surface;
        surface.tiles = {tiles, tiles, tiles};
        write(path, {n, origin, spacing}, values, surface);
        VoxelImageOptions options;
        options.cells = {n[0] * tiles, n[1] * tiles, n[2] * tiles};
        options.box_origin = origin;
        for (std::size_t axis = 0; axis < 3; ++axis) {
          options.box_lengths[axis] = spacing[axis] * static_cast<double>(options.cells[axis]);
        }
        VoxelImage const image = read_voxel_image(path, options);
        REQUIRE(image.cells == options.cells);
        CHECK(image.has_geometry);
        CHECK(image.spacing[1] == Approx(0.25));
        index_t wrong = 0, c = 0;
        for (index_t k = 0; k < options.cells[2]; ++k) {
          for (index_t j = 0; j < options.cells[1]; ++j) {
            for (index_t i = 0; i < options.cells[0]; ++i) {
              float const value = values[static_cast<std::size_t>(i % n[0] + n[0] * (j % n[1] + n[1] * (k % n[2])))];
              wrong += image.values[static_cast<std::size_t>(c++)] != (value > 0.5f ? 1.0f : 0.0f);
            }
          }
        }
        INFO(n[0] << " x " << n[1] << " x " << n[2] << ", noise " << static_cast<int>(noise) << ", tiles " << tiles);
        CHECK(wrong == 0);
      }
    }
  }
}

namespace {

std::string ascii_stl(std::vector<Triangle> const& triangles) {
  std::ostringstream text;
  text.precision(9);
  text << "solid vertex 1 2\n";  // a name that could be taken for a vertex
  for (Triangle const& triangle : triangles) {
    text << " facet normal 0 0 0\n  outer loop\n";
    for (Vertex const& v : triangle) text << "   vertex " << v[0] << " " << v[1] << "\t" << v[2] << "\r\n";
    text << "  endloop\n endfacet\n";
  }
  text << "endsolid vertex\n";
  return text.str();
}

std::string binary_stl(std::vector<Triangle> const& triangles) {
  std::string bytes = "solid, as some programs begin binary files";
  bytes.resize(80);
  auto const count = static_cast<std::uint32_t>(triangles.size());
  bytes.append(reinterpret_cast<char const*>(&count), 4);
  for (Triangle const& triangle : triangles) {
    bytes.append(12, '\0');
    bytes.append(reinterpret_cast<char const*>(triangle.data()), 36);
    bytes.append(2, '\0');
  }
  return bytes;
}

// The box [0, x] x [0, y] x [0, z], through `map`.
std::vector<Triangle> box(float x, float y, float z, std::function<Vertex(Vertex const&)> const& map) {
  std::vector<Triangle> triangles;
  auto const corner = [&](int bits) { return map({bits & 1 ? x : 0, bits & 2 ? y : 0, bits & 4 ? z : 0}); };
  int const faces[6][4] = {{0, 4, 6, 2}, {1, 3, 7, 5}, {0, 1, 5, 4}, {2, 6, 7, 3}, {0, 2, 3, 1}, {4, 5, 7, 6}};
  for (auto const& f : faces) {
    triangles.push_back({corner(f[0]), corner(f[1]), corner(f[2])});
    triangles.push_back({corner(f[0]), corner(f[2]), corner(f[3])});
  }
  return triangles;
}

Vertex same(Vertex const& v) { return v; }

VoxelImageOptions box_options(Index3 const& cells, Vec3 const& origin, Vec3 const& lengths) {
  VoxelImageOptions options;
  options.cells = cells;
  options.box_origin = origin;
  options.box_lengths = lengths;
  return options;
}

}  // namespace

TEST_CASE("a box becomes the cells inside it, in text and binary, also where rays run in its faces") {
  TemporaryDirectory const directory;
  std::string const path = directory.file("a.stl");
  for (bool text : {true, false}) {
    // Faces at the centres of cells along y and z.
    std::vector<Triangle> const triangles = box(3, 4, 5, [](Vertex const& v) {
      return Vertex{v[0] + 2, v[1] + 1.5f, v[2] + 1.5f};
    });
    write_file(path, text ? ascii_stl(triangles) : binary_stl(triangles));
    VoxelImage const image = read_voxel_image(path, box_options({8, 9, 10}, {0, 0, 0}, {8, 9, 10}));
    index_t wrong = 0, c = 0;
    for (index_t k = 0; k < 10; ++k) {
      for (index_t j = 0; j < 9; ++j) {
        for (index_t i = 0; i < 8; ++i, ++c) {
          // Rays in a face count for one of both sides; here the lower ones are in, the upper ones out.
          bool const inside = i >= 2 && i < 5 && j >= 1 && j < 5 && k >= 1 && k < 6;
          wrong += image.values[static_cast<std::size_t>(c)] != (inside ? 1.0f : 0.0f);
        }
      }
    }
    CHECK(wrong == 0);
    // Without a box: the surface's own.
    VoxelImageOptions options;
    options.cells = {6, 2, 3};
    VoxelImage const own = read_voxel_image(path, options);
    CHECK(own.values == std::vector<float>(36, 1.0f));
    CHECK(own.origin == Vec3{2, 1.5, 1.5});
    CHECK(own.spacing == Vec3{0.5, 2, 5.0 / 3});
    // A box that cuts through it.
    CHECK(read_voxel_image(path, box_options({2, 1, 1}, {3, 2, 2}, {4, 1, 1})).values == std::vector<float>{1, 0});
    CHECK(read_voxel_image(path, box_options({2, 1, 1}, {-9, 2, 2}, {4, 1, 1})).values == std::vector<float>{0, 0});
  }
}

TEST_CASE("turned and sheared boxes become the cells whose centres are inside, whatever the axes' order") {
  TemporaryDirectory const directory;
  std::string const path = directory.file("a.stl");
  index_t const n = 40;
  for (int turn = 0; turn < 12; ++turn) {
    double const angle = 0.3 * turn, c = std::cos(angle), s = std::sin(angle), shear = 0.1 * turn;
    // Columns of the map; 45 degrees and the like put edges into rays.
    for (std::size_t permutation = 0; permutation < 3; ++permutation) {
      auto const map = [&](Vertex const& v) {
        double const x = v[0] - 0.5, y = v[1] - 0.5, z = v[2] - 0.5;
        double const p[3] = {0.5 + 0.6 * (c * x - s * y), 0.5 + 0.6 * (s * x + c * y), 0.5 + 0.6 * z + shear * x * 0.3};
        return Vertex{static_cast<float>(p[permutation]), static_cast<float>(p[(permutation + 1) % 3]),
                      static_cast<float>(p[(permutation + 2) % 3])};
      };
      write_file(path, binary_stl(box(1, 1, 1, map)));
      VoxelImage const image = read_voxel_image(path, box_options({n, n, n}, {0, 0, 0}, {1, 1, 1}));
      index_t wrong = 0, solid = 0, at = 0;
      for (index_t k = 0; k < n; ++k) {
        for (index_t j = 0; j < n; ++j) {
          for (index_t i = 0; i < n; ++i) {
            double const q[3] = {(static_cast<double>(i) + 0.5) / n, (static_cast<double>(j) + 0.5) / n,
                                 (static_cast<double>(k) + 0.5) / n};
            double p[3];
            for (std::size_t a = 0; a < 3; ++a) p[(permutation + a) % 3] = q[a] - 0.5;
            double const x = (c * p[0] + s * p[1]) / 0.6, y = (-s * p[0] + c * p[1]) / 0.6;
            double const z = (p[2] - shear * x * 0.3) / 0.6;
            double const outside = std::max({std::abs(x), std::abs(y), std::abs(z)}) - 0.5;
            float const value = image.values[static_cast<std::size_t>(at++)];
            solid += value == 1;
            if (std::abs(outside) > 1e-6) wrong += (value == 1) != (outside < 0);
          }
        }
      }
      INFO("turn " << turn << ", permutation " << permutation);
      CHECK(wrong == 0);
      CHECK(static_cast<double>(solid) == Approx(0.216 * n * n * n).epsilon(0.05));
    }
  }
}

TEST_CASE("surfaces that do not enclose anything are refused, as are files that are none") {
  TemporaryDirectory const directory;
  std::string const path = directory.file("a.stl");
  VoxelImageOptions options;
  options.cells = {4, 4, 4};
  auto const message = [&](std::string const& text) {
    write_file(path, text);
    return message_of<InputError>([&] { read_voxel_image(path, options); });
  };
  std::vector<Triangle> triangles = box(1, 1, 1, same);
  CHECK(message(binary_stl(triangles)).empty());
  triangles.pop_back();
  for (bool text : {true, false}) {
    CHECK(contains(
        message(text ? ascii_stl(triangles) : binary_stl(triangles)),
        "surface is open: 3 edges belong to an odd number of triangles, the first from (0, 0, 1) to (0, 1, 1)"));
  }
  CHECK(contains(message(binary_stl({})), "no triangles"));
  CHECK(contains(message("solid a\nendsolid a\n"), "no triangles"));
  CHECK(contains(message(""), "no STL"));
  CHECK(contains(message("no solid"), "no STL"));
  std::string const whole = binary_stl(box(1, 1, 1, same));
  CHECK(contains(message("S" + whole.substr(1, whole.size() - 2)), "12 triangles of 50 bytes in 683 bytes"));
  std::string const text = ascii_stl(box(1, 1, 1, same));
  CHECK(contains(message(text.substr(0, text.size() / 2)), "without 'endsolid'"));
  CHECK(contains(message("solid\nouter loop vertex 0 0 0 vertex 0 0 1 endloop"), "2 vertices; 3 are needed"));
  CHECK(contains(message("solid\nvertex 0 0 0 vertex 0 0 1 vertex 0 1 1 vertex 1 1 1"), "more than 3 vertices"));
  CHECK(contains(message("solid\nvertex 0 0 zero"), "'zero' is no coordinate"));
  std::vector<Triangle> bad = box(1, 1, 1, same);
  bad[2][1][0] = std::numeric_limits<float>::quiet_NaN();
  CHECK(contains(message(binary_stl(bad)), "vertex of triangle 2 is not finite"));
  CHECK(contains(message(binary_stl(box(1, 0, 1, same))), "flat"));
  // Negative zeros are zeros: the box below is closed.
  CHECK(message(binary_stl(box(1, 1, 1, [first = true](Vertex const& v) mutable {
          first = !first;
          return first ? v : Vertex{v[0] == 0 ? -0.0f : v[0], v[1], v[2]};
        }))).empty());
  write_file(path, whole);
  CHECK(contains(message_of<InputError>([&] { read_voxel_image(path); }), "needs the cells per axis"));
  options = box_options({2, 2, 2}, {0, 0, 0}, {1, -1, 1});
  CHECK(contains(message_of<InputError>([&] { read_voxel_image(path, options); }), "length -1"));
}

TEST_CASE("the STL writer reads whole planes, bounds its triangles, and refuses what cannot be meant") {
  TemporaryDirectory const directory;
  std::string const path = directory.file("a.stl");
  Index3 const n{3, 4, 5};
  ImageGeometry const geometry{n, {0, 0, 0}, {1, 1, 1}};
  std::vector<float> const values = random_field(n, Noise::smooth, 3);
  std::vector<index_t> firsts;
  CellSource<float> const source = [&](index_t first, index_t count, float* to) {
    CHECK(count == 12);
    firsts.push_back(first / 12);
    std::copy_n(values.begin() + first, count, to);
  };
  IsosurfaceOptions options;
  options.tiles = {1, 1, 2};
  index_t const triangles = write_stl(path, geometry, {"density", source, 60}, options);
  CHECK(firsts == std::vector<index_t>{4, 0, 1, 2, 3, 4, 0, 1, 2, 3, 4});

  options.most_triangles = triangles;
  CHECK(write(path, geometry, values, options) == triangles);
  std::string const whole = read_file(path);
  options.most_triangles = triangles - 1;
  std::string const message = message_of<InputError>([&] { write(path, geometry, values, options); });
  CHECK(contains(message, "more than " + std::to_string(triangles - 1) + " triangles"));
  CHECK(read_file(path) == whole);  // the old file stays
  CHECK(!std::filesystem::exists(path + ".part"));

  auto const refuse = [&](auto const& change) {
    IsosurfaceOptions changed;
    change(changed);
    return message_of<InputError>([&] { write(path, geometry, values, changed); });
  };
  CHECK(contains(refuse([](auto& o) { o.level = std::numeric_limits<double>::quiet_NaN(); }), "level nan"));
  CHECK(contains(refuse([](auto& o) { o.tiles[1] = 0; }), "0 tiles"));
  CHECK(contains(refuse([](auto& o) { o.tiles[1] = 1001; }), "1001 tiles"));
  CHECK(contains(refuse([](auto& o) { o.most_triangles = 4294967296; }), "4294967296"));
  CHECK_THROWS_AS(write(path, {n, {0, 0, 0}, {1, 0, 1}}, values), InputError);
  CHECK_THROWS_AS(write(path, {{3, 4, 4}, {0, 0, 0}, {1, 1, 1}}, values), InputError);
  CHECK(contains(message_of<Error>([&] { write(directory.file("no/a.stl"), geometry, values); }), "cannot write"));
  CHECK(read_file(path) == whole);
}
