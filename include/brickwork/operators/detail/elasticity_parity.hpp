// SPDX-License-Identifier: BSD-3-Clause
// The parity kernel and all its fused forms behind the interface of ElasticityBody.
//
// The forms are compiled in three sources (src/operators/elasticity_parity_*.cpp): FP32, FP64, and FP32 products of
// FP64 vectors.
#pragma once

#include "brickwork/operators/detail/elasticity_body.hpp"

namespace brickwork::detail {

template <class ExecutionSpace, class Scalar>
std::unique_ptr<FusedElasticity<ExecutionSpace, Scalar>> make_fused_parity(ExecutionSpace const& space,
                                                                           ElasticityData<Scalar> const& data);
template <class ExecutionSpace>
std::unique_ptr<MixedElasticity<ExecutionSpace>> make_mixed_parity(ExecutionSpace const& space,
                                                                   ElasticityData<float> const& data);

}  // namespace brickwork::detail
