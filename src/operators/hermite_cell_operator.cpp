// SPDX-License-Identifier: BSD-3-Clause
#include "brickwork/operators/hermite_cell_operator.hpp"

#include "brickwork/core/instantiate.hpp"
#include "brickwork/operators/detail/hermite_tensor_cuda.hpp"

namespace brickwork {

namespace detail {

template <class ExecutionSpace, int Dim>
class HermiteCellBody {
 public:
  virtual ~HermiteCellBody() = default;
  /// f = nullptr: the product, else the residual.
  virtual void run(ExecutionSpace const& space, index_t blocks, double const* u, double const* f, double* w) const = 0;
};

}  // namespace detail

namespace {

template <class ExecutionSpace>
inline constexpr bool has_tensor_cores = false;
#if BRICKWORK_FP64_FRAGMENTS()
template <>
inline constexpr bool has_tensor_cores<Kokkos::Cuda> = true;
#endif

template <class ExecutionSpace, int Dim, class Functor>
class CellBody final : public detail::HermiteCellBody<ExecutionSpace, Dim> {
 public:
  CellBody(char const* label, Functor const& functor) : label_(label), functor_(functor) {}
  void run(ExecutionSpace const& space, index_t blocks, double const* u, double const* f, double* w) const override {
    detail::launch_cells<Dim>(label_, space, functor_, blocks, u, f, w);
  }

 private:
  char const* label_;
  Functor functor_;
};

template <class MemorySpace>
using Table = Kokkos::View<double*, Kokkos::LayoutLeft, MemorySpace>;

// Keeps the table that its kernel reads.
template <class ExecutionSpace, int Dim>
class AssembledBody final : public detail::HermiteCellBody<ExecutionSpace, Dim> {
 public:
  explicit AssembledBody(std::vector<double> const& element)
      : table_(upload<Table<typename ExecutionSpace::memory_space>>(element, "brickwork::HermiteCellOperator::table")) {
  }
  void run(ExecutionSpace const& space, index_t blocks, double const* u, double const* f, double* w) const override {
    detail::launch_cells<Dim>("brickwork::HermiteCellOperator::apply::assembled", space,
                              detail::TableProduct<Dim>{table_.data()}, blocks, u, f, w);
  }

 private:
  Table<typename ExecutionSpace::memory_space> table_;
};

#if BRICKWORK_FP64_FRAGMENTS()
template <int Dim, unsigned axes>
class TensorCoreBody final : public detail::HermiteCellBody<Kokkos::Cuda, Dim> {
 public:
  TensorCoreBody(char const* label, std::vector<double> const& element)
      : label_(label),
        fragments_(upload<Table<Kokkos::Cuda::memory_space>>(detail::fragment_blocks<Dim, axes>(element),
                                                             "brickwork::HermiteCellOperator::fragments")) {}
  void run(Kokkos::Cuda const& space, index_t blocks, double const* u, double const* f, double* w) const override {
    detail::launch_tensor_cores<Dim, axes>(label_, space, fragments_.data(), blocks, u, f, w);
  }

