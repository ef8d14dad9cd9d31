// SPDX-License-Identifier: BSD-3-Clause
#include "brickwork/design/simp_design.hpp"

#include "brickwork/core/check.hpp"
#include "support/catch.hpp"
#include "support/devices.hpp"
#include "support/reference.hpp"

using namespace brickwork;
using namespace brickwork::test;

namespace {

ScheduleStage const stage{1, 1, 3.5, 4.0, 0.15, 1.5};
Index3 const cells_per_axis{9, 6, 5};

SimpProblem problem_of(double volume_fraction) {
  SimpProblem problem;
  problem.volume_fraction = volume_fraction;
  problem.schedule.density_lower_bound = 1e-3;
  return problem;
}

double projected(double rho, double beta) {
  double const lower = std::tanh(beta * 0.5);
  return (lower + std::tanh(beta * (rho - 0.5))) / (2 * lower);
}
double projected_slope(double rho, double beta) {
  double const t = std::tanh(beta * (rho - 0.5));
  return beta * (1 - t * t) / (2 * std::tanh(beta * 0.5));
}

// A design, energies and what an update makes of them.
template <class Space, class Real>
struct Update {
  using field = CellField<Real, typename Space::memory_space>;
  Space space;
  BoxGrid grid{cells_per_axis, {1, 1, 1}};
  index_t cells = grid.cell_count();
  std::vector<double> start = rounded<float>(random_values(cells, 51, 0.05, 0.95));
  std::vector<double> energies;
  std::vector<std::uint8_t> marks;
  std::vector<double> physical, compliance, volume, result;
  DensityMeasures before, after;
  DesignUpdate update;

