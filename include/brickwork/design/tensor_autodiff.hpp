// SPDX-License-Identifier: BSD-3-Clause
// Objectives from C++ callables, differentiated by Eigen's AutoDiffScalar.
//
// This is the one public header that includes Eigen (3.4 or newer), so include it only where a callable is written, and
// link Eigen there. No type of Eigen passes into the compiled library.
#pragma once

#include <Eigen/Core>
#include <cmath>
#include <type_traits>
#include <unsupported/Eigen/AutoDiff>
#include <utility>

#include "brickwork/design/detail/packed_tensor.hpp"

namespace brickwork {

/// A value with its derivatives by the 21 independent entries, in the order 11, 12, ... 16, 22, ... 66.
using AutoDiffScalar = Eigen::AutoDiffScalar<Eigen::Matrix<double, 21, 1>>;
/// An elasticity tensor of them: rows are stresses, columns strains, in the order xx, yy, zz, yz, xz, xy.
using AutoDiffTensor = std::array<std::array<AutoDiffScalar, 6>, 6>;

/// Every entry: the function may read all of the tensor.
inline TensorEntries all_tensor_entries() {
  TensorEntries entries{};
  for (std::size_t i = 0; i < 6; ++i)
    for (std::size_t j = i; j < 6; ++j) entries[i][j] = true;
  return entries;
}

/// An objective of a callable, for instance the bulk modulus:
///
///   auto const f = [](AutoDiffTensor const& c, int iteration) -> AutoDiffScalar {
///     return -(c[0][0] + c[1][1] + c[2][2] + 2 * (c[0][1] + c[0][2] + c[1][2])) / 9;
///   };
///   TensorObjective const objective = differentiate("my bulk", f);
///
/// \param function  callable as function(AutoDiffTensor const&, int iteration), to be minimized. It returns an
///                  AutoDiffScalar and not `auto`: Eigen's expressions refer to variables that are gone by then.
/// \param entries   what the function reads; others are 0 there, and solves that only they need are left out
/// \throws InputError (the objective) where the value or a derivative is not finite
template <class Function>
TensorObjective differentiate(std::string const& name, Function function,
                              TensorEntries const& entries = all_tensor_entries()) {
  static_assert(std::is_same<std::invoke_result_t<Function const&, AutoDiffTensor const&, int>, AutoDiffScalar>::value,
                "the callable must return brickwork::AutoDiffScalar (write -> brickwork::AutoDiffScalar)");
  return detail::packed_objective(
      name, entries,
      [function = std::move(function)](detail::PackedTensor const& c, int iteration, detail::PackedTensor* derivative) {
        AutoDiffTensor tensor;
        for (int i = 0; i < 6; ++i)
          for (int j = 0; j < 6; ++j) {
            int const entry = detail::packed_entry(i, j);
            tensor[static_cast<std::size_t>(i)][static_cast<std::size_t>(j)] =
                AutoDiffScalar(c[static_cast<std::size_t>(entry)], 21, entry);
          }
        AutoDiffScalar const result = function(std::as_const(tensor), iteration);
        if (derivative != nullptr)
          for (int entry = 0; entry < 21; ++entry)
            (*derivative)[static_cast<std::size_t>(entry)] = result.derivatives()(entry);
        return result.value();
      });
}

}  // namespace brickwork
