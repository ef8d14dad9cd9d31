// SPDX-License-Identifier: BSD-3-Clause
// The one place that global reductions pass through. This release runs as one rank, where a global sum is the local
// one; a distributed communicator replaces the body of `sum` and `max` and nothing else in the library.
#pragma once

#include "brickwork/core/kokkos_compat.hpp"

namespace brickwork {

class Communicator {
 public:
  int rank() const { return 0; }
  int size() const { return 1; }

  /// Sums device values over all ranks, ordered after the work already submitted to `space`.
  template <class ExecutionSpace, class ViewType>
  void sum(ExecutionSpace const&, ViewType const&) const {}

  /// Sums and maxima of host values over all ranks.
  void sum(double*, int) const {}
  void max(double*, int) const {}
};

}  // namespace brickwork
