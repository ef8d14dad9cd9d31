// SPDX-License-Identifier: BSD-3-Clause
// Plain-loop references and random fields for the tests.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

#include "brickwork/core/fields.hpp"
#include "brickwork/fem/hex8_stiffness.hpp"
#include "brickwork/mesh/box_grid.hpp"

namespace brickwork::test {

inline std::vector<double> random_values(index_t count, unsigned seed, double lower = -1, double upper = 1) {
  std::mt19937 generator(seed);
  std::uniform_real_distribution<double> draw(lower, upper);
  std::vector<double> values(static_cast<std::size_t>(count));
  for (auto& value : values) value = draw(generator);
  return values;
}

/// Values as a vector of precision Scalar holds them.
template <class Scalar>
std::vector<double> rounded(std::vector<double> values) {
  for (auto& value : values) value = static_cast<double>(static_cast<Scalar>(value));
  return values;
}

/// Constraint bits: about a fifth of the nodes with one of the eight patterns.
inline std::vector<std::uint8_t> random_mask(index_t nodes, unsigned seed) {
  auto const draw = random_values(nodes, seed, 0, 40);
  std::vector<std::uint8_t> mask(draw.size());
  for (std::size_t i = 0; i < mask.size(); ++i) mask[i] = draw[i] < 8 ? static_cast<std::uint8_t>(draw[i]) : 0;
  return mask;
}

/// Rounding of a product K u in precision Scalar: a sum of 8 cells x 24 products, each in turn a sum of three butterfly
/// levels; terms are bounded by max|K| max|u| max|E|, errors accumulate like the square root of their number, with a
/// factor of safety. For |E| <= 1 and |u| of order one.
template <class Scalar>
double product_tolerance(Hex8Matrix const& k) {
  double largest = 0;
  for (auto const& row : k)
    for (double entry : row) largest = std::max(largest, std::abs(entry));
  return 64 * std::numeric_limits<Scalar>::epsilon() * largest * 8;
}

/// Nodes of cell (i, j, k), corners in order; periodic axes wrap.
inline std::array<index_t, 8> cell_nodes(BoxGrid const& grid, index_t i, index_t j, index_t k) {
  Index3 const m = grid.nodes();
  std::array<index_t, 8> nodes{};
  for (int n = 0; n < 8; ++n)
    nodes[n] = grid.node_index((i + (n & 1)) % m[0], (j + ((n >> 1) & 1)) % m[1], (k + (n >> 2)) % m[2]);
  return nodes;
}

/// w = P K P u + (I - P) u in double precision; vectors are component-major (node + d * nodes).
inline std::vector<double> reference_apply(BoxGrid const& grid, Hex8Matrix const& stiffness,
                                           std::vector<double> const& moduli, std::vector<std::uint8_t> const& mask,
                                           std::vector<double> const& u) {
  index_t const nodes = grid.node_count();
  std::vector<double> w(u.size(), 0.0);
  auto const fixed = [&](index_t node, int d) { return !mask.empty() && ((mask[node] >> d) & 1); };
  Index3 const n = grid.cells();
  for (index_t k = 0; k < n[2]; ++k)
    for (index_t j = 0; j < n[1]; ++j)
      for (index_t i = 0; i < n[0]; ++i) {
        auto const corner = cell_nodes(grid, i, j, k);
        double const modulus = moduli[grid.cell_index(i, j, k)];
        for (int a = 0; a < 24; ++a) {
          double sum = 0;
          for (int b = 0; b < 24; ++b) {
            if (!fixed(corner[b / 3], b % 3)) sum += stiffness[a][b] * u[corner[b / 3] + (b % 3) * nodes];
          }
          w[corner[a / 3] + (a % 3) * nodes] += modulus * sum;
        }
      }
  for (index_t node = 0; node < nodes; ++node)
    for (int d = 0; d < 3; ++d)
      if (fixed(node, d)) w[node + d * nodes] = u[node + d * nodes];
  return w;
}

template <class ViewType, class ExecutionSpace, class Value>
ViewType to_device(ExecutionSpace const& space, std::vector<Value> const& values, index_t leading) {
  ViewType view(Kokkos::view_alloc(Kokkos::WithoutInitializing, "test"), static_cast<std::size_t>(leading));
  auto const host = Kokkos::create_mirror_view(Kokkos::HostSpace{}, view);
  for (std::size_t i = 0; i < values.size(); ++i)
    host.data()[i] = static_cast<typename ViewType::value_type>(values[i]);
  Kokkos::deep_copy(space, view, host);
  space.fence();
  return view;
}

template <class ViewType>
std::vector<double> to_host(ViewType const& view) {
  Kokkos::fence();
  auto const host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, view);
  return std::vector<double>(host.data(), host.data() + host.size());
}

inline double max_abs(std::vector<double> const& values) {
  double largest = 0;
  for (double value : values) largest = std::max(largest, std::isfinite(value) ? std::abs(value) : INFINITY);
  return largest;
}

/// Largest |a - b|; infinite where a value is not finite or the sizes differ.
inline double max_difference(std::vector<double> const& a, std::vector<double> const& b) {
  if (a.size() != b.size()) return INFINITY;
  double largest = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    double const difference = std::abs(a[i] - b[i]);
    largest = std::isfinite(difference) ? std::max(largest, difference) : INFINITY;
  }
  return largest;
}

}  // namespace brickwork::test
