// SPDX-License-Identifier: BSD-3-Clause
// Dense references of multigrid's coarse operators: stiffness, prolongation, and what a block stencil stands for.
//
// Dense vectors are component-major as nodal vectors are: component d of node i at i + d nodes.
#pragma once

#include <Eigen/Dense>
#include <array>
#include <vector>

#include "brickwork/operators/detail/stencil_assembly.hpp"
#include "support/reference.hpp"

namespace brickwork::test {

using Factors = std::array<int, 3>;

inline bool is_fixed(std::vector<std::uint8_t> const& mask, index_t node, int d) {
  return !mask.empty() && ((mask[static_cast<std::size_t>(node)] >> d) & 1);
}

/// Q A Q: sum of the cells, rows and columns of constrained components zero.
inline Eigen::MatrixXd dense_stiffness(BoxGrid const& grid, Hex8Matrix const& stiffness,
                                       std::vector<double> const& moduli, std::vector<std::uint8_t> const& mask) {
  index_t const nodes = grid.node_count();
  Eigen::MatrixXd a = Eigen::MatrixXd::Zero(3 * nodes, 3 * nodes);
  Index3 const n = grid.cells();
  for (index_t k = 0; k < n[2]; ++k)
    for (index_t j = 0; j < n[1]; ++j)
      for (index_t i = 0; i < n[0]; ++i) {
        auto const corner = cell_nodes(grid, i, j, k);
        double const modulus = moduli[static_cast<std::size_t>(grid.cell_index(i, j, k))];
        for (std::size_t r = 0; r < 24; ++r)
          for (std::size_t c = 0; c < 24; ++c) {
            int const d = static_cast<int>(r % 3), e = static_cast<int>(c % 3);
            if (is_fixed(mask, corner[r / 3], d) || is_fixed(mask, corner[c / 3], e)) continue;
            a(corner[r / 3] + d * nodes, corner[c / 3] + e * nodes) += modulus * stiffness[r][c];
          }
      }
  return a;
}

/// Weight of coarse node `c` at fine node `i` along one axis of `cells` fine cells: linear interpolation between the
/// coarse nodes, which are fine nodes 0, factor, 2 factor, ...; the last interval of a periodic axis ends at node 0.
inline double hat(index_t cells, bool periodic, int factor, index_t i, index_t c) {
  index_t const intervals = (cells + factor - 1) / factor;
  double weight = 0;
  for (index_t k = 0; k < intervals; ++k) {
    index_t const begin = k * factor, end = periodic ? std::min(begin + factor, cells) : begin + factor;
    if (i < begin || i > end) continue;
    double const share = static_cast<double>(i - begin) / static_cast<double>(end - begin);
    index_t const last = periodic && k + 1 == intervals ? 0 : k + 1;
    if (c == k) weight = std::max(weight, 1 - share);
    if (c == last) weight = std::max(weight, share);
  }
  return weight;
}

/// Trilinear interpolation from coarse to fine nodes by hat functions; constrained components of either are left out.
inline Eigen::MatrixXd dense_prolongation(BoxGrid const& fine, std::vector<std::uint8_t> const& fine_mask,
                                          BoxGrid const& coarse, std::vector<std::uint8_t> const& coarse_mask,
                                          Factors const& factor) {
  index_t const nodes = fine.node_count(), coarse_nodes = coarse.node_count();
  Eigen::MatrixXd p = Eigen::MatrixXd::Zero(3 * nodes, 3 * coarse_nodes);
  for (index_t i = 0; i < nodes; ++i)
    for (index_t c = 0; c < coarse_nodes; ++c) {
      double weight = 1;
      for (std::size_t axis = 0; axis < 3; ++axis)
        weight *= hat(fine.cells()[axis], fine.periodic()[axis], factor[axis], fine.node_indices(i)[axis],
                      coarse.node_indices(c)[axis]);
      for (int d = 0; d < 3; ++d)
        if (!is_fixed(fine_mask, i, d) && !is_fixed(coarse_mask, c, d)) p(i + d * nodes, c + d * coarse_nodes) = weight;
    }
  return p;
}

/// The next coarser grid.
inline BoxGrid coarsened(BoxGrid const& grid, Factors const& factor) {
  Index3 cells = grid.cells();
  Vec3 lengths{};
  for (std::size_t axis = 0; axis < 3; ++axis) {
    cells[axis] = (cells[axis] + factor[axis] - 1) / factor[axis];
    lengths[axis] = grid.spacing()[axis] * factor[axis] * static_cast<double>(cells[axis]);
  }
  return BoxGrid(cells, lengths, grid.periodic());
}

/// Moduli drawn log-uniformly from [1e-9, 1].
inline std::vector<double> log_uniform_moduli(index_t count, unsigned seed) {
  auto values = random_values(count, seed, -9, 0);
  for (auto& value : values) value = static_cast<double>(static_cast<float>(std::pow(10.0, value)));
  return values;
}

/// A stencil with its storage.
template <class Space>
struct Stencil {
  using memory_space = typename Space::memory_space;
  using float_view = Kokkos::View<float*, memory_space>;
  BoxGrid grid;
  index_t margin;
  detail::StencilData data;
  float_view blocks, row_sum, diagonal, inverse;
  Kokkos::View<std::uint8_t*, memory_space> flags;  // near a constraint

