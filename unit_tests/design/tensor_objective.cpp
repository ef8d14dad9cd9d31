// SPDX-License-Identifier: BSD-3-Clause
#include "brickwork/design/tensor_objective.hpp"

#include <cmath>

#include "brickwork/core/check.hpp"
#include "brickwork/design/tensor_autodiff.hpp"
#include "brickwork/fem/material.hpp"
#include "support/catch.hpp"
#include "support/tensors.hpp"

using namespace brickwork;
using namespace brickwork::test;

namespace {

Tensor6 moved(Tensor6 c, Tensor6 const& direction, double length) {
  for (int i = 0; i < 6; ++i)
    for (int j = 0; j < 6; ++j) c[i][j] += length * direction[i][j];
  return c;
}

Tensor6 filled(std::vector<double> const& values) {
  Tensor6 c{};
  for (int i = 0; i < 36; ++i) c[i / 6][i % 6] = values[static_cast<std::size_t>(i)];
  return c;
}

// Derivatives along directions that are not symmetric: C_ij and C_ji both count.
void check_derivatives(TensorObjective const& objective, Tensor6 const& c, int iteration = 3) {
  INFO(objective.name);
  Tensor6 derivative = filled(std::vector<double>(36, NAN));
  double const value = objective.evaluate(c, iteration, &derivative);
  CHECK(objective.evaluate(c, iteration, nullptr) == value);
  for (int i = 0; i < 6; ++i)
    for (int j = 0; j < 6; ++j) {
      CHECK(derivative[i][j] == derivative[j][i]);
      if (!objective.entries[std::min(i, j)][std::max(i, j)]) CHECK(derivative[i][j] == 0);
    }
  for (unsigned seed : {11u, 12u, 13u}) {
    Tensor6 const direction = filled(random_values(36, seed));
    double const h = 1e-4;
    auto const at = [&](double length) { return objective.evaluate(moved(c, direction, length), iteration, nullptr); };
    double const slope = (8 * (at(h) - at(-h)) - (at(2 * h) - at(-2 * h))) / (12 * h);
    double expected = 0, size = 0;
    for (int i = 0; i < 6; ++i)
      for (int j = 0; j < 6; ++j) {
        expected += derivative[i][j] * direction[i][j];
        size += std::abs(derivative[i][j] * direction[i][j]);
      }
    CHECK(size > 0);
    CHECK(slope == Approx(expected).margin(1e-9 * (size + std::abs(value))));
  }
  // What it does not read may be anything.
  Tensor6 unread = c;
  for (int i = 0; i < 6; ++i)
    for (int j = 0; j < 6; ++j)
      if (!objective.entries[std::min(i, j)][std::max(i, j)]) unread[i][j] = NAN;
  CHECK(objective.evaluate(unread, iteration, nullptr) == value);
}

std::string message(std::function<void()> const& body) {
  try {
    body();
  } catch (InputError const& error) {
    return error.what();
  }
  return "no error";
}

void check_message(std::string const& text, std::string const& part) {
  INFO("message: " << text << ", expected: " << part);
  CHECK(text.find(part) != std::string::npos);
}

int entries_read(TensorObjective const& objective) {
  int count = 0;
  for (auto const& row : objective.entries)
    for (bool read : row) count += read ? 1 : 0;
  return count;
}

Tensor6 const isotropic = elasticity_matrix(IsotropicMaterial{10, 0.3});

}  // namespace

TEST_CASE("objectives have their values on an isotropic tensor") {
  ObjectiveParameters p;
  p.young = 10;
  auto const value = [&](char const* name, int iteration = 1) {
    return make_tensor_objective(name, p).evaluate(isotropic, iteration, nullptr);
  };
  double const c11 = 13.461538461538462, c12 = 5.769230769230769, c44 = 3.8461538461538463;
  CHECK(value("bulk") == Approx(-25.0 / 3));
  CHECK(value("shear") == Approx(-c44));
  CHECK(value("npr", 1) == Approx(3 * c12 - 0.6 * 3 * c11));
  CHECK(value("npr", 4) == Approx(3 * c12 - std::pow(0.6, 4) * 3 * c11));
  CHECK(value("npr_log") == Approx(std::log(1 + 0.6 * c12 / c11) - std::sqrt(3 * c11 / 10)));
  p.tau = -0.25;
  p.gamma = 0.8;
  CHECK(value("npr_log") == Approx(std::log(1 + 0.6 * c12 / c11) - 0.25 * std::pow(3 * c11, 0.8)));
  CHECK(value("isotropy") == Approx(0).margin(1e-30));
  p.target = isotropic;
  CHECK(value("target") == 0);
  p.target = moved({}, isotropic, 2);
  CHECK(value("target") == Approx(0.25));
}

