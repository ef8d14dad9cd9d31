// SPDX-License-Identifier: BSD-3-Clause
#include "brickwork/design/detail/root_search.hpp"

#include "support/catch.hpp"

using brickwork::detail::RootSearch;

namespace {

template <class Function>
RootSearch search(Function const& f, double guess, double limit = 600, double resolution = 1e-15) {
  RootSearch result(guess, limit, 1e-9, resolution);
  while (!result.done()) {
    RootSearch::Points values;
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = f(result.points()[i]);
    result.set(values);
  }
  return result;
}

}  // namespace

TEST_CASE("the root of a smooth function takes few rounds, near or far") {
  auto const f = [](double t) { return std::tanh(0.7 - t) + 0.2 * std::tanh(3 * (0.5 - t)); };
  double low = 0, high = 1;
  for (int i = 0; i < 60; ++i) (f(0.5 * (low + high)) > 0 ? low : high) = 0.5 * (low + high);
  for (double guess : {low, 0.65, 0.9, -3.0, 40.0, -590.0}) {
    RootSearch const found = search(f, guess);
    INFO("guess " << guess << ", rounds " << found.rounds());
    CHECK(std::abs(f(found.root())) <= 1e-9);
    CHECK(std::abs(found.root() - low) < 1e-8);
    CHECK(found.value() == f(found.root()));
    CHECK(found.rounds() <= (std::abs(guess - low) < 0.3 ? 4 : 12));
  }
}

TEST_CASE("roots of functions with kinks, plateaus and jumps are found") {
  CHECK(std::abs(search([](double t) { return t < 2 ? 3 * (2 - t) : 0.01 * (2 - t); }, 0).root() - 2) < 1e-6);
  auto const plateau = [](double t) { return t < -100 ? 1 : (t > -99 ? -1 : -99 - 100 - 2 * t); };  // root at -99.5
  CHECK(search(plateau, 300).root() == Approx(-99.5).epsilon(1e-8));
  auto const jump = search([](double t) { return t < 1.25 ? 0.5 + 0.01 * (1.25 - t) : -1.0; }, 0);
  CHECK(jump.root() == Approx(1.25).epsilon(1e-12));
  CHECK(jump.value() == Approx(0.5));  // the side nearer to zero
  CHECK(jump.rounds() < 60);
}

TEST_CASE("a function without a root gives the end where it is nearest to zero") {
  RootSearch const positive = search([](double t) { return 1 + std::exp(-t); }, 3, 80);
  CHECK(positive.root() == 80);
  CHECK(positive.rounds() <= 3);
  RootSearch const negative = search([](double t) { return -1 - std::exp(t); }, 3, 80);
  CHECK(negative.root() == -80);
  RootSearch const nothing = search([](double) { return NAN; }, 0);
  CHECK(std::isnan(nothing.value()));
  CHECK(nothing.rounds() == 1);
}
