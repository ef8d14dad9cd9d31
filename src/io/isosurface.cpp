// SPDX-License-Identifier: BSD-3-Clause
#include "brickwork/io/isosurface.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

#include "brickwork/core/check.hpp"
#include "brickwork/io/atomic_file.hpp"
#include "check_image.hpp"

namespace brickwork {

namespace {

// A vertex on the edge between two corners of a cube, numbered (x, y, z) in the bits 0, 1, 2; both the same: the corner
// itself. The lower number first, so that all cubes around an edge compute the same vertex.
using EdgeVertex = std::array<std::uint8_t, 2>;
using Facet = std::array<EdgeVertex, 3>;

EdgeVertex edge(int a, int b) {
  return {static_cast<std::uint8_t>(std::min(a, b)), static_cast<std::uint8_t>(std::max(a, b))};
}

// The facets of a cube for each of the 256 sets of solid corners (bit c: corner c).
std::array<std::vector<Facet>, 256> make_cube_facets() {
  // Kuhn's tetrahedra: the paths from corner 0 to corner 7 along the axes in each order. The sign is that of the order.
  struct Tetrahedron {
    int corners[4];
    bool positive;
  };
  std::vector<Tetrahedron> tetrahedra;
  int order[3] = {0, 1, 2};
  do {
    int const a = 1 << order[0], b = 1 << order[1];
    int const inversions = (order[0] > order[1]) + (order[0] > order[2]) + (order[1] > order[2]);
    tetrahedra.push_back({{0, a, a | b, 7}, inversions % 2 == 0});
  } while (std::next_permutation(order, order + 3));

  std::array<std::vector<Facet>, 256> table;
  for (int solid = 0; solid < 256; ++solid) {
    auto& facets = table[static_cast<std::size_t>(solid)];
    for (Tetrahedron const& t : tetrahedra) {
      // Solid corners to the front; each exchange of neighbours turns the orientation over.
      int c[4];
      std::copy_n(t.corners, 4, c);
      bool positive = t.positive;
      auto const is_solid = [&](int corner) { return (solid >> corner & 1) != 0; };
      for (int pass = 0; pass < 3; ++pass) {
        for (int i = 0; i < 3; ++i) {
          if (is_solid(c[i]) || !is_solid(c[i + 1])) continue;
          std::swap(c[i], c[i + 1]);
          positive = !positive;
        }
      }
      auto const add = [&](EdgeVertex const& p, EdgeVertex const& q, EdgeVertex const& r) {
        facets.push_back(positive ? Facet{p, q, r} : Facet{p, r, q});
      };
      switch (std::count_if(c, c + 4, is_solid)) {
        case 1:
          add(edge(c[0], c[1]), edge(c[0], c[2]), edge(c[0], c[3]));
          break;
        case 2:
          add(edge(c[0], c[2]), edge(c[0], c[3]), edge(c[1], c[3]));
          add(edge(c[0], c[2]), edge(c[1], c[3]), edge(c[1], c[2]));
          break;
        case 3:
          add(edge(c[0], c[3]), edge(c[1], c[3]), edge(c[2], c[3]));
          break;
        default:
          break;
      }
    }
  }
  return table;
}

// The solid part of a cube's face, for each set of solid corners. Faces 2 axis + side; seen from outside,
// counter-clockwise.
std::array<std::array<std::vector<Facet>, 256>, 6> make_face_facets() {
  std::array<std::array<std::vector<Facet>, 256>, 6> tables;
  for (int face = 0; face < 6; ++face) {
    int const axis = face / 2, side = face % 2;
    int const u = 1 << (axis + 1) % 3, v = 1 << (axis + 2) % 3, base = side << axis;
    // The two triangles that Kuhn's tetrahedra leave on the face; u, v, axis are right-handed.
    int const triangles[2][3] = {{base, base | u, base | u | v}, {base, base | u | v, base | v}};
    for (int solid = 0; solid < 256; ++solid) {
      auto& facets = tables[static_cast<std::size_t>(face)][static_cast<std::size_t>(solid)];
      for (auto const& triangle : triangles) {
        std::vector<EdgeVertex> polygon;
        for (int i = 0; i < 3; ++i) {
          int const a = triangle[i], b = triangle[(i + 1) % 3];
          bool const solid_a = (solid >> a & 1) != 0, solid_b = (solid >> b & 1) != 0;
          if (solid_a) polygon.push_back(edge(a, a));
          if (solid_a != solid_b) polygon.push_back(edge(a, b));
        }
        for (std::size_t i = 2; i < polygon.size(); ++i) {
          facets.push_back(side == 1 ? Facet{polygon[0], polygon[i - 1], polygon[i]}
                                     : Facet{polygon[0], polygon[i], polygon[i - 1]});
        }
      }
    }
  }
  return tables;
}

using Vertex = std::array<float, 3>;

// Binary STL: 80 bytes of text, the number of triangles, then per triangle its normal, vertices and two bytes.
class StlFile {
 public:
  StlFile(std::string const& path, index_t most) : file_(path), most_(most) {
    char header[84] = {};
    std::strcpy(header, "Brickwork isosurface");
    file_.stream().write(header, sizeof(header));
    buffer_.reserve(block);
  }