TEST_CASE("objectives read what they need and no more") {
  ObjectiveParameters p;
  p.target = isotropic;
  CHECK(entries_read(make_tensor_objective("bulk", p)) == 6);
  CHECK(make_tensor_objective("bulk", p).direction == Vector6{1, 1, 1, 0, 0, 0});
  CHECK(entries_read(make_tensor_objective("shear", p)) == 3);
  CHECK(entries_read(make_tensor_objective("npr", p)) == 6);
  CHECK(make_tensor_objective("npr", p).direction == Vector6{});
  CHECK(entries_read(make_tensor_objective("target", p)) == 21);
  p.weights[0][1] = p.weights[1][0] = 2;
  CHECK(entries_read(make_tensor_objective("target", p)) == 1);
  p.isotropy = 0.1;
  CHECK(entries_read(make_tensor_objective("bulk", p)) == 21);
  CHECK(make_tensor_objective("bulk", p).direction == Vector6{});
  CHECK(entries_read(parse_tensor_objective("C12 + C21 * C66")) == 2);
}

TEST_CASE("derivatives of the objectives agree with finite differences") {
  ObjectiveParameters p;
  p.young = 2;
  p.target = random_tensor(5);
  for (double isotropy : {0.0, 0.7})
    for (auto const& name : tensor_objective_names()) {
      p.isotropy = isotropy;
      check_derivatives(make_tensor_objective(name, p), random_tensor(1));
      check_derivatives(make_tensor_objective(name, p), random_tensor(2));
    }
  p.weights = random_tensor(9);
  for (auto& row : p.weights)
    for (double& weight : row) weight = weight * weight;
  check_derivatives(make_tensor_objective("target", p), random_tensor(2));
}

TEST_CASE("the distance to isotropy is that of a least-squares fit, whatever the frame") {
  auto const objective = make_tensor_objective("isotropy", {});
  Tensor6 const c = random_tensor(4);
  // The tensor in the basis in which the 6 x 6 matrix has the norm of the tensor of four indices.
  auto const kelvin = [](Tensor6 const& tensor) {
    Eigen::VectorXd v(36);
    for (int i = 0; i < 36; ++i)
      v(i) = tensor[i / 6][i % 6] * (i / 6 < 3 ? 1 : std::sqrt(2.0)) * (i % 6 < 3 ? 1 : std::sqrt(2.0));
    return v;
  };
  Eigen::MatrixXd basis(36, 2);
  basis.col(0) = kelvin(cubic_tensor(1, 1, 0));
  basis.col(1) = kelvin(cubic_tensor(2, 0, 1));
  Eigen::VectorXd const v = kelvin(c);
  Eigen::VectorXd const fit = basis * basis.colPivHouseholderQr().solve(v);
  double const value = objective.evaluate(c, 1, nullptr);
  CHECK(value == Approx((v - fit).squaredNorm() / v.squaredNorm()));
  CHECK(objective.evaluate(rotated_tensor(c, random_rotation(8)), 1, nullptr) == Approx(value));
  ObjectiveParameters p;
  p.isotropy = 3;
  CHECK(make_tensor_objective("shear", p).evaluate(c, 1, nullptr) ==
        Approx(make_tensor_objective("shear", {}).evaluate(c, 1, nullptr) + 3 * value));
}

