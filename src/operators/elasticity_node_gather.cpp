// SPDX-License-Identifier: BSD-3-Clause
#include "brickwork/operators/detail/elasticity_node_gather.hpp"

#include "brickwork/core/instantiate.hpp"
#include "brickwork/operators/detail/elasticity_body.hpp"

namespace brickwork::detail {

namespace {

template <bool Masked, class ExecutionSpace, class Scalar>
void apply_node_gather(ExecutionSpace const& space, ElasticityData<Scalar> const& data,
                       Operands<Scalar> const& vectors) {
  Kokkos::parallel_for(
      "brickwork::ElasticityOperator::apply::node_gather", range(space, data.mx * data.my * data.mz),
      ElasticityNodeGather<Scalar, Masked>{data, vectors.u, vectors.w, vectors.stride_u, vectors.stride_w});
}

template <class ExecutionSpace, class Scalar>
class NodeGatherBody : public ElasticityBody<ExecutionSpace, Scalar> {
 public:
  void apply(ExecutionSpace const& space, ElasticityData<Scalar> const& data,
             Operands<Scalar> const& vectors) const override {
    if (data.mask == nullptr) {
      apply_node_gather<false>(space, data, vectors);
    } else {
      apply_node_gather<true>(space, data, vectors);
    }
  }
};

}  // namespace

template <class ExecutionSpace, class Scalar>
ElasticityBodyPointer<ExecutionSpace, Scalar> make_node_gather(BoxGrid const&) {
  return std::make_unique<NodeGatherBody<ExecutionSpace, Scalar>>();
}

#define BRICKWORK_INSTANTIATE(SPACE)                                                    \
  template ElasticityBodyPointer<SPACE, float> make_node_gather<SPACE>(BoxGrid const&); \
  template ElasticityBodyPointer<SPACE, double> make_node_gather<SPACE>(BoxGrid const&);
BRICKWORK_FOR_EACH_EXECUTION_SPACE(BRICKWORK_INSTANTIATE)
#undef BRICKWORK_INSTANTIATE

}  // namespace brickwork::detail
