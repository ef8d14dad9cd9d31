// SPDX-License-Identifier: BSD-3-Clause
// What ElasticityOperator asks of a kernel: one class per kernel, made by the factories at the end of this header.
//
// Each family is compiled in a source of its own (src/operators/elasticity_*.cpp), for every execution space and
// precision. A body owns whatever its kernel keeps between applications (connectivity, element arrays, a matrix).
#pragma once

#include <memory>

#include "brickwork/core/fields.hpp"
#include "brickwork/fem/hex8_stiffness.hpp"
#include "brickwork/mesh/box_grid.hpp"
#include "brickwork/operators/detail/elasticity_data.hpp"
#include "brickwork/operators/detail/elasticity_epilogue.hpp"
#include "brickwork/operators/elasticity_kernel.hpp"

namespace brickwork::detail {

/// u and w of w = K u: component d of node a at [a + d stride].
template <class Scalar>
struct Operands {
  Scalar const* u;
  Scalar* w;
  index_t stride_u;
  index_t stride_w;
};

/// A kernel that can finish each node itself (detail/elasticity_epilogue.hpp). `sides` right-hand sides share the
/// moduli; sums[side] is written on the device.
template <class ExecutionSpace, class Scalar>
class FusedElasticity {
 public:
  virtual ~FusedElasticity() = default;
  using Data = ElasticityData<Scalar>;
  virtual void run(ExecutionSpace const&, Data const&, StoreProduct<Scalar> const&, index_t sides) const = 0;
  virtual void run(ExecutionSpace const&, Data const&, StoreProductDot<Scalar> const&, index_t sides,
                   double* sums) const = 0;
  virtual void run(ExecutionSpace const&, Data const&, StoreResidual<Scalar, Scalar, false> const&) const = 0;
  virtual void run(ExecutionSpace const&, Data const&, StoreResidual<Scalar, Scalar, true> const&,
                   double* sums) const = 0;
  virtual void run(ExecutionSpace const&, Data const&, Relaxation<Scalar, true> const&) const = 0;
  virtual void run(ExecutionSpace const&, Data const&, Relaxation<Scalar, false> const&) const = 0;
};

/// A kernel that takes the product in FP32 of vectors in FP64.
template <class ExecutionSpace>
class MixedElasticity {
 public:
  virtual ~MixedElasticity() = default;
  using Data = ElasticityData<float>;
  virtual void run(ExecutionSpace const&, Data const&, StoreProduct<double> const&) const = 0;
  virtual void run(ExecutionSpace const&, Data const&, StoreResidual<double, double, false> const&) const = 0;
  virtual void run(ExecutionSpace const&, Data const&, StoreResidual<double, double, true> const&,
                   double* sums) const = 0;
};

template <class ExecutionSpace, class Scalar>
class ElasticityBody {
 public:
  virtual ~ElasticityBody() = default;

  /// w = P K P u + (I - P) u, asynchronous on `space`, with no allocation.
  virtual void apply(ExecutionSpace const& space, ElasticityData<Scalar> const& data,
                     Operands<Scalar> const& vectors) const = 0;

  /// Reads moduli and constraints anew; only kernels that keep a matrix need it.
  virtual void update(ExecutionSpace const&, ElasticityData<Scalar> const&) {}

  /// The kernel's fused forms, null where it has none.
  virtual FusedElasticity<ExecutionSpace, Scalar> const* fused() const { return nullptr; }
  virtual MixedElasticity<ExecutionSpace> const* mixed() const { return nullptr; }

  /// Bytes that the body keeps beside the caller's fields.
  virtual index_t bytes() const { return 0; }
};

template <class ExecutionSpace, class Scalar>
using ElasticityBodyPointer = std::unique_ptr<ElasticityBody<ExecutionSpace, Scalar>>;

/// The factories. Each throws InputError where its kernel cannot run (precision, element matrix, backend, sizes), and
/// OutOfMemory.
template <class ExecutionSpace, class Scalar>
ElasticityBodyPointer<ExecutionSpace, Scalar> make_parity(ExecutionSpace const& space, BoxGrid const& grid);
template <class ExecutionSpace, class Scalar>
ElasticityBodyPointer<ExecutionSpace, Scalar> make_node_gather(BoxGrid const& grid);
/// fused_scatter, fused_scatter_table and three_stage
template <class ExecutionSpace, class Scalar>
ElasticityBodyPointer<ExecutionSpace, Scalar> make_cell_kernel(ElasticityKernel kernel, BoxGrid const& grid);
template <class ExecutionSpace, class Scalar>
ElasticityBodyPointer<ExecutionSpace, Scalar> make_assembled(BoxGrid const& grid);
/// fused_wmma, fused_wmma_exact, fused_wmma_split and fused_mma_fp64
template <class ExecutionSpace, class Scalar>
ElasticityBodyPointer<ExecutionSpace, Scalar> make_tensor_core(ElasticityKernel kernel, BoxGrid const& grid,
                                                               Hex8Matrix const& stiffness);

}  // namespace brickwork::detail
