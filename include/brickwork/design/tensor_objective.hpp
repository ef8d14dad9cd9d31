// SPDX-License-Identifier: BSD-3-Clause
// Functions of the homogenized elasticity tensor, with their derivatives: what inverse homogenization minimizes or
// constrains. Free of Kokkos and of Eigen (design/tensor_autodiff.hpp makes one from a C++ callable).
#pragma once

#include <array>
#include <functional>
#include <string>
#include <vector>

#include "brickwork/fem/elastic_tensor.hpp"

namespace brickwork {

/// Which entries of the tensor a function reads: entry (i, j) and (j, i) are one, i <= j is set.
using TensorEntries = std::array<std::array<bool, 6>, 6>;

/// f(C, iteration) to be minimized.
struct TensorObjective {
  std::string name;
  TensorEntries entries{};  ///< what it reads; solves that these do not need are left out
  /// Where f depends on v . C v alone: v (bulk modulus: 1, 1, 1, 0, 0, 0), so that one solve serves; else zero.
  Vector6 direction{};

  /// Value at C, and df/dC in `derivative` where it is not null. Both C_ij and C_ji count: the derivative is symmetric,
  /// with df = sum over all 36 of derivative_ij dC_ij. Entries outside of `entries` are not read, and of a pair the
  /// mean is. \param iteration design step, counted from 1 \throws InputError where the value or a derivative is not
  /// finite (division by zero, logarithm of a negative number), naming the function and where in it
  std::function<double(Tensor6 const& tensor, int iteration, Tensor6* derivative)> evaluate;
};

/// Parameters of the objectives that have some.
struct ObjectiveParameters {
  double beta = 0.6;  ///< npr: f = C12 + C13 + C23 - beta^iteration (C11 + C22 + C33)
  double eta = 0.6;   ///< npr_log: f = log(1 + eta (C12 + C13 + C23) / (C11 + C22 + C33)) + tau (C11 + C22 + C33)^gamma
  double gamma = 0.5;
  double tau = 0;     ///< 0: -young^-gamma
  double young = 1;   ///< of the solid
  Tensor6 target{};   ///< target: f = sum of weights_ij (C_ij - target_ij)^2 / sum of weights_ij target_ij^2; symmetric
  Tensor6 weights{};  ///< symmetric, none negative; all zero: all one
  /// Adds this times the squared distance to the nearest isotropic tensor over |C|^2 (objective isotropy: 1 itself).
  /// Both in the norm that does not depend on the frame: |C|^2 = C_ijkl C_ijkl, where an entry of stretch and shear
  /// counts twice and one of two shears four times.
  double isotropy = 0;
};

/// The objectives by name: bulk -(C11 + C22 + C33 + 2 (C12 + C13 + C23)) / 9, shear -(C44 + C55 + C66) / 3, npr,
/// npr_log, target, isotropy (the squared distance alone).
std::vector<std::string> tensor_objective_names();

/// \throws InputError for an unknown name (with the known ones) or parameters out of range
TensorObjective make_tensor_objective(std::string const& name, ObjectiveParameters const& parameters);

/// An objective written as an expression: numbers, C11 .. C66 (Cij and Cji are the same), iteration, pi, + - * / ^,
/// parentheses, log, exp, sqrt, tanh, abs, min, max (of two); differentiated exactly. ^ binds tighter than a sign and
/// groups from the right: -a^b^c is -(a^(b^c)). Where abs, min or max have a kink, one side's derivative serves (abs:
/// 0). \throws InputError naming the column, for a syntax error, an unknown name, or a wrong number of arguments; the
///         objective names the part of the expression, and its column, that has no finite value or derivative
TensorObjective parse_tensor_objective(std::string const& expression);

}  // namespace brickwork
