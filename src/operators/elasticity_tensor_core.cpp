// SPDX-License-Identifier: BSD-3-Clause
#include "brickwork/operators/detail/elasticity_tensor_core.hpp"

#include <cmath>
#include <type_traits>

#include "brickwork/core/check.hpp"
#include "brickwork/core/config.hpp"
#include "brickwork/core/instantiate.hpp"
#include "brickwork/operators/detail/elasticity_tensor_cuda.hpp"

namespace brickwork::detail {

namespace {

using IntegerMatrix = std::array<std::array<int, 24>, 24>;

// Stiffness of the unit cube for the given Lame constants, times 72.
IntegerMatrix cube_integers(double lambda, double mu) {
  ElasticityMatrix c{};
  for (int i = 0; i < 3; ++i) {
    for (int j = 0; j < 3; ++j) c[i][j] = lambda;
    c[i][i] += 2 * mu;
    c[3 + i][3 + i] = mu;
  }
  Hex8Matrix const k = hex8_stiffness(c, {1, 1, 1});
  IntegerMatrix integers{};
  for (int row = 0; row < 24; ++row)
    for (int col = 0; col < 24; ++col) integers[row][col] = static_cast<int>(std::lround(72 * k[row][col]));
  return integers;
}

constexpr double reproduction_tolerance = 1e-12;

}  // namespace

IntegerStiffness integer_stiffness(ElasticityKernel kernel, Hex8Matrix const& stiffness) {
  static IntegerMatrix const a = cube_integers(1, 0);
  static IntegerMatrix const b = cube_integers(0, 1);

  // Least squares for K0 = x A + y B.
  double aa = 0, ab = 0, bb = 0, ka = 0, kb = 0, largest = 0;
  for (int row = 0; row < 24; ++row) {
    for (int col = 0; col < 24; ++col) {
      double const k = stiffness[row][col];
      aa += a[row][col] * a[row][col], ab += a[row][col] * b[row][col], bb += b[row][col] * b[row][col];
      ka += k * a[row][col], kb += k * b[row][col];
      largest = std::max(largest, std::abs(k));
    }
  }
  double const x = (ka * bb - kb * ab) / (aa * bb - ab * ab);
  double const y = (kb * aa - ka * ab) / (aa * bb - ab * ab);

  auto const error = [&](double of_a, double of_b) {
    double worst = 0;
    for (int row = 0; row < 24; ++row)
      for (int col = 0; col < 24; ++col)
        worst = std::max(worst, std::abs(of_a * a[row][col] + of_b * b[row][col] - stiffness[row][col]));
    return largest > 0 ? worst / largest : 1.0;
  };
  double const misfit = error(x, y);
  BRICKWORK_REQUIRE(misfit <= reproduction_tolerance, "kernel ", to_string(kernel),
                    " cannot run: the element matrix differs by ", misfit,
                    " of its largest entry from h/72 (lambda A + mu B) with integer A and B; it needs cells that are "
                    "cubes and an isotropic material");

  IntegerStiffness form{};
  for (int q = 1; q <= 32; ++q) {
    auto const p = static_cast<int>(std::lround(x / y * q));
    int bound = 0;
    for (int row = 0; row < 24; ++row)
      for (int col = 0; col < 24; ++col) bound = std::max(bound, std::abs(p * a[row][col] + q * b[row][col]));
    if (bound > 256 || error(y / q * p, y) > reproduction_tolerance) continue;
    form.terms = 1;
    form.coefficient[0] = y / q;
    for (int row = 0; row < 24; ++row)
      for (int col = 0; col < 24; ++col)
        form.matrix[0][row][col] = static_cast<std::int16_t>(p * a[row][col] + q * b[row][col]);
    return form;
  }
  form.terms = 2;
  form.coefficient[0] = x;
  form.coefficient[1] = y;
  for (int row = 0; row < 24; ++row) {
    for (int col = 0; col < 24; ++col) {
      form.matrix[0][row][col] = static_cast<std::int16_t>(a[row][col]);
      form.matrix[1][row][col] = static_cast<std::int16_t>(b[row][col]);
    }
  }
  return form;
}

namespace {

// One struct per kernel: the portable product, and the tensor-core body where there is one.

struct FusedWmma {
  using Scalar = float;
  static constexpr char const* label = "brickwork::ElasticityOperator::apply::fused_wmma";
  RoundedProduct product;

  explicit FusedWmma(ElasticityKernel, Hex8Matrix const& stiffness) {
    for (int row = 0; row < 24; ++row)
      for (int col = 0; col < 24; ++col)
        product.matrix[row][col] = round_to_bf16(static_cast<float>(stiffness[row][col]));
  }
#if BRICKWORK_TENSOR_CORES()
  template <bool Masked>
  void add(Kokkos::Cuda const& space, ElasticityData<float> const& data, GridDofs<float> const& dofs, index_t cells,
           Operands<float> const& vectors) const {
    apply_fused_wmma_cuda<Masked>(space, data, dofs, cells, vectors);
  }
#endif
};

template <bool Split>
struct FusedWmmaInteger {
  using Scalar = float;
  static constexpr char const* label = Split ? "brickwork::ElasticityOperator::apply::fused_wmma_split"
                                             : "brickwork::ElasticityOperator::apply::fused_wmma_exact";
  IntegerProduct<Split> product;