  Update(double volume_fraction, ScheduleStage const& parameters, std::vector<double> const& energy,
         bool passive = false, int updates = 1)
      : energies(energy), marks(static_cast<std::size_t>(cells), 0) {
    if (passive) marks[7] = marks[8] = 1, marks[100] = 2;
    for (std::size_t i = 0; i < marks.size(); ++i)
      if (marks[i] != 0) start[i] = marks[i] == 1 ? 1 : 0;
    using marks_type = typename SimpDesign<Space, Real>::marks_type;
    SimpDesign<Space, Real> design(space, grid, design_settings(problem_of(volume_fraction)),
                                   passive ? to_device<marks_type>(space, marks, cells) : marks_type{});
    design.set(space, to_device<field>(space, start, cells));
    design.set_stage(space, parameters);
    auto const new_field = [&] { return allocate<field>(space, "field", cells); };
    auto const p = new_field(), v = new_field(), g = new_field();
    for (int i = 0; i < updates; ++i) {
      auto const c = to_device<field>(space, energies, cells);
      before = design.project(space, p);
      physical = to_host(p);
      design.sensitivities(space, p, c, v);
      compliance = to_host(c);
      volume = to_host(v);
      update = design.update(space, c, v, {}, g);
    }
    result = to_host(design.variable());
    after = design.project(space, p);
  }
};

std::vector<double> energies_over(double orders) {
  auto energies = random_values(cells_per_axis[0] * cells_per_axis[1] * cells_per_axis[2], 52, -0.5, 0.5);
  for (double& energy : energies) energy = std::pow(10.0, orders * energy);
  return energies;
}

// The same in plain loops: dense filter matrix, optimality criteria by bisection in log space.
std::vector<double> reference_update(BoxGrid const& grid, std::vector<double> const& start,
                                     std::vector<double> const& energies, std::vector<std::uint8_t> const& marks,
                                     double target) {
  auto const cells = static_cast<std::size_t>(grid.cell_count());
  Index3 const n = grid.cells();
  auto const position = [&](std::size_t i) {
    auto const cell = static_cast<index_t>(i);
    return Vec3{double(cell % n[0]), double((cell / n[0]) % n[1]), double(cell / n[0] / n[1])};
  };
  std::vector<std::vector<double>> h(cells, std::vector<double>(cells));
  for (std::size_t i = 0; i < cells; ++i) {
    double total = 0;
    for (std::size_t j = 0; j < cells; ++j) {
      Vec3 const a = position(i), b = position(j);
      h[i][j] = std::max(0.0, stage.radius - std::hypot(a[0] - b[0], a[1] - b[1], a[2] - b[2]));
      total += h[i][j];
    }
    for (double& weight : h[i]) weight /= total;
  }
  auto const filtered = [&](std::vector<double> const& x, std::size_t i) {
    double sum = 0;
    for (std::size_t j = 0; j < cells; ++j) sum += h[i][j] * x[j];
    return sum;
  };
  std::vector<double> dc(cells, 0.0), dv(cells, 0.0);
  for (std::size_t i = 0; i < cells; ++i) {
    if (marks[i] != 0) continue;
    double const rho = filtered(start, i), slope = projected_slope(rho, stage.beta);
    double const c = -stage.penalization * std::pow(projected(rho, stage.beta), stage.penalization - 1) * energies[i];
    for (std::size_t j = 0; j < cells; ++j) {
      dc[j] += h[i][j] * c * slope;
      dv[j] += h[i][j] * slope;
    }
  }
  std::vector<double> next(cells);
  double low = -200, high = 200;
  for (int bisection = 0; bisection < 200; ++bisection) {
    double const multiplier = std::exp(0.5 * (low + high));
    double volume = 0;
    for (std::size_t i = 0; i < cells; ++i) {
      double const wanted = start[i] * std::sqrt(std::max(0.0, -dc[i] / dv[i]) / multiplier);
      next[i] = marks[i] != 0
                    ? start[i]
                    : std::clamp(wanted, std::max(1e-3, start[i] - stage.move), std::min(1.0, start[i] + stage.move));
    }
    for (std::size_t i = 0; i < cells; ++i)
      volume += marks[i] == 0 ? projected(filtered(next, i), stage.beta) : double(marks[i] == 1);
    (volume > target * double(cells) ? low : high) = 0.5 * (low + high);
  }
  return next;
}

template <class Space>
void equals_plain_loops(bool passive) {
  Update<Space, double> const one(0.45, stage, energies_over(4), passive);
  auto const expected = reference_update(one.grid, one.start, one.energies, one.marks, 0.45);
  CHECK(max_difference(one.result, expected) < 1e-7);  // a volume within 1e-9 leaves this much to the multiplier
  CHECK(one.update.volume == Approx(0.45).margin(1e-9));
  CHECK(one.after.volume == Approx(one.update.volume).margin(1e-12));
  double change = 0, volume = 0, grayness = 0;
  for (std::size_t i = 0; i < one.start.size(); ++i) {
    change = std::max(change, std::abs(one.result[i] - one.start[i]));
    volume += one.physical[i];
    grayness += 4 * one.physical[i] * (1 - one.physical[i]);
  }
  CHECK(one.update.change == change);
  CHECK(change <= stage.move + 1e-15);
  CHECK(one.before.volume == Approx(volume / double(one.cells)).epsilon(1e-13));
  CHECK(one.before.grayness == Approx(grayness / double(one.cells)).epsilon(1e-13));
}

template <class Space, class Real>
void meets_volume_and_repeats() {
  double const tolerance = sizeof(Real) == 4 ? 5e-7 : 1e-9;
  for (double orders : {0.0, 6.0, sizeof(Real) == 4 ? 20.0 : 100.0}) {
    for (double target : {0.4, 0.5, 0.6}) {
      for (int updates : {1, 3}) {
        Update<Space, Real> const one(target, stage, energies_over(orders), true, updates);
        INFO("energies over 1e" << orders << ", target " << target << ", rounds " << one.update.rounds);
        CHECK(one.after.volume == Approx(target).margin(tolerance));
        CHECK(one.update.volume == Approx(one.after.volume).margin(tolerance));
        CHECK(one.update.rounds <= 14);
        CHECK(one.result[7] == 1);
        CHECK(one.result[100] == 0);
        Update<Space, Real> const again(target, stage, energies_over(orders), true, updates);
        CHECK(max_difference(one.result, again.result) == 0);
        CHECK(one.after.volume == again.after.volume);
      }
    }
  }
}

// A target beyond the move limit moves every variable as far as it may.
template <class Space, class Real>
void unreachable_volume() {
  ScheduleStage slow = stage;
  slow.move = 0.01;
  for (double target : {0.9, 0.1}) {
    Update<Space, Real> const one(target, slow, energies_over(3));
    double const direction = target > 0.5 ? 1 : -1;
    for (std::size_t i = 0; i < one.start.size(); ++i)
      CHECK(one.result[i] == Approx(one.start[i] + direction * 0.01).margin(1e-6));
    CHECK(one.update.rounds <= 3);
  }
}

template <class Space>
void float_follows_double() {
  Update<Space, double> const two(0.45, stage, rounded<float>(energies_over(4)), true);
  Update<Space, float> const one(0.45, stage, rounded<float>(energies_over(4)), true);
  CHECK(one.before.volume == Approx(two.before.volume).epsilon(1e-6));
  CHECK(one.before.grayness == Approx(two.before.grayness).epsilon(1e-6));
  CHECK(max_difference(one.physical, two.physical) < 2e-6);
  CHECK(max_difference(one.compliance, two.compliance) < 1e-5 * max_abs(two.compliance));
  CHECK(max_difference(one.volume, two.volume) < 1e-5 * max_abs(two.volume));
  CHECK(max_difference(one.result, two.result) < 1e-5);
}

}  // namespace

TEMPLATE_TEST_CASE("an update equals optimality criteria in plain loops", "", BRICKWORK_TEST_SPACES) {
  equals_plain_loops<TestType>(false);
  equals_plain_loops<TestType>(true);
}
TEMPLATE_TEST_CASE("updates meet the volume whatever the range of the energies, and repeat bit for bit", "",
                   BRICKWORK_TEST_SPACES) {
  meets_volume_and_repeats<TestType, double>();
  meets_volume_and_repeats<TestType, float>();
}
TEMPLATE_TEST_CASE("a volume out of reach is approached as far as the move limit allows", "", BRICKWORK_TEST_SPACES) {
  unreachable_volume<TestType, double>();
  unreachable_volume<TestType, float>();
}
TEMPLATE_TEST_CASE("a design step in float follows the one in double", "", BRICKWORK_TEST_SPACES) {
  float_follows_double<TestType>();
}
