// SPDX-License-Identifier: BSD-3-Clause
#include "brickwork/operators/detail/elasticity_assembled.hpp"

#include <limits>

#include "brickwork/core/check.hpp"
#include "brickwork/core/config.hpp"
#include "brickwork/core/instantiate.hpp"
#include "brickwork/operators/detail/elasticity_body.hpp"

#if BRICKWORK_HAS_KOKKOS_KERNELS()
#include <KokkosSparse_CrsMatrix.hpp>
#include <KokkosSparse_spmv.hpp>
#endif

namespace brickwork::detail {

#if BRICKWORK_HAS_KOKKOS_KERNELS()

namespace {

/// True where launches on the instance are ordered with those on the default one.
template <class ExecutionSpace>
bool is_ordered_with_default(ExecutionSpace const&) {
  return true;  // host spaces return when the work is done
}
#if defined(KOKKOS_ENABLE_CUDA)
bool is_ordered_with_default(Kokkos::Cuda const& space) { return space.cuda_stream() == Kokkos::Cuda().cuda_stream(); }
#endif

template <class ExecutionSpace, class Scalar>
class AssembledBody : public ElasticityBody<ExecutionSpace, Scalar> {
 public:
  explicit AssembledBody(BoxGrid const& grid) : rows_(grid.dof_count()) {
    constexpr index_t largest = std::numeric_limits<std::int32_t>::max();
    BRICKWORK_REQUIRE(rows_ <= largest, "kernel assembled: the grid has ", rows_,
                      " degrees of freedom; 32-bit column numbers reach ", largest);
    auto const data = elasticity_data<Scalar>(grid, Hex8Matrix{}, ParityBlocks{});
    auto const nonzeros = static_cast<std::size_t>(box_stencil(data).nonzeros());
    // The largest array first: what cannot be built fails before the device is filled with the rest.
    values_ = allocate_uninitialized<Values>("brickwork::ElasticityOperator::assembled::values", nonzeros);
    auto const columns = allocate_uninitialized<Columns>("brickwork::ElasticityOperator::assembled::columns", nonzeros);
    auto const row_map = allocate_uninitialized<RowMap>("brickwork::ElasticityOperator::assembled::row_map",
                                                        static_cast<std::size_t>(rows_) + 1);
    ExecutionSpace const space;
    fill_assembled_graph(space, data, row_map.data(), columns.data());
    fence(space, "brickwork::ElasticityOperator::assembled::graph");  // update and apply may run on other instances
    auto const order = static_cast<std::int32_t>(rows_);
    matrix_ = Matrix("brickwork::ElasticityOperator::assembled", order, order, nonzeros, values_, row_map, columns);
    bytes_ = static_cast<index_t>(nonzeros * (sizeof(Scalar) + sizeof(std::int32_t)) +
                                  row_map.extent(0) * sizeof(std::size_t));
  }

  void update(ExecutionSpace const& space, ElasticityData<Scalar> const& data) override {
    fill_assembled_values(space, data, values_.data());
    updated_ = true;
  }

  void apply(ExecutionSpace const& space, ElasticityData<Scalar> const&,
             Operands<Scalar> const& vectors) const override {
    BRICKWORK_REQUIRE(updated_, "kernel assembled: call update() after set_moduli() and set_constraints()");
    BRICKWORK_REQUIRE(3 * vectors.stride_u == rows_ && 3 * vectors.stride_w == rows_,
                      "kernel assembled: the components of u and w lie ", vectors.stride_u, " and ", vectors.stride_w,
                      " values apart; the matrix is for vectors without padding, ", rows_ / 3,
                      " (the number of nodes)");
    using U = Kokkos::View<Scalar const*, Kokkos::LayoutLeft, Device, Kokkos::MemoryTraits<Kokkos::Unmanaged>>;
    using W = Kokkos::View<Scalar*, Kokkos::LayoutLeft, Device, Kokkos::MemoryTraits<Kokkos::Unmanaged>>;
    auto const extent = static_cast<std::size_t>(rows_);
    // Kokkos Kernels 3.4 takes no instance and launches on the default one.
    bool const ordered = is_ordered_with_default(space);
    if (!ordered) fence(space, "brickwork::ElasticityOperator::apply::assembled");
    KokkosSparse::spmv("N", Scalar(1), matrix_, U(vectors.u, extent), Scalar(0), W(vectors.w, extent));
    if (!ordered) fence(ExecutionSpace(), "brickwork::ElasticityOperator::apply::assembled");
  }

  index_t bytes() const override { return bytes_; }

 private:
  using Device = Kokkos::Device<ExecutionSpace, typename ExecutionSpace::memory_space>;
  using Matrix = KokkosSparse::CrsMatrix<Scalar, std::int32_t, Device, void, std::size_t>;
  using Values = Kokkos::View<Scalar*, Device>;
  using Columns = Kokkos::View<std::int32_t*, Device>;
  using RowMap = Kokkos::View<std::size_t*, Device>;

  index_t rows_;
  index_t bytes_ = 0;
  bool updated_ = false;
  Values values_;
  Matrix matrix_;
};

}  // namespace

template <class ExecutionSpace, class Scalar>
ElasticityBodyPointer<ExecutionSpace, Scalar> make_assembled(BoxGrid const& grid) {
  return std::make_unique<AssembledBody<ExecutionSpace, Scalar>>(grid);
}

#else

template <class ExecutionSpace, class Scalar>
ElasticityBodyPointer<ExecutionSpace, Scalar> make_assembled(BoxGrid const&) {
  throw InputError("kernel assembled: this build of Brickwork has no Kokkos Kernels, which applies the matrix");
}

#endif

#define BRICKWORK_INSTANTIATE(SPACE)                                                  \
  template ElasticityBodyPointer<SPACE, float> make_assembled<SPACE>(BoxGrid const&); \
  template ElasticityBodyPointer<SPACE, double> make_assembled<SPACE>(BoxGrid const&);
BRICKWORK_FOR_EACH_EXECUTION_SPACE(BRICKWORK_INSTANTIATE)
#undef BRICKWORK_INSTANTIATE

}  // namespace brickwork::detail
