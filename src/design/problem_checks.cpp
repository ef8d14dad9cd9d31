// SPDX-License-Identifier: BSD-3-Clause
#include "problem_checks.hpp"

#include <cmath>

#include "brickwork/core/check.hpp"
#include "brickwork/operators/elasticity_kernel.hpp"

namespace brickwork::detail {

void check_material(double young, double young_min_ratio, double poisson, std::vector<std::string>& warnings) {
  BRICKWORK_REQUIRE(std::isfinite(young) && young > 0, "material.young = ", young, ": must be above 0 and finite");
  BRICKWORK_REQUIRE(std::isfinite(young_min_ratio) && young_min_ratio > 0 && young_min_ratio < 1,
                    "material.young_min_ratio = ", young_min_ratio, ": must lie in (0, 1)");
  BRICKWORK_REQUIRE(poisson != 0.5, "material.poisson = 0.5: incompressible material is not supported, must be < 0.5");
  BRICKWORK_REQUIRE(std::isfinite(poisson) && poisson > -1 && poisson < 0.5, "material.poisson = ", poisson,
                    ": must lie in (-1, 0.5)");
  if (poisson >= 0.49) {
    warnings.push_back(
        concatenate("material.poisson = ", poisson,
                    ": trilinear elements lock volumetrically this near to 0.5; the structure appears too stiff"));
  }
}

void check_stages(Schedule const& s, double radius_unit, std::vector<std::string>& warnings) {
  BRICKWORK_REQUIRE(s.steps >= 1, "schedule.steps = ", s.steps, ": must be at least 1");
  BRICKWORK_REQUIRE(!s.stages.empty(), "schedule: has no stages");
  int next = 1;
  bool warned = false;
  for (std::size_t i = 0; i < s.stages.size(); ++i) {
    ScheduleStage const& stage = s.stages[i];
    std::string const subject = concatenate("schedule.stage ", i + 1);
    BRICKWORK_REQUIRE(stage.first_step == next && stage.last_step >= stage.first_step, subject, ": covers steps ",
                      stage.first_step, " to ", stage.last_step,
                      ", but stages must follow one another; this one must begin at step ", next);
    next = stage.last_step + 1;
    BRICKWORK_REQUIRE(std::isfinite(stage.penalization) && stage.penalization >= 1, subject, ": penalization ",
                      stage.penalization, " must be at least 1");
    BRICKWORK_REQUIRE(std::isfinite(stage.beta) && stage.beta > 0, subject, ": beta ", stage.beta,
                      " must be above 0 and finite");
    BRICKWORK_REQUIRE(stage.move > 0 && stage.move <= 1, subject, ": move ", stage.move, " must lie in (0, 1]");
    BRICKWORK_REQUIRE(std::isfinite(stage.radius) && stage.radius >= 0, subject, ": radius ", stage.radius,
                      " must be at least 0 and finite");
    double const cells = stage.radius / radius_unit;
    if (cells <= 1 && !warned) {
      warnings.push_back(
          concatenate(subject, ": radius is ", cells, " cells, filter inactive (it needs more than 1 cell)"));
      warned = true;
    }
  }
  BRICKWORK_REQUIRE(next - 1 == s.steps, "schedule.steps = ", s.steps, ": the stages cover steps 1 to ", next - 1);
}

void check_solver(SolverSettings const& s) {
  BRICKWORK_REQUIRE(s.tolerance > 0 && s.tolerance < 1, "solver.tolerance = ", s.tolerance, ": must lie in (0, 1)");
  BRICKWORK_REQUIRE(s.max_iterations >= 1, "solver.max_iterations = ", s.max_iterations, ": must be at least 1");
  BRICKWORK_REQUIRE(s.smoother_degree >= 1 && s.smoother_degree <= 8, "solver.smoother_degree = ", s.smoother_degree,
                    ": must lie in [1, 8]");
  BRICKWORK_REQUIRE(s.krylov_levels >= -1, "solver.krylov_levels = ", s.krylov_levels, ": must be at least -1");
  try {
    elasticity_kernel_from_string(s.kernel);
  } catch (InputError const& error) {
    throw InputError(std::string("solver.kernel: ") + error.what());
  }
}

}  // namespace brickwork::detail
