// SPDX-License-Identifier: BSD-3-Clause
// Rigid motions that the supports of a problem leave free, and their removal from nodal vectors.
#pragma once

#include <vector>

#include "brickwork/core/fields.hpp"
#include "brickwork/core/sums.hpp"
#include "brickwork/mesh/box_grid.hpp"
#include "brickwork/mesh/rigid_motion.hpp"
#include "brickwork/parallel/communicator.hpp"

namespace brickwork {

/// The null space of a floating or partly supported body. Removing it projects a right-hand side onto the range of K,
/// and takes the undetermined part out of a solution.
template <class ExecutionSpace>
class NullSpace {
 public:
  using memory_space = typename ExecutionSpace::memory_space;

  NullSpace(ExecutionSpace const& space, BoxGrid const& grid, Communicator const& communicator = {});

  /// \param modes  linearly independent, at most 6; made orthonormal as nodal vectors here
  /// \throws InputError otherwise
  void set(std::vector<RigidMotion> const& modes);

  int count() const { return count_; }

  /// v -= its part in the span of the modes. Asynchronous; nothing happens where there are none.
  template <class Scalar>
  void remove(ExecutionSpace const& space, NodalVector<Scalar, memory_space> const& v) const;

 private:
  BoxGrid grid_;
  Communicator communicator_;
  int count_ = 0;
  Kokkos::Array<double, 54> values_{};  // per mode: translation, rotation, center
  bool translations_ = false;           // the modes are the three translations
  Kokkos::View<double*, memory_space> sums_;
  SumWorkspace<ExecutionSpace> workspace_;
};

}  // namespace brickwork