  Stencil(Space const& space, BoxGrid const& at) : grid(at), margin(detail::stencil_margin(at)) {
    index_t const nodes = grid.node_count();
    data.box = detail::NodeBox(grid);
    data.nodes = static_cast<std::uint32_t>(nodes);
    data.stride = nodes + margin;
    blocks = allocate<float_view>(space, "blocks", 9 * detail::forward_blocks * data.stride);
    row_sum = allocate<float_view>(space, "row_sum", 9 * nodes);
    diagonal = allocate<float_view>(space, "diagonal", 6 * nodes);
    inverse = allocate<float_view>(space, "inverse", 6 * nodes);
    flags = allocate<decltype(flags)>(space, "flags", nodes);
    space.fence();
    data.blocks = blocks.data() + margin;
    data.row_sum = row_sum.data();
    data.diagonal = diagonal.data();
    data.inverse = inverse.data();
  }

  /// What the stencil stands for, in FP64: blocks as stored, diagonal block R - sum of them. `absolute`: the same with
  /// absolute values all along, the bound of the rounding of a product. Not a number where a product would read
  /// anything but zero beyond the grid.
  Eigen::MatrixXd dense(bool absolute = false) const {
    auto const rows = to_host(row_sum), stored = to_host(blocks);
    index_t const nodes = grid.node_count();
    Index3 const m = grid.nodes();
    bool const periodic = data.box.periodic[0] || data.box.periodic[1] || data.box.periodic[2];
    Eigen::MatrixXd a = Eigen::MatrixXd::Zero(3 * nodes, 3 * nodes);
    for (index_t node = 0; node < nodes; ++node) {
      Index3 const p = grid.node_indices(node);
      for (int d = 0; d < 3; ++d)
        for (int e = 0; e < 3; ++e) {
          double const sum = rows[static_cast<std::size_t>((3 * d + e) * nodes + node)];
          a(node + d * nodes, node + e * nodes) += absolute ? std::abs(sum) : sum;
        }
      for (int position = 0; position < 27; ++position) {
        if (position == 13) continue;
        Index3 const s{position % 3 - 1, position / 3 % 3 - 1, position / 9 - 1};
        Index3 at{p[0] + s[0], p[1] + s[1], p[2] + s[2]};
        index_t neighbour = node + s[0] + m[0] * (s[1] + m[1] * s[2]);
        bool inside = true;
        for (std::size_t axis = 0; axis < 3; ++axis) {
          if (grid.periodic()[axis]) at[axis] = (at[axis] + m[axis]) % m[axis];
          inside = inside && at[axis] >= 0 && at[axis] < m[axis];
        }
        if (inside) neighbour = grid.node_index(at[0], at[1], at[2]);
        if (!inside && periodic) continue;
        for (int d = 0; d < 3; ++d)
          for (int e = 0; e < 3; ++e) {
            index_t const entry = position > 13 ? (9 * (position - 14) + 3 * d + e) * data.stride + node
                                                : (9 * (12 - position) + 3 * e + d) * data.stride + neighbour;
            double const value = stored[static_cast<std::size_t>(margin + entry)];
            if (!inside) {
              if (value != 0) a(node + d * nodes, node + e * nodes) = NAN;
              continue;
            }
            a(node + d * nodes, neighbour + e * nodes) += absolute ? std::abs(value) : value;
            a(node + d * nodes, node + e * nodes) += absolute ? std::abs(value) : -value;
          }
      }
    }
    return a;
  }
};

/// Assembles the stencil with the nodes near constraints found as multigrid does.
template <class Space, class Galerkin>
void assemble(Space const& space, Galerkin const& galerkin, Stencil<Space> const& stencil) {
  Kokkos::parallel_for("test::flag", range(space, stencil.grid.node_count()),
                       detail::FlagConstrained<Galerkin>{galerkin, stencil.flags.data()});
  auto const flags = to_host(stencil.flags);
  std::vector<std::uint32_t> listed;
  for (std::size_t node = 0; node < flags.size(); ++node)
    if (flags[node] != 0) listed.push_back(static_cast<std::uint32_t>(node));
  using listed_view = Kokkos::View<std::uint32_t*, typename Space::memory_space>;
  auto const nodes = to_device<listed_view>(space, listed, static_cast<index_t>(listed.size()));
  detail::assemble_stencil("test::assemble", space, galerkin, stencil.data, nodes);
  space.fence();
}

/// A nodal vector with the zeros before and behind each component that products of stencils expect.
template <class Space>
struct StencilVector {
  using memory_space = typename Space::memory_space;
  index_t nodes, margin, stride;
  Kokkos::View<float*, memory_space> storage;

