// SPDX-License-Identifier: BSD-3-Clause
// The evaluations of HermiteCellOperator and what each computes per cell. Free of Kokkos.
#pragma once

#include <string>
#include <vector>

#include "brickwork/core/types.hpp"

namespace brickwork {

/// How the element matrix meets the 4^Dim values of a cell. All give the same result to FP64 rounding.
enum class HermiteEvaluation {
  automatic,     ///< the fastest on this device
  assembled,     ///< the whole matrix, row by row from a table in memory
  dense,         ///< the whole matrix, unrolled, coefficients in the instructions' constant operands
  even_odd_1,    ///< sectors of the parity in x
  even_odd_2,    ///< in x and y
  even_odd_3,    ///< in x, y and z (Dim = 3)
  fdm,           ///< fast diagonalization: two diagonal parts, six contractions of one axis each
  tensor_core,   ///< sectors of eight unknowns on FP64 tensor cores (CUDA, compute capability 8.0 and above)
  tensor_core_2  ///< the same with x and y split, sectors of sixteen unknowns (Dim = 3)
};

std::string to_string(HermiteEvaluation evaluation);

/// \throws InputError for an unknown name (with the known ones)
HermiteEvaluation hermite_evaluation_from_string(std::string const& name);

/// Every evaluation but `automatic`, in the order of the enumeration.
std::vector<HermiteEvaluation> hermite_evaluations();

/// Resolves `automatic` and refuses what cannot run.
/// \param tensor_cores  whether the execution space has a body on FP64 tensor cores in this build
/// \throws InputError that says why
HermiteEvaluation select_hermite_evaluation(HermiteEvaluation requested, int dim, bool tensor_cores);

/// The axes that an evaluation splits, bit d for axis d; 0 for those that split none.
unsigned hermite_evaluation_axes(HermiteEvaluation evaluation, int dim);

/// Floating-point operations per cell, a multiply-add counting as two.
struct HermiteOperations {
  double products = 0;     ///< of the dense blocks, or of the contractions
  double butterflies = 0;  ///< additions of the forward and inverse butterflies
  bool on_tensor_cores = false;
  double total() const { return products + butterflies; }
};

HermiteOperations hermite_operations(HermiteEvaluation evaluation, int dim);

}  // namespace brickwork