  void add(Vertex const& a, Vertex const& b, Vertex const& c) {
    if (a == b || b == c || c == a) return;
    BRICKWORK_REQUIRE(triangles_ < most_, "STL: more than ", most_, " triangles; take a coarser field or fewer tiles");
    ++triangles_;
    double p[3], q[3];
    for (std::size_t axis = 0; axis < 3; ++axis) {
      p[axis] = static_cast<double>(b[axis]) - static_cast<double>(a[axis]);
      q[axis] = static_cast<double>(c[axis]) - static_cast<double>(a[axis]);
    }
    double const normal[3] = {p[1] * q[2] - p[2] * q[1], p[2] * q[0] - p[0] * q[2], p[0] * q[1] - p[1] * q[0]};
    double const length = std::sqrt(normal[0] * normal[0] + normal[1] * normal[1] + normal[2] * normal[2]);
    for (double n : normal) put(length > 0 ? static_cast<float>(n / length) : 0.0f);
    for (Vertex const* vertex : {&a, &b, &c}) {
      for (float x : *vertex) put(x);
    }
    buffer_ += '\0';
    buffer_ += '\0';
    if (buffer_.size() >= block - 64) flush();
  }

  index_t commit() {
    flush();
    char count[4];
    little_endian_bytes(static_cast<std::uint32_t>(triangles_), count);
    file_.stream().seekp(80);
    file_.stream().write(count, 4);
    file_.commit();
    return triangles_;
  }

 private:
  static constexpr std::size_t block = 1 << 16;

  static void little_endian_bytes(std::uint32_t word, char* bytes) {
    for (int i = 0; i < 4; ++i) bytes[i] = static_cast<char>(word >> (8 * i) & 0xff);
  }
  void put(float value) {
    std::uint32_t word = 0;
    std::memcpy(&word, &value, 4);
    char bytes[4];
    little_endian_bytes(word, bytes);
    buffer_.append(bytes, 4);
  }
  void flush() {
    file_.stream().write(buffer_.data(), static_cast<std::streamsize>(buffer_.size()));
    file_.check();
    buffer_.clear();
  }

  AtomicFile file_;
  index_t most_;
  index_t triangles_ = 0;
  std::string buffer_;
};

// Sample points along one axis: the lower face, the cell centres of all tiles, the upper face.
struct Samples {
  index_t cells = 0;  // of one tile
  index_t count = 0;  // cells * tiles + 2
  std::vector<double> coordinates;

