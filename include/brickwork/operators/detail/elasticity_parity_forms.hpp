// SPDX-License-Identifier: BSD-3-Clause
// Definitions behind detail/elasticity_parity.hpp; included by the sources that instantiate them.
#pragma once

#include "brickwork/operators/detail/elasticity_parity.hpp"
#include "brickwork/operators/detail/elasticity_parity_dispatch.hpp"

namespace brickwork::detail {

template <class ExecutionSpace, class Scalar>
ParityWorkspace<typename ExecutionSpace::memory_space> parity_workspace(ExecutionSpace const& space,
                                                                        ElasticityData<Scalar> const& data) {
  using Workspace = ParityWorkspace<typename ExecutionSpace::memory_space>;
  return {allocate<decltype(Workspace::partials)>(space, "brickwork::ElasticityOperator::parity::partials",
                                                  ParityDispatch<ExecutionSpace, Scalar>::partials(space, data)),
          allocate<decltype(Workspace::finished)>(space, "brickwork::ElasticityOperator::parity::finished",
                                                  Workspace::most_sides)};
}

/// An epilogue with one right-hand side.
template <class ExecutionSpace, class Scalar, class Epilogue>
void apply_parity(ExecutionSpace const& space, ElasticityData<Scalar> const& data, Epilogue const& epilogue,
                  ParityWorkspace<typename ExecutionSpace::memory_space> const& workspace, double* sums = nullptr) {
  apply_parity(space, data, epilogue.u, epilogue.stride_u, 1, 0, epilogue, workspace, sums);
}

template <class ExecutionSpace, class Scalar>
class FusedParity : public FusedElasticity<ExecutionSpace, Scalar> {
 public:
  using Data = ElasticityData<Scalar>;
  FusedParity(ExecutionSpace const& space, Data const& data) : workspace_(parity_workspace(space, data)) {}

  void run(ExecutionSpace const& space, Data const& data, StoreProduct<Scalar> const& epilogue,
           index_t sides) const override {
    apply_parity(space, data, epilogue.u, epilogue.stride_u, sides, epilogue.next_u, epilogue, workspace_, nullptr);
  }
  void run(ExecutionSpace const& space, Data const& data, StoreProductDot<Scalar> const& epilogue, index_t sides,
           double* sums) const override {
    // The workspace has room for some sides at a time.
    constexpr index_t most = decltype(workspace_)::most_sides;
    for (index_t first = 0; first < sides; first += most) {
      auto const some = epilogue.select(first);
      apply_parity(space, data, some.store.u, some.store.stride_u, sides - first < most ? sides - first : most,
                   some.store.next_u, some, workspace_, sums + first);
    }
  }
  void run(ExecutionSpace const& space, Data const& data,
           StoreResidual<Scalar, Scalar, false> const& epilogue) const override {
    apply_parity(space, data, epilogue, workspace_);
  }
  void run(ExecutionSpace const& space, Data const& data, StoreResidual<Scalar, Scalar, true> const& epilogue,
           double* sums) const override {
    apply_parity(space, data, epilogue, workspace_, sums);
  }
  void run(ExecutionSpace const& space, Data const& data, Relaxation<Scalar, true> const& epilogue) const override {
    apply_parity(space, data, epilogue, workspace_);
  }
  void run(ExecutionSpace const& space, Data const& data, Relaxation<Scalar, false> const& epilogue) const override {
    apply_parity(space, data, epilogue, workspace_);
  }

 private:
  ParityWorkspace<typename ExecutionSpace::memory_space> workspace_;
};

template <class ExecutionSpace>
class MixedParity : public MixedElasticity<ExecutionSpace> {
 public:
  using Data = ElasticityData<float>;
  MixedParity(ExecutionSpace const& space, Data const& data) : workspace_(parity_workspace(space, data)) {}

  void run(ExecutionSpace const& space, Data const& data, StoreProduct<double> const& epilogue) const override {
    apply_parity(space, data, epilogue, workspace_);
  }
  void run(ExecutionSpace const& space, Data const& data,
           StoreResidual<double, double, false> const& epilogue) const override {
    apply_parity(space, data, epilogue, workspace_);
  }
  void run(ExecutionSpace const& space, Data const& data, StoreResidual<double, double, true> const& epilogue,
           double* sums) const override {
    apply_parity(space, data, epilogue, workspace_, sums);
  }

 private:
  ParityWorkspace<typename ExecutionSpace::memory_space> workspace_;
};

template <class ExecutionSpace, class Scalar>
std::unique_ptr<FusedElasticity<ExecutionSpace, Scalar>> make_fused_parity(ExecutionSpace const& space,
                                                                           ElasticityData<Scalar> const& data) {
  return std::make_unique<FusedParity<ExecutionSpace, Scalar>>(space, data);
}
template <class ExecutionSpace>
std::unique_ptr<MixedElasticity<ExecutionSpace>> make_mixed_parity(ExecutionSpace const& space,
                                                                   ElasticityData<float> const& data) {
  return std::make_unique<MixedParity<ExecutionSpace>>(space, data);
}

}  // namespace brickwork::detail
