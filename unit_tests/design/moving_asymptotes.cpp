// SPDX-License-Identifier: BSD-3-Clause
#include "brickwork/design/moving_asymptotes.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "brickwork/core/check.hpp"
#include "brickwork/design/detail/concave_maximum.hpp"
#include "support/catch.hpp"
#include "support/devices.hpp"
#include "support/reference.hpp"

using namespace brickwork;
using namespace brickwork::test;

namespace {

using Values = std::vector<double>;

struct Problem {
  std::function<Values(Values const&)> gradient;                  // of f
  std::function<std::vector<double>(Values const&)> constraints;  // g
  std::function<std::vector<Values>(Values const&)> gradients;    // of g
};

// The iterates of a problem.
template <class Space, class Real>
class Runner {
 public:
  using field = CellField<Real, typename Space::memory_space>;
  using const_field = CellField<Real const, typename Space::memory_space>;

  Runner(Problem problem, Values const& start, int constraints, MmaSettings const& settings)
      : x(start),
        problem_(std::move(problem)),
        count_(static_cast<index_t>(start.size())),
        mma_(Space{}, count_, constraints, settings) {}

  MmaUpdate step(double objective_scale = 1, double constraint_scale = 1) {
    Space const space;
    auto const upload = [&](Values values, double scale) {
      for (double& value : values) value *= scale;
      return to_device<field>(space, values, count_);
    };
    auto const on_device = upload(x, 1);
    std::vector<double> values = problem_.constraints(x);
    for (double& value : values) value *= constraint_scale;
    std::vector<const_field> gradients;
    for (auto const& gradient : problem_.gradients(x)) gradients.push_back(upload(gradient, constraint_scale));
    MmaUpdate const update =
        mma_.step(space, on_device, upload(problem_.gradient(x), objective_scale), values, gradients);
    x = to_host(on_device);
    return update;
  }

  Values x;

 private:
  Problem problem_;
  index_t count_;
  MovingAsymptotes<Space, Real> mma_;
};

double mean(Values const& x) {
  double sum = 0;
  for (double value : x) sum += value;
  return sum / static_cast<double>(x.size());
}

// minimize mean of c / x with mean x <= volume: x in proportion to sqrt c within the bounds.
Problem separable(Values const& c, double volume) {
  return {[=](Values const& x) {
            Values g(x.size());
            for (std::size_t j = 0; j < x.size(); ++j) g[j] = -c[j] / (x[j] * x[j]) / static_cast<double>(x.size());
            return g;
          },
          [=](Values const& x) { return std::vector<double>{mean(x) - volume}; },
          [=](Values const& x) { return std::vector<Values>{Values(x.size(), 1 / static_cast<double>(x.size()))}; }};
}

Values separable_solution(Values const& c, double volume, double lower, double upper) {
  double low = 0, high = 1e6;
  Values x(c.size());
  for (int i = 0; i < 200; ++i) {
    double const factor = 0.5 * (low + high);
    for (std::size_t j = 0; j < c.size(); ++j) x[j] = std::clamp(factor * std::sqrt(c[j]), lower, upper);
    (mean(x) > volume ? high : low) = factor;
  }
  return x;
}

}  // namespace

TEMPLATE_TEST_CASE("moving asymptotes find the cantilever beam of Svanberg's 1987 paper", "", BRICKWORK_TEST_SPACES) {
  Values const factor{61, 37, 19, 7, 1};
  Problem const beam{[](Values const&) { return Values(5, 0.0624); },
                     [=](Values const& x) {
                       double sum = -1;
                       for (int j = 0; j < 5; ++j) sum += factor[j] / std::pow(x[j], 3);
                       return std::vector<double>{sum};
                     },
                     [=](Values const& x) {
                       Values g(5);
                       for (int j = 0; j < 5; ++j) g[j] = -3 * factor[j] / std::pow(x[j], 4);
                       return std::vector<Values>{g};
                     }};
  MmaSettings settings;
  settings.lower = 1;
  settings.upper = 10;
  settings.move = 9;
  Runner<TestType, double> run(beam, Values(5, 5.0), 1, settings);
  MmaUpdate update;
  for (int i = 0; i < 40; ++i) {
    update = run.step();
    CHECK(update.converged);
    CHECK(update.feasible);
  }
  CHECK(update.change < 1e-4);
  Values const expected{6.016, 5.309, 4.494, 3.502, 2.153};
  for (int j = 0; j < 5; ++j) CHECK(run.x[j] == Approx(expected[j]).margin(1e-3));
  CHECK(0.0624 * 5 * mean(run.x) == Approx(1.340).margin(5e-4));
  CHECK(beam.constraints(run.x)[0] < 1e-6);
}

