// SPDX-License-Identifier: BSD-3-Clause
// Closed triangle surfaces to voxels, by the parity of crossings along x.
//
// A ray of cell centres meets a triangle where its foot lies inside the triangle's projection onto the y-z plane, and a
// foot is inside where an odd number of the projected edges crosses the half-line from it towards +y. Whether an edge
// does is decided by one function of the edge and the foot, with half-open comparisons, so both triangles of an edge
// get the same answer whatever the rounding. In a surface whose edges each belong to an even number of triangles, every
// ray therefore has an even number of crossings, also where it passes through edges, vertices, or along walls: no cell
// behind the surface can be taken for solid, and what rounding can move is the cells that lie on the surface.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "brickwork/core/check.hpp"
#include "byte_source.hpp"
#include "voxel_formats.hpp"

namespace brickwork::detail {

namespace {

using Vertex = std::array<float, 3>;
using Triangle = std::array<Vertex, 3>;

bool is_space(int c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; }

std::string next_word(InputFile& file) {
  while (is_space(file.peek())) file.get();
  std::string word;
  while (file.peek() >= 0 && !is_space(file.peek()) && word.size() < 64) word += static_cast<char>(file.get());
  return word;
}

std::vector<Triangle> read_text(InputFile& file) {
  std::vector<Triangle> triangles;
  Triangle triangle{};
  std::size_t vertices = 0;
  bool closed = false;
  for (std::string word = next_word(file); !word.empty(); word = next_word(file)) {
    if (word == "solid" || word == "endsolid") {
      closed = word == "endsolid";
      for (int c = file.get(); c >= 0 && c != '\n';) c = file.get();  // the name may hold any word
    } else if (word == "vertex") {
      if (vertices == 3) file.fail("a facet of it has more than 3 vertices");
      for (float& x : triangle[vertices]) {
        std::string const number = next_word(file);
        std::optional<double> const value = parse_number(number);
        if (!value) file.fail("'" + number + "' is no coordinate of a vertex");
        x = static_cast<float>(*value);
      }
      ++vertices;
    } else if (word == "endloop") {
      if (vertices != 3) file.fail("a facet of it has " + std::to_string(vertices) + " vertices; 3 are needed");
      triangles.push_back(triangle);
      vertices = 0;
    }
  }
  if (!closed) file.fail("it ends early, without 'endsolid'");
  return triangles;
}

std::vector<Triangle> read_triangles(InputFile& file) {
  char start[84] = {};
  file.read(start, static_cast<std::size_t>(std::min<index_t>(84, file.size())));
  index_t count = 0;
  for (int i = 3; i >= 0; --i) count = count << 8 | static_cast<unsigned char>(start[80 + i]);
  // Some programs begin their binary files with "solid" too, so the size decides.
  if (file.size() < 84 || file.size() != 84 + 50 * count) {
    if (std::string(start, 5) != "solid") {
      file.fail("it is no STL: neither text ('solid ...'), nor binary with its " + std::to_string(count) +
                " triangles of 50 bytes in " + std::to_string(file.size()) + " bytes");
    }
    file.seek(0);
    return read_text(file);
  }
  std::vector<Triangle> triangles(static_cast<std::size_t>(count));
  PlainBytes source(file);
  for (Triangle& triangle : triangles) {
    float normal[3];
    read_values(source, ScalarType::float32, !little_endian(), 3, normal);
    for (Vertex& vertex : triangle) read_values(source, ScalarType::float32, !little_endian(), 3, vertex.data());
    char attributes[2];
    source.read(attributes, 2);
  }
  return triangles;
}

// Every edge must belong to an even number of triangles.
void require_closed(InputFile const& file, std::vector<Triangle> const& triangles) {
  std::vector<Vertex> vertices;
  vertices.reserve(3 * triangles.size());
  for (Triangle const& triangle : triangles) vertices.insert(vertices.end(), triangle.begin(), triangle.end());
  std::sort(vertices.begin(), vertices.end());
  vertices.erase(std::unique(vertices.begin(), vertices.end()), vertices.end());
  if (vertices.size() > std::numeric_limits<std::uint32_t>::max()) file.fail("it has more than 2^32 vertices");
  auto const number = [&](Vertex const& vertex) {
    return static_cast<std::uint64_t>(std::lower_bound(vertices.begin(), vertices.end(), vertex) - vertices.begin());
  };
  std::vector<std::uint64_t> edges;
  edges.reserve(3 * triangles.size());
  for (Triangle const& triangle : triangles) {
    std::uint64_t const n[3] = {number(triangle[0]), number(triangle[1]), number(triangle[2])};
    for (int i = 0; i < 3; ++i) {
      std::uint64_t const a = n[i], b = n[(i + 1) % 3];
      if (a != b) edges.push_back(std::min(a, b) << 32 | std::max(a, b));
    }
  }
  std::sort(edges.begin(), edges.end());
  std::size_t open = 0, first_open = 0;
  for (std::size_t begin = 0, end = 0; begin < edges.size(); begin = end) {
    while (end < edges.size() && edges[end] == edges[begin]) ++end;
    if ((end - begin) % 2 == 0) continue;
    if (open++ == 0) first_open = begin;
  }
  if (open == 0) return;
  Vertex const& a = vertices[edges[first_open] >> 32];
  Vertex const& b = vertices[edges[first_open] & 0xffffffffu];
  file.fail(concatenate("its surface is open: ", open, " edges belong to an odd number of triangles, the first from (",
                        a[0], ", ", a[1], ", ", a[2], ") to (", b[0], ", ", b[1], ", ", b[2], ")"));
}

// Foot of a ray.
struct Point2 {
  double y, z;
};

// Whether the half-line from `p` towards +y crosses the edge between a and b.
bool crosses(Point2 a, Point2 b, Point2 p) {
  if ((a.z > p.z) == (b.z > p.z)) return false;
  if (a.z > p.z) std::swap(a, b);
  // Right of p where this is positive. fma by name: see the top; contraction must not differ from call to call.
  return std::fma(b.y - a.y, p.z - a.z, -((p.y - a.y) * (b.z - a.z))) > 0;
}

// The cells along an axis whose centres may lie in [low, high].
struct Range {
  index_t first, end;
};

Range range(double low, double high, double origin, double spacing, index_t cells) {
  auto const clamped = [&](double cell) {
    return static_cast<index_t>(std::clamp(cell, 0.0, static_cast<double>(cells)));
  };
  // One more on either side, against rounding: crosses() decides.
  return {clamped(std::floor((low - origin) / spacing - 0.5)),
          clamped(std::floor((high - origin) / spacing - 0.5) + 2)};
}

// Turns over all cells behind `triangle` along x; a cell's value holds whether it and those behind it turn.
void mark_crossings(Triangle const& triangle, VoxelImage& image) {
  double x[3];
  Point2 p[3];
  for (std::size_t i = 0; i < 3; ++i) {
    x[i] = static_cast<double>(triangle[i][0]);
    p[i] = {static_cast<double>(triangle[i][1]), static_cast<double>(triangle[i][2])};
  }
  auto const [x_low, x_high] = std::minmax({x[0], x[1], x[2]});
  auto const [y_low, y_high] = std::minmax({p[0].y, p[1].y, p[2].y});
  auto const [z_low, z_high] = std::minmax({p[0].z, p[1].z, p[2].z});
  // Normal of the plane, for x at a foot.
  double const area = (p[1].y - p[0].y) * (p[2].z - p[0].z) - (p[2].y - p[0].y) * (p[1].z - p[0].z);
  double const slope_y = (p[1].z - p[0].z) * (x[2] - x[0]) - (x[1] - x[0]) * (p[2].z - p[0].z);
  double const slope_z = (x[1] - x[0]) * (p[2].y - p[0].y) - (p[1].y - p[0].y) * (x[2] - x[0]);
  Vec3 const& o = image.origin;
  Vec3 const& h = image.spacing;
  Index3 const& n = image.cells;
  Range const js = range(y_low, y_high, o[1], h[1], n[1]), ks = range(z_low, z_high, o[2], h[2], n[2]);
  for (index_t k = ks.first; k < ks.end; ++k) {
    for (index_t j = js.first; j < js.end; ++j) {
      Point2 const foot{o[1] + (static_cast<double>(j) + 0.5) * h[1], o[2] + (static_cast<double>(k) + 0.5) * h[2]};
      if (crosses(p[0], p[1], foot) == (crosses(p[1], p[2], foot) != crosses(p[2], p[0], foot))) continue;
      double at = 0.5 * (x_low + x_high);
      if (area != 0) at = x[0] - (slope_y * (foot.y - p[0].y) + slope_z * (foot.z - p[0].z)) / area;
      at = std::clamp(at, x_low, x_high);  // a steep triangle: rounding must not carry the crossing away
      double const cell = std::ceil((at - o[0]) / h[0] - 0.5);
      if (cell >= static_cast<double>(n[0])) continue;
      auto const i = static_cast<index_t>(std::max(cell, 0.0));
      float& turns = image.values[static_cast<std::size_t>(i + n[0] * (j + n[1] * k))];
      turns = 1 - turns;
    }
  }
}

}  // namespace

VoxelImage read_stl_image(std::string const& path, VoxelImageOptions const& options) {
  BRICKWORK_REQUIRE(options.cells != Index3{}, "'", path, "': a surface needs the cells per axis that it becomes");
  InputFile file(path);
  std::vector<Triangle> triangles = read_triangles(file);
  if (triangles.empty()) file.fail("it has no triangles");
  constexpr double infinity = std::numeric_limits<double>::infinity();
  Vec3 low{infinity, infinity, infinity}, high{-infinity, -infinity, -infinity};
  for (std::size_t t = 0; t < triangles.size(); ++t) {
    for (Vertex& vertex : triangles[t]) {
      for (std::size_t axis = 0; axis < 3; ++axis) {
        float& x = vertex[axis];
        if (!std::isfinite(x)) file.fail("a vertex of triangle " + std::to_string(t) + " is not finite");
        x += 0.0f;  // -0 and 0 are one coordinate
        low[axis] = std::min(low[axis], static_cast<double>(x));
        high[axis] = std::max(high[axis], static_cast<double>(x));
      }
    }
  }
  require_closed(file, triangles);

  VoxelImage image;
  image.cells = options.cells;
  image.has_geometry = true;
  bool const given = options.box_lengths != Vec3{0, 0, 0};
  for (std::size_t axis = 0; axis < 3; ++axis) {
    image.origin[axis] = given ? options.box_origin[axis] : low[axis];
    double const length = given ? options.box_lengths[axis] : high[axis] - low[axis];
    if (!given && !(length > 0)) file.fail("its surface is flat; give the box that becomes voxels");
    BRICKWORK_REQUIRE(std::isfinite(image.origin[axis]) && std::isfinite(length) && length > 0, "'", path,
                      "': the box from ", image.origin[axis], " with the length ", length,
                      " must be finite and longer than 0");
    image.spacing[axis] = length / static_cast<double>(image.cells[axis]);
  }
  index_t const count = cell_count(path, image.cells);
  image.values.resize(static_cast<std::size_t>(count));
  for (Triangle const& triangle : triangles) mark_crossings(triangle, image);
  for (index_t row = 0; row < count; row += image.cells[0]) {
    float inside = 0;
    for (index_t i = row; i < row + image.cells[0]; ++i) {
      float& value = image.values[static_cast<std::size_t>(i)];
      inside = inside != value ? 1.0f : 0.0f;
      value = inside;
    }
  }
  return image;
}

}  // namespace brickwork::detail
