// SPDX-License-Identifier: BSD-3-Clause
// The kernels that work cell by cell and add to w atomically: fused_scatter, fused_scatter_table and three_stage.
#include <limits>

#include "brickwork/core/check.hpp"
#include "brickwork/core/instantiate.hpp"
#include "brickwork/operators/detail/elasticity_body.hpp"
#include "brickwork/operators/detail/elasticity_fused_scatter.hpp"
#include "brickwork/operators/detail/elasticity_three_stage.hpp"

namespace brickwork::detail {

namespace {

template <class ExecutionSpace, class Scalar, class Dofs>
void apply_fused(ExecutionSpace const& space, ElasticityData<Scalar> const& data, Dofs const& dofs_u,
                 Dofs const& dofs_w, index_t cells, Operands<Scalar> const& vectors) {
  clear_components(space, data, vectors.stride_w, vectors.w);
  if (data.mask == nullptr) {
    apply_fused_scatter<false>(space, data, dofs_u, dofs_w, cells, vectors.u, vectors.w);
    return;
  }
  apply_fused_scatter<true>(space, data, dofs_u, dofs_w, cells, vectors.u, vectors.w);
  restore_constrained(space, data, vectors.stride_u, vectors.stride_w, vectors.u, vectors.w);
}

template <class ExecutionSpace, class Scalar>
class FusedScatterBody : public ElasticityBody<ExecutionSpace, Scalar> {
 public:
  explicit FusedScatterBody(BoxGrid const& grid) : cells_(grid.cell_count()) {}

  void apply(ExecutionSpace const& space, ElasticityData<Scalar> const& data,
             Operands<Scalar> const& vectors) const override {
    apply_fused(space, data, GridDofs<Scalar>{data, vectors.stride_u}, GridDofs<Scalar>{data, vectors.stride_w}, cells_,
                vectors);
  }

 private:
  index_t cells_;
};

template <class ExecutionSpace, class Scalar>
class FusedScatterTableBody : public ElasticityBody<ExecutionSpace, Scalar> {
 public:
  explicit FusedScatterTableBody(BoxGrid const& grid) : cells_(grid.cell_count()), stride_(grid.node_count()) {
    constexpr index_t largest = std::numeric_limits<std::int32_t>::max();
    BRICKWORK_REQUIRE(grid.dof_count() <= largest, "kernel fused_scatter_table: the grid has ", grid.dof_count(),
                      " degrees of freedom; the 32-bit connectivity table reaches ", largest,
                      " (fused_scatter computes the connectivity and has no such limit)");
    table_ = allocate_uninitialized<Table>("brickwork::ElasticityOperator::dof_table",
                                           static_cast<std::size_t>(24 * cells_));
    ExecutionSpace const space;
    fill_dof_table(space, elasticity_data<Scalar>(grid, Hex8Matrix{}, ParityBlocks{}), stride_, table_.data());
    fence(space, "brickwork::ElasticityOperator::dof_table");  // apply may run on another instance
  }

  void apply(ExecutionSpace const& space, ElasticityData<Scalar> const& data,
             Operands<Scalar> const& vectors) const override {
    BRICKWORK_REQUIRE(vectors.stride_u == stride_ && vectors.stride_w == stride_,
                      "kernel fused_scatter_table: the components of u and w lie ", vectors.stride_u, " and ",
                      vectors.stride_w, " values apart; its connectivity table is for vectors without padding, ",
                      stride_, " (the number of nodes)");
    TableDofs const dofs{table_.data()};
    apply_fused(space, data, dofs, dofs, cells_, vectors);
  }

  index_t bytes() const override { return static_cast<index_t>(table_.span() * sizeof(std::int32_t)); }

 private:
  using Table = Kokkos::View<std::int32_t*, typename ExecutionSpace::memory_space>;
  index_t cells_;
  index_t stride_;
  Table table_;
};

template <class ExecutionSpace, class Scalar>
class ThreeStageBody : public ElasticityBody<ExecutionSpace, Scalar> {
 public:
  explicit ThreeStageBody(BoxGrid const& grid)
      : cells_(grid.cell_count()),
        local_u_(workspace("brickwork::ElasticityOperator::local_u")),
        local_w_(workspace("brickwork::ElasticityOperator::local_w")) {}

  void apply(ExecutionSpace const& space, ElasticityData<Scalar> const& data,
             Operands<Scalar> const& vectors) const override {
    GridDofs<Scalar> const dofs_u{data, vectors.stride_u}, dofs_w{data, vectors.stride_w};
    if (data.mask == nullptr) {
      three_stage_gather<false>(space, data, dofs_u, cells_, vectors.u, local_u_.data());
    } else {
      three_stage_gather<true>(space, data, dofs_u, cells_, vectors.u, local_u_.data());
    }
    three_stage_product(space, data, cells_, local_u_.data(), local_w_.data());
    clear_components(space, data, vectors.stride_w, vectors.w);
    three_stage_scatter(space, dofs_w, cells_, local_w_.data(), vectors.w);
    restore_constrained(space, data, vectors.stride_u, vectors.stride_w, vectors.u, vectors.w);
  }

  index_t bytes() const override { return static_cast<index_t>((local_u_.span() + local_w_.span()) * sizeof(Scalar)); }

 private:
  using Workspace = Kokkos::View<Scalar*, typename ExecutionSpace::memory_space>;
  Workspace workspace(char const* label) const {
    return allocate_uninitialized<Workspace>(label, static_cast<std::size_t>(24 * cells_));
  }
  index_t cells_;
  Workspace local_u_, local_w_;
};

}  // namespace

template <class ExecutionSpace, class Scalar>
ElasticityBodyPointer<ExecutionSpace, Scalar> make_cell_kernel(ElasticityKernel kernel, BoxGrid const& grid) {
  switch (kernel) {
    case ElasticityKernel::fused_scatter:
      return std::make_unique<FusedScatterBody<ExecutionSpace, Scalar>>(grid);
    case ElasticityKernel::fused_scatter_table:
      return std::make_unique<FusedScatterTableBody<ExecutionSpace, Scalar>>(grid);
    case ElasticityKernel::three_stage:
      return std::make_unique<ThreeStageBody<ExecutionSpace, Scalar>>(grid);
    default:
      throw InputError(concatenate("make_cell_kernel: ", to_string(kernel), " does not work cell by cell"));
  }
}

#define BRICKWORK_INSTANTIATE(SPACE)                                                                      \
  template ElasticityBodyPointer<SPACE, float> make_cell_kernel<SPACE>(ElasticityKernel, BoxGrid const&); \
  template ElasticityBodyPointer<SPACE, double> make_cell_kernel<SPACE>(ElasticityKernel, BoxGrid const&);
BRICKWORK_FOR_EACH_EXECUTION_SPACE(BRICKWORK_INSTANTIATE)
#undef BRICKWORK_INSTANTIATE

}  // namespace brickwork::detail