TEST_CASE("expressions and callables equal the built-in objectives, derivatives too") {
  ObjectiveParameters p;
  p.young = 4;
  struct Case {
    std::string name, expression;
    TensorObjective callable;
  };
  auto const stretch = [](AutoDiffTensor const& c) { return AutoDiffScalar(c[0][0] + c[1][1] + c[2][2]); };
  auto const coupling = [](AutoDiffTensor const& c) { return AutoDiffScalar(c[0][1] + c[0][2] + c[2][1]); };
  std::vector<Case> const cases{
      {"bulk", "-(C11 + C22 + C33 + 2*(C12 + C13 + C23)) / 9",
       differentiate(
           "bulk",
           [=](AutoDiffTensor const& c, int) -> AutoDiffScalar { return -(stretch(c) + 2 * coupling(c)) / 9; })},
      {"shear", "-(C44+C55+C66)/3",
       differentiate(
           "shear", [](AutoDiffTensor const& c, int) -> AutoDiffScalar { return -(c[3][3] + c[4][4] + c[5][5]) / 3; })},
      {"npr", "C12 + C13 + C32 - 0.6^iteration*(C11 + C22 + C33)",
       differentiate("npr",
                     [=](AutoDiffTensor const& c, int iteration) -> AutoDiffScalar {
                       return coupling(c) - std::pow(0.6, iteration) * stretch(c);
                     })},
      {"npr_log", "log(1 + .6 * (C21 + C31 + C32) / (C11 + C22 + C33)) - 4^-0.5 * (C11 + C22 + C33)^0.5",
       differentiate("npr_log", [=](AutoDiffTensor const& c, int) -> AutoDiffScalar {
         return log(1 + 0.6 * coupling(c) / stretch(c)) - 0.5 * sqrt(stretch(c));
       })}};
  Tensor6 const c = random_tensor(6);
  for (auto const& test : cases) {
    INFO(test.name);
    auto const built_in = make_tensor_objective(test.name, p);
    Tensor6 expected{};
    double const value = built_in.evaluate(c, 2, &expected);
    for (auto const& other : {parse_tensor_objective(test.expression), test.callable}) {
      Tensor6 derivative{};
      CHECK(other.evaluate(c, 2, &derivative) == Approx(value).epsilon(1e-13));
      for (int i = 0; i < 6; ++i)
        for (int j = 0; j < 6; ++j) CHECK(derivative[i][j] == Approx(expected[i][j]).epsilon(1e-12).margin(1e-15));
    }
    CHECK(parse_tensor_objective(test.expression).entries == built_in.entries);
  }
}

TEST_CASE("a callable's entries restrict what it is given") {
  TensorEntries entries{};
  entries[1][0] = true;  // the same as (0, 1)
  auto const objective = differentiate(
      "one", [](AutoDiffTensor const& c, int) -> AutoDiffScalar { return c[0][1] * c[1][0] + c[3][3]; }, entries);
  Tensor6 const c = random_tensor(6);
  Tensor6 derivative{};
  CHECK(objective.evaluate(c, 1, &derivative) == Approx(c[0][1] * c[0][1]));
  CHECK(derivative[0][1] == Approx(c[0][1]));  // half of 2 C12
  CHECK(derivative[3][3] == 0);
  CHECK(entries_read(objective) == 1);
}

TEST_CASE("expressions follow the usual precedence") {
  Tensor6 c{};
  c[0][0] = 2;
  c[0][1] = c[1][0] = 3;
  auto const value = [&](char const* text) { return parse_tensor_objective(text).evaluate(c, 5, nullptr); };
  CHECK(value("C11^C12^2") == 512);  // from the right
  CHECK(value("-C11^2") == -4);
  CHECK(value("C11^-1") == 0.5);
  CHECK(value("2*-C11") == -4);
  CHECK(value("--C11") == 2);
  CHECK(value("+C11 - +1") == 1);
  CHECK(value("C11 - 1 - 1") == 0);  // from the left
  CHECK(value("12 / C12 / C11") == 2);
  CHECK(value("C11 + C12 * 2") == 8);
  CHECK(value("(C11 + C21) * 2") == 10);
  CHECK(value("-C11^2*C12") == -12);
  CHECK(value("1.5e1*C11 + .5E+1 - 2.*C11") == 31);
  CHECK(value("iteration - C11") == 3);
  CHECK(value(" min ( C11 , C12 ) + 10 * max(C11,C12)") == 32);
  CHECK(value("abs(-C11) + abs(C12)") == 5);
  CHECK(value("C11*pi") == Approx(2 * 3.14159265358979));
  CHECK(value("exp(C11) + log(C12) + sqrt(C11) + tanh(C12)") ==
        Approx(std::exp(2) + std::log(3) + std::sqrt(2) + std::tanh(3)));
  CHECK(value("(C11 - 2)^0 + (C11 - 2)^2 + (1 - C12)^3") == -7);
}

