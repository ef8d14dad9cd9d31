// SPDX-License-Identifier: BSD-3-Clause
// Smoothers of Hermite forms on one level with cell-wise vectors: Chebyshev-Jacobi and multiplicative vertex blocks.
//
// Both take a residual f - A u from cell-wise dual vectors and change the primal vector u by a C1 field: all copies of
// an unknown by the same amount. Fixed unknowns (boundary and refinement edges, both trace layers) keep their values,
// but count in A u.
//
// Chebyshev-Jacobi, interval [a, b] of D^-1 A, theta = (b + a) / 2, delta = (b - a) / 2, sigma = theta / delta:
//   d_1 = D^-1 r / theta, rho_1 = 1 / sigma;  rho_k+1 = 1 / (2 sigma - rho_k),
//   d_k+1 = rho_k+1 rho_k d_k + 2 rho_k+1 / delta D^-1 r,  u += d
// Per stage: the operator's residual (1536 bytes per cell for Dim = 3), then either
//   passes    (the source's) Dim passes of direct stiffness summation and a pointwise update with a stored D^-1:
//             1024 each, 512 for r, 512 for D^-1, 1024 for d and u each;
//   vertices  one kernel that sums r around each vertex, corrects its unknowns and writes the copies of u: r once,
//             d (kept per vertex) and one copy of u, 64 each, read; d (64) and u (512) written: 1216 bytes.
//
// Vertex blocks: the unknowns of a vertex v whose cells all exist are corrected by the inverse of their block P of A,
// u_v += omega P^-1 (f - A u)_v, in 2^Dim colours by the parity of the vertex' position: vertices of a colour share no
// cell, so that they are independent, and colours follow each other. In coordinates that point away from v, its cells
// all have the element matrix A, since it commutes with reflections. With v_n the values of cell n so reflected,
//   (A u)_v[m] = sum_j A[m][j] sum_n s_n(m) s_n(j) v_n[j],   s_n = product of (-1)^derivative over axes with n below v
// where j runs over the unknowns of one cell and only the 2^Dim rows m of A at its corner count: butterflies over the
// cells, then 2^Dim 4^Dim multiply-adds instead of 2^Dim 2^Dim 4^Dim. The same reflections make P diagonal.
// One kernel per colour, contiguous layout: a warp (Dim = 2: a quarter of one) has a vertex, a lane two adjacent
// unknowns j of all its cells. Per vertex 2^Dim cells are read whole (512 bytes each), and of f, and of u again to be
// written, 64 bytes each in four sectors of 32.
//
// No atomics; bitwise repeatable.
// Source: "Matrix-Free Local Multigrid for Hermite Discretizations on GPUs", sections 5.1 and 5.2 (Algorithm 2), whose
// patch kernel evaluates the eight cells in two-axis even-odd form.
#pragma once

#include "brickwork/operators/hermite_cell_operator.hpp"

namespace brickwork {

template <class ExecutionSpace, int Dim>
class HermiteCellChebyshev {
 public:
  using memory_space = typename ExecutionSpace::memory_space;
  using operator_type = HermiteCellOperator<ExecutionSpace, Dim>;
  using adjacency_type = CellAdjacency<memory_space, Dim>;

  /// \param fixed  per vertex, the unknowns that keep their values
  /// \param lower, upper  the interval, 0 < lower < upper
  /// \param method  `passes` needs the unknowns of vertices with missing cells fixed where the present ones are no box
  /// \throws InputError for extents or an interval that do not fit \throws OutOfMemory
  HermiteCellChebyshev(ExecutionSpace const& space, operator_type const& a, adjacency_type const& adjacency,
                       VertexMask<memory_space> const& fixed, double lower, double upper,
                       SummationMethod method = SummationMethod::vertices);

  /// `stages` stages for A u = f from u. \throws InputError for extents that do not fit, and for stages < 0
  void smooth(ExecutionSpace const& space, CellDual<memory_space, Dim> const& f, CellPrimal<memory_space, Dim> const& u,
              int stages) const;
  /// The same from u = 0, whatever u holds: the first stage needs no product.
  void smooth_from_zero(ExecutionSpace const& space, CellDual<memory_space, Dim> const& f,
                        CellPrimal<memory_space, Dim> const& u, int stages) const;

  /// Bytes of a smoother's vectors on a level with the method `vertices`.
  static index_t bytes(GridLevel<memory_space, Dim> const& level);

 private:
  void run(ExecutionSpace const& space, CellDual<memory_space, Dim> const& f, CellPrimal<memory_space, Dim> const& u,
           int stages, bool from_zero) const;

  operator_type a_;
  adjacency_type adjacency_;
  VertexMask<memory_space> fixed_;
  double lower_, upper_;
  SummationMethod method_;
  CellDual<memory_space, Dim> residual_;
  // passes: the correction d and D^-1, cell-wise
  CellPrimal<memory_space, Dim> correction_, inverse_diagonal_;
  // vertices: d per vertex
  Kokkos::View<double * [1 << Dim], Kokkos::LayoutLeft, memory_space> vertex_correction_;
};

enum class ColorOrder { forward, reversed };

template <class ExecutionSpace, int Dim>
class HermitePatchSmoother {
 public:
  static constexpr int colors = 1 << Dim;
  using memory_space = typename ExecutionSpace::memory_space;
  using dual_type = CellDual<memory_space, Dim, CellLayout::contiguous>;
  using primal_type = CellPrimal<memory_space, Dim, CellLayout::contiguous>;

  /// Lists the vertices with all their cells, colour by colour; waits for the device.
  /// \param element  the element matrix, row-major \throws InputError for one that does not commute with reflections,
  /// or whose diagonal is not positive \throws OutOfMemory
  HermitePatchSmoother(ExecutionSpace const& space, CellAdjacency<memory_space, Dim> const& adjacency,
                       std::vector<double> const& element);

  /// One multiplicative sweep over the colours for A u = f; the reversed one is the adjoint of the forward one.
  /// \throws InputError for extents that do not fit
  void sweep(ExecutionSpace const& space, dual_type const& f, primal_type const& u, ColorOrder order,
             double omega = 1) const;

  /// Measures addressing alone: the same launches and cells, but u += omega f on every cell of every patch, stored
  /// whole.
  void addressing_control(ExecutionSpace const& space, dual_type const& f, primal_type const& u, double omega) const;

  index_t patches() const { return first_[colors]; }
  /// Cells that a sweep visits, each as often as it does.
  index_t visits() const { return patches() * (1 << Dim); }

 private:
  index_t cells_;
  std::array<index_t, colors + 1> first_{};  ///< patches of each colour
  /// Cells of a patch, cell n as GridLevel::vertex_cells counts them.
  Kokkos::View<index_t * [1 << Dim], Kokkos::LayoutRight, memory_space> patch_cells_;
  Kokkos::View<double*, Kokkos::LayoutLeft, memory_space> rows_;  ///< of A at corner 0, [m][j]
  std::array<double, 1 << Dim> inverse_block_{};
};

}  // namespace brickwork
