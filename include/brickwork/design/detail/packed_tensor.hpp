// SPDX-License-Identifier: BSD-3-Clause
// The 21 independent entries of an elasticity tensor in a row, and objectives as functions of them. Free of Kokkos.
#pragma once

#include <functional>
#include <string>

#include "brickwork/design/tensor_objective.hpp"

namespace brickwork::detail {

/// Rows of the upper triangle one after the other: 11, 12, ... 16, 22, ... 66.
using PackedTensor = std::array<double, 21>;

/// Position of entry (i, j), which is entry (j, i).
constexpr int packed_entry(int i, int j) { return i <= j ? 6 * i - i * (i + 1) / 2 + j : packed_entry(j, i); }

/// Name of the entry at a position: C11 .. C66.
std::string packed_entry_name(int entry);

/// f(c, iteration), with df/dc in the last argument where it is not null; that array comes in as zeros, and what the
/// function does not read is 0 in c.
using PackedFunction = std::function<double(PackedTensor const& c, int iteration, PackedTensor* derivative)>;

/// Makes an objective of it. An off-diagonal entry is the mean of C_ij and C_ji, and its derivative half for either.
/// The objective checks what the function reads and what it returns.
TensorObjective packed_objective(std::string const& name, TensorEntries const& entries, PackedFunction function);

}  // namespace brickwork::detail