namespace {

template <class Space, class Real>
void separable_cases() {
  constexpr bool single = std::is_same<Real, float>::value;
  for (double spread : {0.7, 6.0}) {  // without and with variables at their bounds
    Values c = random_values(4321, 7, -spread, spread);
    for (double& value : c) value = std::exp(value);
    MmaSettings settings;
    settings.move = 0.2;
    Values const expected = separable_solution(c, 0.3, settings.lower, settings.upper);
    auto const at_bounds = std::count(expected.begin(), expected.end(), settings.upper);
    CHECK((at_bounds > 0) == (spread > 1));
    Runner<Space, Real> run(separable(c, 0.3), Values(c.size(), 0.3), 1, settings);
    MmaUpdate update;
    int evaluations = 0;
    for (int i = 0; i < 60; ++i) {
      update = run.step();
      evaluations += update.iterations;
      CHECK(update.converged);
      CHECK(update.iterations <= 30);
    }
    INFO("spread " << spread << ", evaluations " << evaluations << ", change " << update.change);
    CHECK(update.feasible);
    CHECK(evaluations < 60 * 8);
    CHECK(max_difference(run.x, expected) < (single ? 2e-4 : 1e-5));
    CHECK(mean(run.x) == Approx(0.3).margin(single ? 1e-6 : 1e-9));
  }
}

}  // namespace

TEMPLATE_TEST_CASE("moving asymptotes solve a large separable problem with a known solution", "",
                   BRICKWORK_TEST_SPACES) {
  separable_cases<TestType, double>();
  separable_cases<TestType, float>();
}

TEMPLATE_TEST_CASE("steps of moving asymptotes repeat, and do not depend on the scales of f and g", "",
                   BRICKWORK_TEST_SPACES) {
  Values c = random_values(10000, 3, 0.1, 10);
  Runner<TestType, double> run(separable(c, 0.4), Values(c.size(), 0.6), 1, {});
  Runner<TestType, double> again(separable(c, 0.4), Values(c.size(), 0.6), 1, {});
  Runner<TestType, double> scaled(separable(c, 0.4), Values(c.size(), 0.6), 1, {});
  for (int i = 0; i < 12; ++i) {
    run.step();
    again.step();
    scaled.step(std::ldexp(1, 70), std::ldexp(1, -40));  // powers of two: no rounding of their own
    CHECK(again.x == run.x);
    CHECK(scaled.x == run.x);
  }
}

TEMPLATE_TEST_CASE("a step from an infeasible design goes towards the constraint as fast as it may", "",
                   BRICKWORK_TEST_SPACES) {
  Values const c = random_values(777, 4, 0.5, 2);
  MmaSettings settings;
  settings.move = 0.05;
  Runner<TestType, double> run(separable(c, 0.3), Values(c.size(), 0.5), 1, settings);
  for (int i = 1; i <= 3; ++i) {
    auto const update = run.step();
    CHECK_FALSE(update.feasible);
    CHECK(update.change == Approx(0.05));
    // All variables but for what f, a thousandth of the constraint's weight, asks for.
    CHECK(mean(run.x) == Approx(0.5 - 0.05 * i).margin(1e-4));
  }
  for (int i = 0; i < 60; ++i) CHECK(run.step().converged);
  CHECK(run.step().feasible);
  CHECK(max_difference(run.x, separable_solution(c, 0.3, settings.lower, settings.upper)) < 1e-5);
}

TEMPLATE_TEST_CASE("steps respect the move limit and the bounds", "", BRICKWORK_TEST_SPACES) {
  MmaSettings settings;
  settings.lower = -2;
  settings.upper = 3;
  settings.move = 0.3;
  Values const slope = random_values(501, 9);
  Problem const linear{[=](Values const&) { return slope; }, [](Values const&) { return std::vector<double>{-100.0}; },
                       [](Values const& x) { return std::vector<Values>{Values(x.size(), 1.0)}; }};
  Values start = random_values(501, 10, -2, 3);
  start[0] = -7;  // beyond the bounds: moved there first
  start[1] = 5;
  Runner<TestType, double> run(linear, start, 1, settings);
  start[0] = -2;
  start[1] = 3;
  for (int i = 0; i < 25; ++i) {
    auto const update = run.step();
    CHECK(update.change <= 0.3 + 1e-12);
    double largest = 0;
    for (std::size_t j = 0; j < start.size(); ++j) {
      CHECK(run.x[j] >= -2);
      CHECK(run.x[j] <= 3);
      CHECK((run.x[j] - start[j]) * slope[j] <= 0);  // downhill
      largest = std::max(largest, std::abs(run.x[j] - start[j]));
    }
    CHECK(update.change == Approx(largest));
    start = run.x;
  }
  for (std::size_t j = 0; j < start.size(); ++j)
    if (std::abs(slope[j]) > 0.05) CHECK(run.x[j] == Approx(slope[j] > 0 ? -2 : 3).margin(1e-9));
}

