// SPDX-License-Identifier: BSD-3-Clause
#include "brickwork/core/check.hpp"
#include "runs.hpp"
namespace brickwork::driver {
int run_design(HomogenizeConfig const&, std::vector<float>, bool) { throw Error("not yet"); }
}  // namespace brickwork::driver
