// SPDX-License-Identifier: BSD-3-Clause
#include "brickwork/core/instantiate.hpp"
#include "brickwork/operators/detail/elasticity_parity_forms.hpp"

namespace brickwork::detail {

#define BRICKWORK_INSTANTIATE(SPACE)                                                         \
  template std::unique_ptr<FusedElasticity<SPACE, double>> make_fused_parity<SPACE, double>( \
      SPACE const&, ElasticityData<double> const&);
BRICKWORK_FOR_EACH_EXECUTION_SPACE(BRICKWORK_INSTANTIATE)
#undef BRICKWORK_INSTANTIATE

}  // namespace brickwork::detail