TEST_CASE("derivatives of expressions agree with finite differences") {
  for (char const* text : {"C11*C22*C33 - C12^3", "C14 / (C11 + C66) + C55 / 3 + 2 / C44", "C11 ^ C22",
                           "2 ^ C13 + C11 ^ 2.5", "log(C11) * exp(-C22 / 7)", "sqrt(C33 + C12^2) * tanh(C15)",
                           "abs(C11) - abs(-C22 * C33)", "min(C11, -C22) + max(C33, C44 / 100)", "-(-C11)^3 + C12^-2",
                           "(C16 - C61)*C11 + C23*C23 + iteration * C45", "C11^C12^2"})
    check_derivatives(parse_tensor_objective(text), random_tensor(1));
  // Where a factor is 0 the derivative is not lost; at a kink there is one of abs.
  Tensor6 c = random_tensor(1), derivative{};
  c[0][5] = c[5][0] = 0;
  parse_tensor_objective("C11*C16 + C16^2").evaluate(c, 1, &derivative);
  CHECK(derivative[0][5] == Approx(c[0][0] / 2));
  parse_tensor_objective("abs(C16) + C16^0 + C16^1").evaluate(c, 1, &derivative);
  CHECK(derivative[0][5] == 0.5);
}

TEST_CASE("a wrong expression is refused with its column") {
  auto const refused = [](std::string const& text) { return message([&] { parse_tensor_objective(text); }); };
  check_message(refused("C11 + C71"), "column 7: unknown name 'C71'; known are C11 .. C66, iteration");
  check_message(refused("C11 + D12"), "column 7: unknown name 'D12'");
  check_message(refused("C11 + C123"), "column 7: unknown name 'C123'");
  check_message(refused("C11 + sin(C12)"), "column 7: unknown name 'sin'");
  check_message(refused("C11 +"), "column 6: the expression ends");
  check_message(refused(""), "column 1: the expression ends");
  check_message(refused("   "), "column 4: the expression ends");
  check_message(refused("2 C11"), "column 3: 'C11' is unexpected");
  check_message(refused("2C11"), "column 2: 'C11' is unexpected");
  check_message(refused("C11 * / C12"), "column 7: '/' is unexpected");
  check_message(refused("(C11 + C12"), "column 1: '(' is not closed");
  check_message(refused("C11 + C12)"), "column 10: ')' is unexpected");
  check_message(refused("C11 * max(C12"), "column 10: '(' is not closed");
  check_message(refused("C11 * max(C12)"), "column 7: max takes 2 arguments, not 1");
  check_message(refused("log(C11, C12, C13)"), "column 1: log takes 1 argument, not 3");
  check_message(refused("log()"), "column 1: log takes 1 argument, not 0");
  check_message(refused("log C11"), "column 5: '(' is expected after log");
  check_message(refused("C11 , C12"), "column 5: ',' is unexpected");
  check_message(refused("C11 $ C12"), "column 5: '$' is unexpected");
  check_message(refused("1e999 * C11"), "column 1: '1e999' is out of range");
  check_message(refused("1..2 * C11"), "column 3: '.' is unexpected");
  check_message(refused("nan * C11"), "column 1: unknown name 'nan'");
  check_message(refused("2 + 3"), "reads no entry");
  check_message(refused(std::string(100000, '(')), "levels of parentheses");
  check_message(refused(std::string(100000, '-') + "C11"), "levels of parentheses");
  std::string power = "C11";
  for (int i = 0; i < 100000; ++i) power += "^C11";
  check_message(refused(power), "levels of parentheses");
}