  Samples(index_t tile_cells, index_t tiles, double origin, double spacing)
      : cells(tile_cells), count(tile_cells * tiles + 2), coordinates(static_cast<std::size_t>(count)) {
    for (index_t s = 1; s + 1 < count; ++s) {
      coordinates[static_cast<std::size_t>(s)] = origin + (static_cast<double>(s) - 0.5) * spacing;
    }
    coordinates.front() = origin;
    coordinates.back() = origin + static_cast<double>(count - 2) * spacing;
  }
  bool is_face(index_t s) const { return s == 0 || s + 1 == count; }
  index_t cell(index_t s) const { return (s - 1) % cells; }
};

// Planes of samples of the tiled field.
class SamplePlanes {
 public:
  SamplePlanes(ImageGeometry const& geometry, ImageField const& field, std::array<Samples, 3> const& samples)
      : geometry_(geometry), field_(field), samples_(samples) {
    plane_.resize(static_cast<std::size_t>(geometry.cells[0] * geometry.cells[1]));
  }

  // The samples (s, t) of the plane at sample `r` along z, at s + samples[0].count t.
  void sample(index_t r, std::vector<float>& values) {
    if (samples_[2].is_face(r)) {
      if (face_.empty()) {
        load(geometry_.cells[2] - 1);
        face_ = plane_;
        load(0);
        for (std::size_t i = 0; i < face_.size(); ++i) face_[i] = mean(plane_[i], face_[i]);
      }
      spread(face_, values);
      return;
    }
    load(samples_[2].cell(r));
    spread(plane_, values);
  }

 private:
  // The same whichever comes first.
  static float mean(float a, float b) { return 0.5f * a + 0.5f * b; }

  void load(index_t k) {
    if (k == loaded_) return;
    auto const plane_cells = static_cast<index_t>(plane_.size());
    index_t const most = slab_bytes / static_cast<index_t>(sizeof(float));
    for (index_t first = 0; first < plane_cells; first += most) {
      index_t const run = std::min(most, plane_cells - first);
      float* const values = plane_.data() + first;
      if (field_.float32) {
        field_.float32(k * plane_cells + first, run, values);
      } else {
        bytes_.resize(static_cast<std::size_t>(run));
        field_.uint8(k * plane_cells + first, run, bytes_.data());
        std::copy(bytes_.begin(), bytes_.end(), values);
      }
    }
    for (index_t n = 0; n < plane_cells; ++n) {
      BRICKWORK_REQUIRE(std::isfinite(plane_[static_cast<std::size_t>(n)]), "STL: the value of cell (",
                        n % geometry_.cells[0], ", ", n / geometry_.cells[0], ", ", k, ") is ",
                        plane_[static_cast<std::size_t>(n)], "; finite ones are needed");
    }
    loaded_ = k;
  }

  void spread(std::vector<float> const& plane, std::vector<float>& values) const {
    Samples const& x = samples_[0];
    Samples const& y = samples_[1];
    values.resize(static_cast<std::size_t>(x.count * y.count));
    auto const row_value = [&](float const* row, index_t s) {
      return x.is_face(s) ? mean(row[0], row[x.cells - 1]) : row[x.cell(s)];
    };
    for (index_t t = 0; t < y.count; ++t) {
      float* const out = values.data() + x.count * t;
      if (y.is_face(t)) {
        float const* const first = plane.data();
        float const* const last = plane.data() + x.cells * (y.cells - 1);
        for (index_t s = 0; s < x.count; ++s) out[s] = mean(row_value(first, s), row_value(last, s));
      } else {
        float const* const row = plane.data() + x.cells * y.cell(t);
        for (index_t s = 0; s < x.count; ++s) out[s] = row_value(row, s);
      }
    }
  }

