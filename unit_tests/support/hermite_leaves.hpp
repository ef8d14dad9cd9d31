// SPDX-License-Identifier: BSD-3-Clause
// The leaves of an adaptive grid and the cubics on them, on the host and in plain loops.
#pragma once

#include <Kokkos_Core.hpp>
#include <array>
#include <cmath>
#include <vector>

#include "brickwork/fem/hermite.hpp"
#include "brickwork/fem/quadrature.hpp"
#include "brickwork/mesh/host_level.hpp"
#include "brickwork/operators/hermite_vector.hpp"

namespace brickwork::test {

template <int Dim>
using Point = Kokkos::Array<double, Dim>;

template <int Dim>
struct HostLeaf {
  int level;
  index_t number;  ///< of its level's cells
  Kokkos::Array<index_t, Dim> cell;
  std::array<double, Dim> lower, h;

  double volume() const {
    double v = 1;
    for (double side : h) v *= side;
    return v;
  }
};

template <int Dim>
struct HostGrid {
  std::vector<GridLevel<Kokkos::HostSpace, Dim>> levels;
  std::vector<HostLeaf<Dim>> leaves;

  template <class Space>
  explicit HostGrid(AdaptiveGrid<Space, Dim> const& grid) {
    for (int l = 0; l < grid.level_count(); ++l) {
      levels.push_back(host_level(grid.level(l)));
      auto const& level = levels.back();
      for (index_t n = 0; n < level.cell_count; ++n) {
        if (level.refined(n)) continue;
        HostLeaf<Dim> leaf{l, n, level.cell_position(n), {}, {}};
        for (int d = 0; d < Dim; ++d) {
          leaf.h[d] = level.spacing[d];
          leaf.lower[d] = level.origin[d] + level.spacing[d] * static_cast<double>(leaf.cell[d]);
        }
        leaves.push_back(leaf);
      }
    }
  }

  /// Where unknown m of corner n of a leaf stands among the values of a vector.
  index_t index(HostLeaf<Dim> const& leaf, int n, int m) const {
    index_t offset = 0;
    for (int l = 0; l < leaf.level; ++l)
      if (levels[l].leaf_count > 0) offset += levels[l].vertex_count << Dim;
    return offset + levels[leaf.level].corner(leaf.cell, n) + levels[leaf.level].vertex_count * m;
  }
};

template <class Vector>
std::vector<double> host_values(Vector const& vector) {
  auto const host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), vector.values());
  return std::vector<double>(host.data(), host.data() + host.extent(0));
}

template <class Vector>
void set_values(Vector const& vector, std::vector<double> const& values) {
  auto const host = Kokkos::create_mirror_view(vector.values());
  for (std::size_t i = 0; i < values.size(); ++i) host(i) = values[i];
  Kokkos::deep_copy(vector.values(), host);
}

/// A functional's value, from the stored values of both.
inline double pairing(std::vector<double> const& a, std::vector<double> const& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

/// Physical derivative of these orders of the cubic of a leaf at reference coordinates.
template <int Dim>
double leaf_derivative(HostGrid<Dim> const& grid, std::vector<double> const& values, HostLeaf<Dim> const& leaf,
                       std::array<int, Dim> const& order, std::array<double, Dim> const& xi) {
  double sum = 0;
  for (int n = 0; n < 1 << Dim; ++n)
    for (int m = 0; m < 1 << Dim; ++m) {
      double product = values[grid.index(leaf, n, m)];
      for (int d = 0; d < Dim; ++d)
        product *= hermite_basis(order[d], xi[d])[2 * (n >> d & 1) + (m >> d & 1)] / std::pow(leaf.h[d], order[d]);
      sum += product;
    }
  return sum;
}

/// Calls visit(xi, weight) at the Gauss points of the unit cube; the weights add to 1.
template <int Dim, class Visit>
void for_each_gauss_point(int points, Visit const& visit) {
  GaussRule const rule = gauss_rule(points);
  int total = 1;
  for (int d = 0; d < Dim; ++d) total *= points;
  for (int p = 0; p < total; ++p) {
    std::array<double, Dim> xi{};
    double weight = 1;
    for (int d = 0, rest = p; d < Dim; ++d, rest /= points) {
      xi[d] = rule.points[rest % points];
      weight *= rule.weights[rest % points];
    }
    visit(xi, weight);
  }
}

template <int Dim>
Point<Dim> physical(HostLeaf<Dim> const& leaf, std::array<double, Dim> const& xi) {
  Point<Dim> x{};
  for (int d = 0; d < Dim; ++d) x[d] = leaf.lower[d] + leaf.h[d] * xi[d];
  return x;
}

/// A polynomial of three terms c x^a y^b z^c, as a functor with all its derivatives.
template <int Dim>
struct Polynomial {
  double coefficient[3];
  int exponent[3][Dim];

  KOKKOS_FUNCTION double derivative(int const* order, Point<Dim> const& x) const {
    double sum = 0;
    for (int t = 0; t < 3; ++t) {
      double product = coefficient[t];
      for (int d = 0; d < Dim; ++d) {
        int e = exponent[t][d];
        for (int n = 0; n < order[d]; ++n, --e) product *= e;
        for (int n = 0; n < e; ++n) product *= x[d];
      }
      sum += product;
    }
    return sum;
  }
  KOKKOS_FUNCTION double operator()(Point<Dim> const& x) const {
    int const none[Dim] = {};
    return derivative(none, x);
  }
  /// The integral over a box.
  double integral(std::array<double, Dim> const& lower, std::array<double, Dim> const& upper) const {
    double sum = 0;
    for (int t = 0; t < 3; ++t) {
      double product = coefficient[t];
      for (int d = 0; d < Dim; ++d) {
        int const e = exponent[t][d] + 1;
        product *= (std::pow(upper[d], e) - std::pow(lower[d], e)) / e;
      }
      sum += product;
    }
    return sum;
  }
};

}  // namespace brickwork::test