TEST_CASE("an expression without a finite value or derivative names the part and its column") {
  Tensor6 c = cubic_tensor(2, 1, 0.5);
  auto const refused = [&](std::string const& text, bool with_derivative = true) {
    return message([&] {
      Tensor6 derivative;
      parse_tensor_objective(text).evaluate(c, 3, with_derivative ? &derivative : nullptr);
    });
  };
  check_message(refused("C11 + C12 / (C11 - C22)"), "column 7: 'C12 / (C11 - C22)' at iteration 3: division by zero");
  check_message(refused("1 + log( C12 - C11 ) * 2"),
                "column 5: 'log( C12 - C11 )' at iteration 3: the logarithm of -1");
  check_message(refused("log(C16)"), "column 1: 'log(C16)' at iteration 3: the logarithm of 0");
  check_message(refused("2*sqrt(C16)"), "column 3: 'sqrt(C16)' at iteration 3: the square root has no derivative at 0");
  CHECK(refused("2*sqrt(C16)", false) == "no error");
  CHECK(refused("C11*sqrt(iteration - 3)") == "no error");
  check_message(refused("sqrt(-C11)", false), "the square root of -2");
  check_message(refused("C16^0.5"), "the power 0.5 has no derivative at 0");
  check_message(refused("C16^-1", false), "column 1: 'C16^-1' at iteration 3: division by zero");
  check_message(refused("(-C11)^0.5", false), "the power 0.5 of -2");
  check_message(refused("(-C11)^C11"), "the base -2 of a power whose exponent varies");
  check_message(refused("C11 + exp(1000 * C11)", false),
                "column 7: 'exp(1000 * C11)' at iteration 3: the value is inf");
  check_message(refused("1e200 * C11 * 1e200"), "column 1: '1e200 * C11 * 1e200' at iteration 3: the value is inf");
  check_message(refused("1 / (C16 + 1e-200)"), "the derivative by C16 is -inf");
}

TEST_CASE("objectives refuse parameters and tensors that cannot be meant") {
  auto const refused = [](char const* name, ObjectiveParameters const& p) {
    return message([&] { make_tensor_objective(name, p); });
  };
  check_message(refused("bulky", {}),
                "unknown objective 'bulky'; known are bulk, shear, npr, npr_log, target, isotropy");
  ObjectiveParameters p;
  p.beta = 0;
  check_message(refused("npr", p), "beta = 0");
  p.eta = -1;
  check_message(refused("npr_log", p), "eta = -1");
  p = {};
  p.gamma = NAN;
  check_message(refused("npr_log", p), "gamma = nan");
  p = {};
  p.young = 0;
  check_message(refused("npr_log", p), "young = 0");
  p = {};
  p.isotropy = -1;
  check_message(refused("bulk", p), "isotropy = -1");
  p = {};
  check_message(refused("target", p), "norm of the target 0");
  p.target = isotropic;
  p.target[1][0] = 0;
  check_message(refused("target", p), "must be symmetric");
  p.target = isotropic;
  p.weights[2][2] = -1;
  check_message(refused("target", p), "weight 33 = -1");

  auto const evaluate = [](TensorObjective const& objective, Tensor6 const& c, int iteration = 1) {
    return message([&] {
      Tensor6 derivative;
      objective.evaluate(c, iteration, &derivative);
    });
  };
  Tensor6 c = isotropic;
  c[0][1] = NAN;
  check_message(evaluate(make_tensor_objective("bulk", {}), c), "objective bulk: C12 = nan");
  CHECK(evaluate(make_tensor_objective("shear", {}), c) == "no error");
  check_message(evaluate(make_tensor_objective("npr", {}), isotropic, 0), "iteration 0");
  check_message(evaluate(make_tensor_objective("npr_log", {}), {}), "C11 + C22 + C33 = 0");
  check_message(evaluate(make_tensor_objective("npr_log", {}), cubic_tensor(1, -2, 1)), "logarithm");
  check_message(evaluate(make_tensor_objective("isotropy", {}), {}), "zero");
  auto const callable =
      differentiate("root", [](AutoDiffTensor const& d, int) -> AutoDiffScalar { return sqrt(d[0][5]) + d[0][0]; });
  check_message(evaluate(callable, isotropic), "objective root: derivative by C");
}