  explicit FusedWmmaInteger(ElasticityKernel kernel, Hex8Matrix const& stiffness)
      : product{integer_stiffness(kernel, stiffness)} {}
#if BRICKWORK_TENSOR_CORES()
  template <bool Masked>
  void add(Kokkos::Cuda const& space, ElasticityData<float> const& data, GridDofs<float> const& dofs, index_t cells,
           Operands<float> const& vectors) const {
    if constexpr (Split) {
      apply_fused_wmma_split_cuda<Masked>(space, data, product.form, dofs, cells, vectors);
    } else {
      apply_fused_wmma_exact_cuda<Masked>(space, data, product.form, dofs, cells, vectors);
    }
  }
#endif
};

struct FusedMmaDouble {
  using Scalar = double;
  static constexpr char const* label = "brickwork::ElasticityOperator::apply::fused_mma_fp64";
  DoubleProduct product;

  explicit FusedMmaDouble(ElasticityKernel, Hex8Matrix const& stiffness) {
    for (int row = 0; row < 24; ++row)
      for (int col = 0; col < 24; ++col) product.matrix[row][col] = stiffness[row][col];
  }
#if BRICKWORK_TENSOR_CORES()
  template <bool Masked>
  void add(Kokkos::Cuda const& space, ElasticityData<double> const& data, GridDofs<double> const& dofs, index_t cells,
           Operands<double> const& vectors) const {
    apply_fused_mma_fp64_cuda<Masked>(space, data, dofs, cells, vectors);
  }
#endif
};

// Launched from free functions: nvcc takes no kernels from private members.
template <bool Masked, class ExecutionSpace, class Kernel, class Scalar>
void add_products(ExecutionSpace const& space, Kernel const& kernel, ElasticityData<Scalar> const& data,
                  Operands<Scalar> const& vectors) {
  GridDofs<Scalar> const dofs{data, vectors.stride_u};
  index_t const cells = data.nx * data.ny * data.nz;
#if BRICKWORK_TENSOR_CORES()
  if constexpr (std::is_same_v<ExecutionSpace, Kokkos::Cuda>) {
    if (tensor_cuda_supports(data)) {
      kernel.template add<Masked>(space, data, dofs, cells, vectors);
      return;
    }
  }
#endif
  add_cell_products<Masked>(space, Kernel::label, data, dofs, cells, kernel.product, vectors);
}

template <class ExecutionSpace, class Kernel>
class TensorCoreBody final : public ElasticityBody<ExecutionSpace, typename Kernel::Scalar> {
 public:
  using Scalar = typename Kernel::Scalar;

  TensorCoreBody(ElasticityKernel name, Hex8Matrix const& stiffness) : kernel_(name, stiffness) {}

  void apply(ExecutionSpace const& space, ElasticityData<Scalar> const& data,
             Operands<Scalar> const& vectors) const override {
    clear_components(space, data, vectors.stride_w, vectors.w);
    if (data.mask == nullptr) {
      add_products<false>(space, kernel_, data, vectors);
    } else {
      add_products<true>(space, kernel_, data, vectors);
      restore_constrained(space, data, vectors.stride_u, vectors.stride_w, vectors.u, vectors.w);
    }
  }

 private:
  Kernel kernel_;
};

}  // namespace

template <class ExecutionSpace, class Scalar>
ElasticityBodyPointer<ExecutionSpace, Scalar> make_tensor_core(ElasticityKernel kernel, BoxGrid const&,
                                                               Hex8Matrix const& stiffness) {
  if (kernel == ElasticityKernel::fused_mma_fp64) {
    if constexpr (std::is_same_v<Scalar, double>) {
      return std::make_unique<TensorCoreBody<ExecutionSpace, FusedMmaDouble>>(kernel, stiffness);
    } else {
      throw InputError(
          "kernel fused_mma_fp64 cannot run in FP32: it multiplies on FP64 tensor cores; use precision fp64, or "
          "fused_wmma_split");
    }
  }
  if constexpr (std::is_same_v<Scalar, float>) {
    switch (kernel) {
      case ElasticityKernel::fused_wmma:
        return std::make_unique<TensorCoreBody<ExecutionSpace, FusedWmma>>(kernel, stiffness);
      case ElasticityKernel::fused_wmma_exact:
        return std::make_unique<TensorCoreBody<ExecutionSpace, FusedWmmaInteger<false>>>(kernel, stiffness);
      case ElasticityKernel::fused_wmma_split:
        return std::make_unique<TensorCoreBody<ExecutionSpace, FusedWmmaInteger<true>>>(kernel, stiffness);
      default:
        throw InputError("kernel " + to_string(kernel) + " does not run on tensor cores");
    }
  } else {
    throw InputError("kernel " + to_string(kernel) +
                     " cannot run in FP64: it rounds to BF16; use precision fp32 or mixed, or fused_mma_fp64");
  }
}

#define BRICKWORK_INSTANTIATE(SPACE)                                                                              \
  template ElasticityBodyPointer<SPACE, float> make_tensor_core<SPACE, float>(ElasticityKernel, BoxGrid const&,   \
                                                                              Hex8Matrix const&);                 \
  template ElasticityBodyPointer<SPACE, double> make_tensor_core<SPACE, double>(ElasticityKernel, BoxGrid const&, \
                                                                                Hex8Matrix const&);
BRICKWORK_FOR_EACH_EXECUTION_SPACE(BRICKWORK_INSTANTIATE)
#undef BRICKWORK_INSTANTIATE

}  // namespace brickwork::detail