  ImageGeometry const& geometry_;
  ImageField const& field_;
  std::array<Samples, 3> const& samples_;
  std::vector<float> plane_, face_;
  std::vector<std::uint8_t> bytes_;
  index_t loaded_ = -1;
};

}  // namespace

index_t write_stl(std::string const& path, ImageGeometry const& geometry, ImageField const& field,
                  IsosurfaceOptions const& options) {
  detail::check_image(geometry, {field});
  BRICKWORK_REQUIRE(std::isfinite(options.level), "STL: level ", options.level, " must be finite");
  for (index_t tiles : options.tiles) {
    BRICKWORK_REQUIRE(tiles >= 1 && tiles <= 1000, "STL: ", tiles, " tiles along an axis must lie in [1, 1000]");
  }
  BRICKWORK_REQUIRE(options.most_triangles >= 0 && options.most_triangles <= 4294967295, "STL: at most ",
                    options.most_triangles, " triangles must lie in [0, 2^32 - 1]");
  static std::array<std::vector<Facet>, 256> const cube_facets = make_cube_facets();
  static std::array<std::array<std::vector<Facet>, 256>, 6> const face_facets = make_face_facets();

  auto const axis_samples = [&](std::size_t axis) {
    return Samples(geometry.cells[axis], options.tiles[axis], geometry.origin[axis], geometry.spacing[axis]);
  };
  std::array<Samples, 3> const samples{axis_samples(0), axis_samples(1), axis_samples(2)};
  SamplePlanes planes(geometry, field, samples);
  StlFile file(path, options.most_triangles);
  std::vector<float> below, above;
  planes.sample(0, below);
  index_t const nx = samples[0].count, ny = samples[1].count, nz = samples[2].count;
  for (index_t k = 0; k + 1 < nz; ++k) {
    planes.sample(k + 1, above);
    for (index_t j = 0; j + 1 < ny; ++j) {
      // Rows of samples by the bits y and z.
      float const* const rows[4] = {below.data() + nx * j, below.data() + nx * (j + 1), above.data() + nx * j,
                                    above.data() + nx * (j + 1)};
      // Bit 2 y-z: the corners 0, 2, 4, 6 of the cube; moving on in x, the upper corners become the lower ones.
      auto const column = [&](index_t i) {
        unsigned solid = 0;
        for (unsigned row = 0; row < 4; ++row) {
          solid |= static_cast<unsigned>(static_cast<double>(rows[row][i]) > options.level) << 2 * row;
        }
        return solid;
      };
      unsigned lower = column(0);
      for (index_t i = 0; i + 1 < nx; ++i) {
        unsigned const upper = column(i + 1);
        std::size_t const solid = lower | upper << 1;
        lower = upper;
        if (solid == 0) continue;
        Index3 const base{i, j, k};
        auto const vertex = [&](EdgeVertex const& ends) {
          auto const value = [&](int corner) { return static_cast<double>(rows[corner >> 1][i + (corner & 1)]); };
          double t = 0;
          if (ends[0] != ends[1]) {
            double const low = value(ends[0]), high = value(ends[1]);
            t = std::clamp((options.level - low) / (high - low), 1.0 / 512, 511.0 / 512);
          }
          Vertex point;
          for (std::size_t axis = 0; axis < 3; ++axis) {
            auto const coordinate = [&](int corner) {
              return samples[axis].coordinates[static_cast<std::size_t>(base[axis] + (corner >> axis & 1))];
            };
            double const low = coordinate(ends[0]);
            // fma by name: a compiler that contracts products in one place and not in another would tear the surface.
            point[axis] = static_cast<float>(std::fma(t, coordinate(ends[1]) - low, low));
          }
          return point;
        };
        auto const add = [&](std::vector<Facet> const& facets) {
          for (Facet const& facet : facets) file.add(vertex(facet[0]), vertex(facet[1]), vertex(facet[2]));
        };
        add(cube_facets[solid]);
        if (!options.caps) continue;
        Index3 const last{nx - 2, ny - 2, nz - 2};
        for (std::size_t axis = 0; axis < 3; ++axis) {
          if (base[axis] == 0) add(face_facets[2 * axis][solid]);
          if (base[axis] == last[axis]) add(face_facets[2 * axis + 1][solid]);
        }
      }
    }
    std::swap(below, above);
  }
  return file.commit();
}

}  // namespace brickwork
