// SPDX-License-Identifier: BSD-3-Clause
// A Hermite operator on one level of an adaptive grid, in vertex-wise storage, with the steps of its smoothers fused
// in.
//
// Vectors of a level hold the 2^Dim unknowns of each vertex once (extents (vertices, unknowns), vertices consecutive).
// A vertex all of whose cells exist on the level is an interior vertex, and all its unknowns are free; the rest is the
// rim. On the rim the boundary conditions of the domain leave some unknowns free where no cell is missing; a vertex
// with a missing cell is at a refinement edge, where a coarser level prescribes the value and the normal derivative on
// every facet (both trace layers), that is all unknowns of the vertex. Smoothers change free unknowns only and read the
// rest.
//
// Interior rows: operators/detail/hermite_star.hpp; rim rows: hermite_rim.hpp.
// Source: "Matrix-Free Local Multigrid for Hermite Discretizations on GPUs", sections 3.3 and 5; the storage is ours.
#pragma once

#include "brickwork/operators/detail/hermite_finish.hpp"
#include "brickwork/operators/detail/hermite_rim.hpp"
#include "brickwork/operators/detail/hermite_star.hpp"
#include "brickwork/operators/hermite_boundary.hpp"
#include "brickwork/operators/hermite_vector.hpp"

namespace brickwork {

/// Unknowns of one level, extents (vertices, 2^Dim).
template <class Scalar, class MemorySpace, int Dim>
using HermiteLevelVector = typename HermitePrimal<Scalar, MemorySpace, Dim>::level_type;

/// Which vertices of a level are treated how; shared by its operators of any precision.
template <class ExecutionSpace, int Dim>
class HermiteSites {
 public:
  using memory_space = typename ExecutionSpace::memory_space;
  using level_type = GridLevel<memory_space, Dim>;
  template <class Value>
  using table = Kokkos::View<Value*, Kokkos::LayoutLeft, memory_space>;

  /// Interior vertices: a box of them, or a table.
  struct Interior {
    bool is_box = false;
    detail::BoxSites<Dim> box{};  ///< where is_box
    table<int> vertices, neighbours;
    index_t count = 0;
    detail::TableSites sites() const { return {vertices.data(), neighbours.data(), count}; }
  };
  struct Rim {
    table<int> vertices, neighbours;
    table<std::uint8_t> cells, free, colours;
    index_t count = 0;
    detail::RimSites sites() const {
      return {{vertices.data(), neighbours.data(), count}, cells.data(), free.data(), colours.data()};
    }
  };

  HermiteSites() = default;
  /// \param coloured  whether the interior is also listed colour by colour, for sweep()
  HermiteSites(ExecutionSpace const& space, level_type const& level, HermiteBoundary<Dim> const& boundary,
               bool coloured);

  level_type level;
  HermiteBoundary<Dim> boundary;
  Interior interior;                        ///< whose cells all exist
  std::array<Interior, 1 << Dim> coloured;  ///< the same by the parities of the coordinates
  Rim rim;                                  ///< the others, but those that the boundary fixes entirely
  bool rim_has_free = false;                ///< some unknown of the rim is free
  Interior leaf_interior;                   ///< whose cells are all leaves
  Rim leaf_rim;                             ///< some of whose cells are leaves
  index_t free_unknowns = 0;
};

template <class ExecutionSpace, class Scalar, int Dim>
class HermiteLevel {
 public:
  using memory_space = typename ExecutionSpace::memory_space;
  using sites_type = HermiteSites<ExecutionSpace, Dim>;
  using vector_type = HermiteLevelVector<Scalar, memory_space, Dim>;
  static constexpr int unknowns = 1 << Dim;

  HermiteLevel() = default;
  /// \throws InputError for a form that hermite_terms() refuses
  HermiteLevel(ExecutionSpace const& space, sites_type const& sites, HermiteForm const& form);

  sites_type const& sites() const { return sites_; }

  /// y = A x with the leaves of the level as domain of integration, on every vertex that touches one but those that the
  /// boundary fixes entirely; other rows of y are left alone.
  void apply_leaves(ExecutionSpace const& space, vector_type const& x, vector_type const& y) const;

  /// y = A x with all cells of the level.
  void apply(ExecutionSpace const& space, vector_type const& x, vector_type const& y) const;

  /// r = b - A x with all cells of the level, also at refinement edges.
  void residual(ExecutionSpace const& space, vector_type const& b, vector_type const& x, vector_type const& r) const;

  /// x = weight D^-1 b where unknowns are free; elsewhere zero, in `other` too.
  void start(ExecutionSpace const& space, double weight, vector_type const& b, vector_type const& x,
             vector_type const& other) const;

  /// to = x + momentum (x - old) + weight D^-1 (b - A x) where unknowns are free; `to` may be `old` but not x; an
  /// empty `old` is zero.
  /// Elsewhere `to` is not touched unless some unknown of the rim is free; then it takes the rim's x.
  void chebyshev_step(ExecutionSpace const& space, double momentum, double weight, vector_type const& b,
                      vector_type const& x, vector_type const& old, vector_type const& to) const;

  /// One multiplicative sweep over the vertices, in place: each takes up the exact correction of its own unknowns
  /// (whose block of A is diagonal, see hermite_star.hpp), colour by colour, the last colour first where `reversed`.
  void sweep(ExecutionSpace const& space, bool reversed, vector_type const& b, vector_type const& x) const;

 private:
  template <class Finish>
  void at_interior(char const* label, ExecutionSpace const& space, typename sites_type::Interior const& interior,
                   vector_type const& x, Finish const& finish) const;
  template <class Finish>
  void at_rim(char const* label, ExecutionSpace const& space, typename sites_type::Rim const& rim, vector_type const& x,
              Finish const& finish) const;
  detail::RimProduct<Scalar, Dim> rim_product(typename sites_type::Rim const& rim, vector_type const& x) const;

  sites_type sites_;
  detail::StarCoefficients<Scalar, Dim> star_;
  std::array<double, 1 << Dim> diagonal_;
  Kokkos::View<Scalar*, memory_space> element_;
};

}  // namespace brickwork
