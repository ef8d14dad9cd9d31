// SPDX-License-Identifier: BSD-3-Clause
#include "brickwork/operators/detail/elasticity_parity.hpp"

#include "brickwork/core/instantiate.hpp"

namespace brickwork::detail {

namespace {

template <class ExecutionSpace, class Scalar>
class ParityBody : public ElasticityBody<ExecutionSpace, Scalar> {
 public:
  ParityBody(ExecutionSpace const& space, BoxGrid const& grid) {
    auto const data = elasticity_data<Scalar>(grid, Hex8Matrix{}, ParityBlocks{});
    fused_ = make_fused_parity<ExecutionSpace, Scalar>(space, data);
    if constexpr (std::is_same_v<Scalar, float>) mixed_ = make_mixed_parity<ExecutionSpace>(space, data);
  }
  void apply(ExecutionSpace const& space, ElasticityData<Scalar> const& data,
             Operands<Scalar> const& x) const override {
    fused_->run(space, data, StoreProduct<Scalar>{x.u, x.w, x.stride_u, x.stride_w, 0, 0}, 1);
  }
  FusedElasticity<ExecutionSpace, Scalar> const* fused() const override { return fused_.get(); }
  MixedElasticity<ExecutionSpace> const* mixed() const override { return mixed_.get(); }

 private:
  std::unique_ptr<FusedElasticity<ExecutionSpace, Scalar>> fused_;
  std::unique_ptr<MixedElasticity<ExecutionSpace>> mixed_;
};

}  // namespace

template <class ExecutionSpace, class Scalar>
ElasticityBodyPointer<ExecutionSpace, Scalar> make_parity(ExecutionSpace const& space, BoxGrid const& grid) {
  return std::make_unique<ParityBody<ExecutionSpace, Scalar>>(space, grid);
}

#define BRICKWORK_INSTANTIATE(SPACE)                                                                    \
  template ElasticityBodyPointer<SPACE, float> make_parity<SPACE, float>(SPACE const&, BoxGrid const&); \
  template ElasticityBodyPointer<SPACE, double> make_parity<SPACE, double>(SPACE const&, BoxGrid const&);
BRICKWORK_FOR_EACH_EXECUTION_SPACE(BRICKWORK_INSTANTIATE)
#undef BRICKWORK_INSTANTIATE

}  // namespace brickwork::detail