namespace {

// minimize sum of (x - a)^2 with the mean of every residue class j mod m at most a bound: x = a - mu of its class.
template <class Space>
void several_constraints(int m, bool repeated) {
  int const classes = repeated ? 1 : m;
  std::size_t const n = 1200;
  Values const a = random_values(static_cast<index_t>(n), 12, 0.2, 0.9);
  auto const bound = [&](int i) { return repeated ? 0.4 : 0.25 + 0.15 * i; };  // the last ones hold by themselves
  auto const member = [=](std::size_t j, int i) { return repeated || static_cast<int>(j % m) == i; };
  double const members = static_cast<double>(n) / classes;
  Problem const problem{[=](Values const& x) {
                          Values g(n);
                          for (std::size_t j = 0; j < n; ++j) g[j] = 2 * (x[j] - a[j]);
                          return g;
                        },
                        [=](Values const& x) {
                          std::vector<double> g(m);
                          for (int i = 0; i < m; ++i) {
                            for (std::size_t j = 0; j < n; ++j) g[i] += member(j, i) ? x[j] / members : 0;
                            g[i] = (g[i] - bound(i)) * std::pow(10, i);  // scales of their own
                          }
                          return g;
                        },
                        [=](Values const&) {
                          std::vector<Values> g(m, Values(n));
                          for (int i = 0; i < m; ++i)
                            for (std::size_t j = 0; j < n; ++j) g[i][j] = member(j, i) ? std::pow(10, i) / members : 0;
                          return g;
                        }};
  Values expected(n);
  for (int i = 0; i < classes; ++i) {
    double low = 0, high = 1;
    for (int k = 0; k < 100; ++k) {
      double const shift = 0.5 * (low + high);
      double sum = 0;
      for (std::size_t j = 0; j < n; ++j)
        if (member(j, i)) sum += expected[j] = std::clamp(a[j] - shift, 1e-3, 1.0);
      (sum / members > bound(i) ? low : high) = shift;
    }
  }
  MmaSettings settings;
  settings.move = 0.2;
  settings.least_distance = 1e-5;  // where no constraint is active, f' changes its sign at the solution
  Runner<Space, double> run(problem, Values(n, 0.5), m, settings);
  MmaUpdate update;
  for (int k = 0; k < 80; ++k) {
    update = run.step();
    CHECK(update.converged);
  }
  INFO("constraints " << m << ", repeated " << repeated << ", change " << update.change);
  CHECK(update.feasible);
  CHECK(max_difference(run.x, expected) < 1e-4);
  for (double value : problem.constraints(run.x)) CHECK(value < 1e-5);
}

}  // namespace

TEMPLATE_TEST_CASE("up to four constraints, active or not, alike or not", "", BRICKWORK_TEST_SPACES) {
  for (int m = 1; m <= 4; ++m) several_constraints<TestType>(m, false);
  for (int m = 2; m <= 4; ++m) several_constraints<TestType>(m, true);
}

TEST_CASE("constraints that contradict each other, or have no derivative, leave a bounded step") {
  using Space = Kokkos::DefaultExecutionSpace;
  Values const c = random_values(300, 4, 0.5, 2);
  Problem problem = separable(c, 0.3);
  problem.constraints = [](Values const& x) { return std::vector<double>{mean(x) - 0.3, 0.6 - mean(x)}; };
  problem.gradients = [](Values const& x) {
    double const share = 1 / static_cast<double>(x.size());
    return std::vector<Values>{Values(x.size(), share), Values(x.size(), -share)};
  };
  Runner<Space, double> run(problem, Values(300, 0.5), 2, {});
  for (int i = 0; i < 10; ++i) {
    auto const update = run.step();
    CHECK_FALSE(update.feasible);
    CHECK(max_abs(run.x) <= 1);
  }
  CHECK(mean(run.x) > 0.3);  // between the two
  CHECK(mean(run.x) < 0.6);

  problem = separable(c, 0.3);
  problem.gradients = [](Values const& x) { return std::vector<Values>{Values(x.size(), 0.0)}; };
  Runner<Space, double> flat(problem, Values(300, 0.5), 1, {});
  CHECK_FALSE(flat.step().feasible);
  CHECK(max_abs(flat.x) <= 1);
}