  StencilVector(Space const& space, BoxGrid const& grid, std::vector<double> const& values = {})
      : nodes(grid.node_count()), margin(detail::stencil_margin(grid)), stride(nodes + 2 * margin) {
    std::vector<double> padded(static_cast<std::size_t>(3 * stride), 0.0);
    for (std::size_t i = 0; i < values.size(); ++i) {
      index_t const node = static_cast<index_t>(i) % nodes, d = static_cast<index_t>(i) / nodes;
      padded[static_cast<std::size_t>(margin + node + d * stride)] = values[i];
    }
    storage = to_device<decltype(storage)>(space, padded, 3 * stride);
  }
  detail::VectorRef ref() const { return {storage.data() + margin, stride}; }
  std::vector<double> values() const {
    auto const padded = to_host(storage);
    std::vector<double> out;
    for (index_t d = 0; d < 3; ++d)
      for (index_t node = 0; node < nodes; ++node)
        out.push_back(padded[static_cast<std::size_t>(margin + node + d * stride)]);
    return out;
  }
  /// Whether nothing was written outside of the nodes.
  bool margins_are_zero() const {
    auto const padded = to_host(storage);
    for (index_t i = 0; i < 3 * stride; ++i) {
      index_t const at = i % stride - margin;
      if ((at < 0 || at >= nodes) && padded[static_cast<std::size_t>(i)] != 0) return false;
    }
    return true;
  }
};

/// The stencil of cells, on the coarse grid of `factor`.
template <class Space>
Stencil<Space> stencil_of_cells(Space const& space, BoxGrid const& fine, Hex8Matrix const& stiffness,
                                std::vector<double> const& moduli, std::vector<std::uint8_t> const& mask,
                                std::vector<std::uint8_t> const& coarse_mask, Factors const& factor) {
  using memory_space = typename Space::memory_space;
  using float_view = Kokkos::View<float*, memory_space>;
  using byte_view = Kokkos::View<std::uint8_t*, memory_space>;
  BoxGrid const coarse = coarsened(fine, factor);
  std::vector<double> products, entries;
  for (int o = 0; o < 27; ++o) {
    // A child as a box of its own, per axis the lower half of [0, 1], the upper half or all of it.
    Eigen::MatrixXd p = Eigen::MatrixXd::Zero(24, 24), k(24, 24);
    double const low[3] = {0, 0.5, 0}, high[3] = {0.5, 1, 1};
    int const part[3] = {o % 3, o / 3 % 3, o / 9};
    for (int m = 0; m < 8; ++m)
      for (int a = 0; a < 8; ++a) {
        double weight = 1;
        for (int axis = 0; axis < 3; ++axis) {
          double const at = ((m >> axis) & 1) == 1 ? high[part[axis]] : low[part[axis]];
          weight *= ((a >> axis) & 1) == 1 ? at : 1 - at;
        }
        for (int d = 0; d < 3; ++d) p(3 * m + d, 3 * a + d) = weight;
      }
    for (int r = 0; r < 24; ++r)
      for (int c = 0; c < 24; ++c) k(r, c) = stiffness[static_cast<std::size_t>(r)][static_cast<std::size_t>(c)];
    Eigen::MatrixXd const product = p.transpose() * k * p;
    for (int a = 0; a < 8; ++a)
      for (int b = 0; b < 8; ++b)
        for (int d = 0; d < 3; ++d)
          for (int e = 0; e < 3; ++e) products.push_back(product(3 * a + d, 3 * b + e));
  }
  // Where a cell may lie from a node, in its blocks from the centre on: the node is the upper corner of coarse cells
  // behind it and the lower one of those ahead.
  bool const ahead[6] = {false, false, true, true, false, true};
  int const child[6] = {0, 1, 0, 1, 2, 2};
  std::vector<double> coefficients(14 * 216 * 9, 0.0);
  for (int position = 13; position < 27; ++position)
    for (int m = 0; m < 216; ++m) {
      int const at[3] = {m % 6, m / 6 % 6, m / 36};
      int const s[3] = {position % 3 - 1, position / 3 % 3 - 1, position / 9 - 1};
      int a = 0, b = 0;
      bool exists = true;
      for (int axis = 0; axis < 3; ++axis) {
        int const mine = ahead[at[axis]] ? 0 : 1, other = mine + s[axis];
        exists = exists && other >= 0 && other <= 1;
        a |= mine << axis;
        b |= (other & 1) << axis;
      }
      int const o = child[at[0]] + 3 * child[at[1]] + 9 * child[at[2]];
      for (int e = 0; exists && e < 9; ++e)
        coefficients[static_cast<std::size_t>(9 * (216 * (position - 13) + m) + e)] =
            products[static_cast<std::size_t>(9 * (b + 8 * (a + 8 * o)) + e)];
    }
  for (auto const& row : stiffness) entries.insert(entries.end(), row.begin(), row.end());
  auto const moduli_view = to_device<float_view>(space, moduli, fine.cell_count());
  auto const products_view = to_device<float_view>(space, products, static_cast<index_t>(products.size()));
  auto const stiffness_view = to_device<float_view>(space, entries, 576);
  auto const coefficients_view = to_device<float_view>(space, coefficients, static_cast<index_t>(coefficients.size()));
  byte_view mask_view, coarse_view;
  if (!mask.empty()) {
    mask_view = to_device<byte_view>(space, mask, fine.node_count());
    coarse_view = to_device<byte_view>(space, coarse_mask, coarse.node_count());
  }
  detail::CellGalerkin galerkin{};
  galerkin.moduli = moduli_view.data();
  galerkin.mask = mask_view.data();
  galerkin.stiffness = stiffness_view.data();
  galerkin.products = products_view.data();
  galerkin.coefficients = coefficients_view.data();
  galerkin.fine = detail::NodeBox(fine);
  galerkin.coarse = detail::NodeBox(coarse);
  galerkin.coarse_mask = coarse_view.data();
  for (std::size_t axis = 0; axis < 3; ++axis) {
    galerkin.cells[axis] = static_cast<int>(fine.cells()[axis]);
    galerkin.coarse_cells[axis] = static_cast<int>(coarse.cells()[axis]);
    galerkin.factor[axis] = factor[axis];
  }
  Stencil<Space> const stencil(space, coarse);
  assemble(space, galerkin, stencil);
  return stencil;
}

/// The stencil of a finer one.
template <class Space>
Stencil<Space> stencil_of_stencil(Space const& space, Stencil<Space> const& fine,
                                  std::vector<std::uint8_t> const& coarse_mask, Factors const& factor) {
  using byte_view = Kokkos::View<std::uint8_t*, typename Space::memory_space>;
  BoxGrid const coarse = coarsened(fine.grid, factor);
  byte_view coarse_view;
  if (!coarse_mask.empty()) coarse_view = to_device<byte_view>(space, coarse_mask, coarse.node_count());
  detail::StencilGalerkin const galerkin{
      fine.data, {factor[0], factor[1], factor[2]}, detail::NodeBox(coarse), coarse_view.data(), fine.flags.data()};
  Stencil<Space> const stencil(space, coarse);
  assemble(space, galerkin, stencil);
  return stencil;
}

}  // namespace brickwork::test
