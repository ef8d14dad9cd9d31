// SPDX-License-Identifier: BSD-3-Clause
// Checks that the problems of several drivers share; messages begin with their subject ("solver.tolerance"), by which
// configuration readers find the line that it came from. Private to src/design.
#pragma once

#include <string>
#include <vector>

#include "brickwork/design/simp_problem.hpp"

namespace brickwork::detail {

/// \throws InputError
void check_material(double young, double young_min_ratio, double poisson, std::vector<std::string>& warnings);

/// Stages follow one another from step 1 to the schedule's last; their parameters are in range.
/// \param radius_unit cells' side in the unit of the radii
/// \throws InputError
void check_stages(Schedule const& schedule, double radius_unit, std::vector<std::string>& warnings);

/// \throws InputError
void check_solver(SolverSettings const& settings);

}  // namespace brickwork::detail