 private:
  char const* label_;
  Table<Kokkos::Cuda::memory_space> fragments_;
};
#endif

template <class ExecutionSpace, int Dim>
using BodyPointer = std::shared_ptr<detail::HermiteCellBody<ExecutionSpace, Dim> const>;

template <class ExecutionSpace, int Dim, unsigned axes>
BodyPointer<ExecutionSpace, Dim> even_odd(char const* label, std::vector<double> const& element) {
  using Functor = detail::EvenOdd<Dim, axes>;
  return std::make_shared<CellBody<ExecutionSpace, Dim, Functor>>(
      label, Functor{detail::SectorCoefficients<Dim, axes>(element)});
}

template <class ExecutionSpace, int Dim>
BodyPointer<ExecutionSpace, Dim> make_body(HermiteEvaluation evaluation, std::vector<double> const& element,
                                           HermiteForm const& form, std::array<double, Dim> const& spacing) {
  using Dense = detail::Dense<Dim>;
  using Diagonalized = detail::Diagonalized<Dim>;
  switch (evaluation) {
    case HermiteEvaluation::dense:
      return std::make_shared<CellBody<ExecutionSpace, Dim, Dense>>("brickwork::HermiteCellOperator::apply::dense",
                                                                    Dense{detail::SectorCoefficients<Dim, 0>(element)});
    case HermiteEvaluation::even_odd_1:
      return even_odd<ExecutionSpace, Dim, 1>("brickwork::HermiteCellOperator::apply::even_odd_1", element);
    case HermiteEvaluation::even_odd_2:
      return even_odd<ExecutionSpace, Dim, 3>("brickwork::HermiteCellOperator::apply::even_odd_2", element);
    case HermiteEvaluation::even_odd_3:
      if constexpr (Dim == 3)
        return even_odd<ExecutionSpace, Dim, 7>("brickwork::HermiteCellOperator::apply::even_odd_3", element);
      break;
    case HermiteEvaluation::fdm:
      return std::make_shared<CellBody<ExecutionSpace, Dim, Diagonalized>>(
          "brickwork::HermiteCellOperator::apply::fdm", Diagonalized(hermite_diagonalization<Dim>(form, spacing)));
#if BRICKWORK_FP64_FRAGMENTS()
    case HermiteEvaluation::tensor_core:
      if constexpr (has_tensor_cores<ExecutionSpace>)
        return std::make_shared<TensorCoreBody<Dim, Dim == 3 ? 7 : 1>>(
            "brickwork::HermiteCellOperator::apply::tensor_core", element);
      break;
    case HermiteEvaluation::tensor_core_2:
      if constexpr (has_tensor_cores<ExecutionSpace> && Dim == 3)
        return std::make_shared<TensorCoreBody<Dim, 3>>("brickwork::HermiteCellOperator::apply::tensor_core_2",
                                                        element);
      break;
#endif
    default:
      break;
  }
  return std::make_shared<AssembledBody<ExecutionSpace, Dim>>(element);
}

}  // namespace

template <class ExecutionSpace, int Dim>
HermiteCellOperator<ExecutionSpace, Dim>::HermiteCellOperator(ExecutionSpace const&,
                                                              GridLevel<memory_space, Dim> const& level,
                                                              HermiteForm const& form, HermiteEvaluation evaluation)
    : evaluation_(select_hermite_evaluation(evaluation, Dim, has_tensor_cores<ExecutionSpace>)),
      cells_(level.cell_count) {
  std::array<double, Dim> spacing;
  for (int d = 0; d < Dim; ++d) spacing[d] = level.spacing[d];
  element_ = hermite_element<Dim>(form, spacing);
  body_ = make_body<ExecutionSpace, Dim>(evaluation_, element_, form, spacing);
}

template <class ExecutionSpace, int Dim>
void HermiteCellOperator<ExecutionSpace, Dim>::apply(ExecutionSpace const& space, primal_type const& u,
                                                     dual_type const& w) const {
  BRICKWORK_REQUIRE(u.cells() == cells_ && w.cells() == cells_, "Hermite operator on ", cells_, " cells, vectors of ",
                    u.cells(), " and ", w.cells());
  if (cells_ == 0) return;
  body_->run(space, (cells_ + detail::cell_block - 1) / detail::cell_block, u.values().data(), nullptr,
             w.values().data());
}

template <class ExecutionSpace, int Dim>
void HermiteCellOperator<ExecutionSpace, Dim>::residual(ExecutionSpace const& space, primal_type const& u,
                                                        dual_type const& f, dual_type const& w) const {
  BRICKWORK_REQUIRE(u.cells() == cells_ && f.cells() == cells_ && w.cells() == cells_, "Hermite operator on ", cells_,
                    " cells, vectors of ", u.cells(), ", ", f.cells(), " and ", w.cells());
  if (cells_ == 0) return;
  body_->run(space, (cells_ + detail::cell_block - 1) / detail::cell_block, u.values().data(), f.values().data(),
             w.values().data());
}

#define BRICKWORK_INSTANTIATE(Space)            \
  template class HermiteCellOperator<Space, 2>; \
  template class HermiteCellOperator<Space, 3>;
BRICKWORK_FOR_EACH_EXECUTION_SPACE(BRICKWORK_INSTANTIATE)

}  // namespace brickwork