TEST_CASE("moving asymptotes refuse what they cannot use, and have not changed then") {
  using Space = Kokkos::DefaultExecutionSpace;
  using Mma = MovingAsymptotes<Space, double>;
  using field = CellField<double, Space::memory_space>;
  Space const space;
  auto const refused = [&](auto change) {
    MmaSettings settings;
    change(settings);
    CHECK_THROWS_AS(Mma(space, 10, 1, settings), InputError);
  };
  refused([](MmaSettings& s) { s.move = 0; });
  refused([](MmaSettings& s) { s.move = NAN; });
  refused([](MmaSettings& s) { s.lower = 1; });
  refused([](MmaSettings& s) { s.upper = INFINITY; });
  refused([](MmaSettings& s) { s.start_distance = 0; });
  refused([](MmaSettings& s) { s.least_distance = 0; });
  refused([](MmaSettings& s) { s.shrink = 1.1; });
  refused([](MmaSettings& s) { s.grow = 0.9; });
  refused([](MmaSettings& s) { s.penalty = -1; });
  CHECK_THROWS_AS(Mma(space, 10, 0, {}), InputError);
  CHECK_THROWS_AS(Mma(space, 10, 5, {}), InputError);
  CHECK_THROWS_AS(Mma(space, 0, 1, {}), InputError);
  CHECK(Mma::bytes(1000) == 24000);

  Mma mma(space, 10, 1, {}), fresh(space, 10, 1, {});
  auto const x = to_device<field>(space, Values(10, 0.5), 10), y = to_device<field>(space, Values(10, 0.5), 10);
  auto const slope = to_device<field>(space, random_values(10, 3), 10);
  auto const ones = to_device<field>(space, Values(10, 1.0), 10);
  Values bad(10, 1.0);
  bad[7] = NAN;
  auto const broken = to_device<field>(space, bad, 10);
  field const few("few", 9);
  CHECK_THROWS_AS(mma.step(space, few, slope, {0.0}, {ones}), InputError);
  CHECK_THROWS_AS(mma.step(space, x, few, {0.0}, {ones}), InputError);
  CHECK_THROWS_AS(mma.step(space, x, slope, {0.0}, {few}), InputError);
  CHECK_THROWS_AS(mma.step(space, x, slope, {0.0, 0.0}, {ones}), InputError);
  CHECK_THROWS_AS(mma.step(space, x, slope, {0.0}, {}), InputError);
  CHECK_THROWS_AS(mma.step(space, x, slope, {NAN}, {ones}), InputError);
  CHECK_THROWS_AS(mma.step(space, x, broken, {0.0}, {ones}), InputError);
  CHECK_THROWS_AS(mma.step(space, x, slope, {0.0}, {broken}), InputError);
  CHECK_THROWS_AS(mma.step(space, broken, slope, {0.0}, {ones}), InputError);
  CHECK(to_host(x) == Values(10, 0.5));
  mma.step(space, x, slope, {0.0}, {ones});
  fresh.step(space, y, slope, {0.0}, {ones});
  CHECK(to_host(x) == to_host(y));
}

TEST_CASE("the maximum of a concave function is found from anywhere, also where its curvature jumps") {
  using Maximum = detail::ConcaveMaximum<3>;
  // -sum_k h(d_k . (p - target)) with h(s) = s^2 / 2 up to 1, then linear: no curvature far away.
  double const directions[4][3] = {{1, 0.2, 0}, {-0.3, 2, 0.1}, {0.5, 0.1, 0.3}, {0, 1, -1}};
  for (Maximum::Point const& target : {Maximum::Point{2, 3, 0.5}, Maximum::Point{500, 0.01, 20}})
    for (Maximum::Point const& start :
         {Maximum::Point{0, 0, 0}, Maximum::Point{1, 1e3, 5}, Maximum::Point{0, 4, 1e4}}) {
      Maximum maximum(1e-10, 1e-15);
      maximum.point = start;
      CHECK(maximum.search([&](Maximum::Point const& p) {
        Maximum::Derivatives result;
        for (auto const& d : directions) {
          double s = 0;
          for (int i = 0; i < 3; ++i) s += d[i] * (p[i] - target[i]);
          bool const near = std::abs(s) < 1;
          double const slope = near ? s : std::copysign(1.0, s);
          for (int i = 0; i < 3; ++i) {
            result.gradient[i] -= slope * d[i];
            for (int k = 0; k < 3; ++k) result.curvature[i][k] += near ? d[i] * d[k] : 0;
          }
        }
        return result;
      }));
      for (int i = 0; i < 3; ++i) CHECK(maximum.point[i] == Approx(target[i]).margin(1e-7));
      INFO("evaluations " << maximum.evaluations);
      CHECK(maximum.evaluations < 60);
    }
}
