// SPDX-License-Identifier: BSD-3-Clause
#include "brickwork/operators/elasticity_operator.hpp"

#include <vector>

#include "brickwork/core/check.hpp"
#include "brickwork/core/for_each.hpp"
#include "brickwork/core/instantiate.hpp"
#include "brickwork/operators/detail/elasticity_node_gather.hpp"
#include "brickwork/operators/detail/elasticity_parity_portable.hpp"

namespace brickwork {

namespace detail {

template <class Scalar>
struct NodalModuli {
  ElasticityData<Scalar> data;
  Scalar* sums;
  KOKKOS_FUNCTION void operator()(index_t node) const {
    Scalar sum = 0;
    for_cells_around(
        data, node, [&](index_t i, index_t j, index_t k, int) { sum += data.moduli[i + data.nx * (j + data.ny * k)]; });
    sums[node] = sum;
  }
};

template <class Scalar>
struct Diagonal {
  ElasticityData<Scalar> data;
  Scalar* diagonal;
  index_t stride;
  KOKKOS_FUNCTION void operator()(index_t node) const {
    Scalar sum[3] = {0, 0, 0};
    for_cells_around(data, node, [&](index_t i, index_t j, index_t k, int n) {
      Scalar const modulus = data.moduli[i + data.nx * (j + data.ny * k)];
      for (int d = 0; d < 3; ++d) sum[d] += modulus * data.stiffness[3 * n + d][3 * n + d];
    });
    int const fixed = data.mask ? data.mask[node] : 0;
    for (int d = 0; d < 3; ++d) diagonal[node + d * stride] = ((fixed >> d) & 1) ? Scalar(1) : sum[d];
  }
};

// u_e^T K0 u_e in the even-odd basis: three butterflies and 45 products. The mean displacement drops out exactly; the
// corner values are taken relative to the first, so that a large translation costs no digits in FP32 displacements
// either.
template <class Scalar, class Real>
struct CellEnergies {
  ElasticityData<Scalar> data;
  double parity[8][3][3];
  Scalar const* u;
  index_t stride;
  double weight;
  bool add;
  Real* energies;

  KOKKOS_FUNCTION void operator()(index_t cell) const {
    index_t i, j, k;
    CellGather<Scalar>::cell_position(data, cell, i, j, k);
    double mode[8][3];
    for (int d = 0; d < 3; ++d) {
      double const first = static_cast<double>(u[CellGather<Scalar>::node(data, i, j, k, 0) + d * stride]);
      for (int n = 0; n < 8; ++n) {
        mode[n][d] = static_cast<double>(u[CellGather<Scalar>::node(data, i, j, k, n) + d * stride]) - first;
      }
      for (int bit = 1; bit < 8; bit *= 2) {
        for (int n = 0; n < 8; ++n) {
          if (n & bit) continue;
          double const low = mode[n][d], high = mode[n | bit][d];
          mode[n][d] = low + high;
          mode[n | bit][d] = low - high;
        }
      }
    }
    double image[8][3];
    for (int s = 0; s < 8; ++s)
      for (int d = 0; d < 3; ++d) image[s][d] = mode[s][d];
    parity_product(parity, 1.0, image);
    double energy = 0;
    for (int s = 0; s < 8; ++s)
      for (int d = 0; d < 3; ++d) energy += mode[s][d] * image[s][d];
    energies[cell] = static_cast<Real>((add ? static_cast<double>(energies[cell]) : 0.0) + weight * energy);
  }
};

// The same by the 24 x 24 matrix, for element matrices without a parity form.
template <class Scalar, class Real>
struct CellEnergiesDense {
  ElasticityData<Scalar> data;
  Scalar const* u;
  index_t stride;
  double weight;
  bool add;
  Real* energies;

  KOKKOS_FUNCTION void operator()(index_t cell) const {
    index_t i, j, k;
    CellGather<Scalar>::cell_position(data, cell, i, j, k);
    double in[24];
    for (int m = 0; m < 8; ++m) {
      index_t const node = CellGather<Scalar>::node(data, i, j, k, m);
      for (int b = 0; b < 3; ++b) in[3 * m + b] = static_cast<double>(u[node + b * stride]) - (m > 0 ? in[b] : 0.0);
    }
    for (int b = 0; b < 3; ++b) in[b] = 0;
    double energy = 0;
    for (int row = 3; row < 24; ++row) {
      double sum = 0;
      for (int col = 3; col < 24; ++col) sum += static_cast<double>(data.stiffness[row][col]) * in[col];
      energy += in[row] * sum;
    }
    energies[cell] = static_cast<Real>((add ? static_cast<double>(energies[cell]) : 0.0) + weight * energy);
  }
};

// A fused form in a second pass, for kernels that cannot finish a node themselves: `product` holds K u.
template <class Scalar, class Epilogue>
struct FinishNode {
  Epilogue epilogue;
  Scalar const* product;
  index_t stride;
  std::uint8_t const* mask;

  KOKKOS_FUNCTION void finish(index_t node, double& sum) const {
    Scalar const values[3] = {product[node], product[node + stride], product[node + 2 * stride]};
    epilogue(node, mask ? mask[node] : 0, values, sum);
  }
  KOKKOS_FUNCTION void operator()(index_t node) const {
    double unused = 0;
    finish(node, unused);
  }
};

template <class Scalar, class Epilogue>
struct FinishNodeSum {
  FinishNode<Scalar, Epilogue> node_kernel;
  KOKKOS_FUNCTION void operator()(index_t node, double& sum) const { node_kernel.finish(node, sum); }
};

template <class ExecutionSpace, class Scalar, class Epilogue>
void finish_nodes(ExecutionSpace const& space, ElasticityData<Scalar> const& data, Epilogue const& epilogue,
                  Scalar const* product, index_t stride, double* sum) {
  FinishNode<Scalar, Epilogue> const finish{epilogue, product, stride, data.mask};
  if constexpr (Epilogue::has_sum) {
    Kokkos::View<double, typename ExecutionSpace::memory_space, Kokkos::MemoryUnmanaged> const target(sum);
    Kokkos::parallel_reduce("brickwork::ElasticityOperator::finish_sum", range(space, data.mx * data.my * data.mz),
                            FinishNodeSum<Scalar, Epilogue>{finish}, target);
  } else {
    (void)sum;
    for_each("brickwork::ElasticityOperator::finish", space, data.mx * data.my * data.mz, finish);
  }
}

template <class ExecutionSpace, class Scalar>
ElasticityBodyPointer<ExecutionSpace, Scalar> make_elasticity_body(ExecutionSpace const& space, ElasticityKernel kernel,
                                                                   BoxGrid const& grid, Hex8Matrix const& stiffness) {
  switch (kernel) {
    case ElasticityKernel::automatic:
    case ElasticityKernel::parity:
      return make_parity<ExecutionSpace, Scalar>(space, grid);
    case ElasticityKernel::node_gather:
      return make_node_gather<ExecutionSpace, Scalar>(grid);
    case ElasticityKernel::assembled:
      return make_assembled<ExecutionSpace, Scalar>(grid);
    case ElasticityKernel::fused_scatter:
    case ElasticityKernel::fused_scatter_table:
    case ElasticityKernel::three_stage:
      return make_cell_kernel<ExecutionSpace, Scalar>(kernel, grid);
    default:
      return make_tensor_core<ExecutionSpace, Scalar>(kernel, grid, stiffness);
  }
}

}  // namespace detail

template <class ExecutionSpace, class Scalar>
ElasticityOperator<ExecutionSpace, Scalar>::ElasticityOperator(ExecutionSpace const& space, BoxGrid const& grid,
                                                               Hex8Matrix const& stiffness, ElasticityKernel kernel)
    : grid_(grid),
      stiffness_(stiffness),
      kernel_(select_elasticity_kernel(kernel, stiffness, sizeof(Scalar))),
      body_(detail::make_elasticity_body<ExecutionSpace, Scalar>(space, kernel_, grid, stiffness)) {
  if (has_parity_form(stiffness)) blocks_ = parity_blocks(stiffness);
  data_ = detail::elasticity_data<Scalar>(grid, stiffness, blocks_ ? *blocks_ : ParityBlocks{});
}

template <class ExecutionSpace, class Scalar>
void ElasticityOperator<ExecutionSpace, Scalar>::check_vector(char const* function, char const* name, index_t extent,
                                                              bool contiguous) const {
  BRICKWORK_REQUIRE(extent == grid_.node_count(), "ElasticityOperator::", function, ": ", name, " has ", extent,
                    " nodes; the grid has ", grid_.node_count());
  BRICKWORK_REQUIRE(contiguous, "ElasticityOperator::", function, ": ", name,
                    " is a strided View; consecutive nodes must be consecutive in memory");
}

template <class ExecutionSpace, class Scalar>
detail::ElasticityData<Scalar> ElasticityOperator<ExecutionSpace, Scalar>::data() const {
  BRICKWORK_REQUIRE(moduli_.data() != nullptr, "ElasticityOperator: set_moduli() comes first");
  detail::ElasticityData<Scalar> data = data_;
  data.moduli = moduli_.data();
  data.mask = constrained_nodes_.extent(0) > 0 ? mask_.data() : nullptr;
  data.constrained = constrained_nodes_.data();
  data.constrained_count = static_cast<index_t>(constrained_nodes_.extent(0));
  return data;
}

template <class ExecutionSpace, class Scalar>
template <class ViewType>
index_t ElasticityOperator<ExecutionSpace, Scalar>::stride_of(char const* function, char const* name,
                                                              ViewType const& view) const {
  check_vector(function, name, static_cast<index_t>(view.extent(0)), view.stride(0) == 1);
  return static_cast<index_t>(view.stride(1));
}

template <class ExecutionSpace, class Scalar>
detail::StoreProduct<Scalar> ElasticityOperator<ExecutionSpace, Scalar>::product(char const* function,
                                                                                 const_block_type const& u,
                                                                                 block_type const& w) const {
  BRICKWORK_REQUIRE(u.extent(1) == 3 && w.extent(1) == 3 && u.extent(2) == w.extent(2),
                    "ElasticityOperator::", function, ": u has extents (., ", u.extent(1), ", ", u.extent(2),
                    "), w (., ", w.extent(1), ", ", w.extent(2), "); both must be (nodes, 3, right-hand sides)");
  index_t const stride_u = stride_of(function, "u", u);
  index_t const stride_w = stride_of(function, "w", w);
  return {u.data(), w.data(), stride_u, stride_w, static_cast<index_t>(u.stride(2)), static_cast<index_t>(w.stride(2))};
}

template <class ExecutionSpace, class Scalar>
detail::MixedElasticity<ExecutionSpace> const& ElasticityOperator<ExecutionSpace, Scalar>::mixed(
    char const* function) const {
  auto const* const form = body_->mixed();
  BRICKWORK_REQUIRE(form != nullptr, "ElasticityOperator::", function, ": only an operator in single precision with ",
                    "the kernel parity takes FP64 vectors; this one has kernel ", to_string(kernel_), " in ",
                    sizeof(Scalar) == 4 ? "single" : "double", " precision");
  return *form;
}

template <class ExecutionSpace, class Scalar>
void ElasticityOperator<ExecutionSpace, Scalar>::set_moduli(cell_field_type const& moduli) {
  BRICKWORK_REQUIRE(static_cast<index_t>(moduli.extent(0)) == grid_.cell_count(),
                    "ElasticityOperator::set_moduli: ", moduli.extent(0), " moduli; the grid has ", grid_.cell_count(),
                    " cells");
  moduli_ = moduli;
}

template <class ExecutionSpace, class Scalar>
void ElasticityOperator<ExecutionSpace, Scalar>::set_constraints(ExecutionSpace const& space, mask_type const& mask) {
  mask_ = mask;
  constrained_nodes_ = {};
  if (mask.extent(0) == 0) return;
  BRICKWORK_REQUIRE(static_cast<index_t>(mask.extent(0)) == grid_.node_count(),
                    "ElasticityOperator::set_constraints: ", mask.extent(0), " mask entries; the grid has ",
                    grid_.node_count(), " nodes");
  fence(space, "brickwork::ElasticityOperator::set_constraints::mask");
  auto const host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, mask);
  std::vector<index_t> nodes;
  for (index_t node = 0; node < grid_.node_count(); ++node) {
    if (host(node) != 0) nodes.push_back(node);
  }
  constrained_nodes_ =
      upload<Kokkos::View<index_t*, memory_space>>(nodes, "brickwork::ElasticityOperator::constrained_nodes");
}

template <class ExecutionSpace, class Scalar>
void ElasticityOperator<ExecutionSpace, Scalar>::update(ExecutionSpace const& space) {
  body_->update(space, data());
}

template <class ExecutionSpace, class Scalar>
void ElasticityOperator<ExecutionSpace, Scalar>::apply(ExecutionSpace const& space, const_vector_type const& u,
                                                       vector_type const& w) const {
  index_t const stride_u = stride_of("apply", "u", u);
  index_t const stride_w = stride_of("apply", "w", w);
  body_->apply(space, data(), {u.data(), w.data(), stride_u, stride_w});
}

template <class ExecutionSpace, class Scalar>
void ElasticityOperator<ExecutionSpace, Scalar>::apply(ExecutionSpace const& space, const_block_type const& u,
                                                       block_type const& w) const {
  auto const all = product("apply", u, w);
  auto const sides = static_cast<index_t>(u.extent(2));
  auto const operands = data();
  if (auto const* const form = body_->fused()) {
    form->run(space, operands, all, sides);
    return;
  }
  for (index_t side = 0; side < sides; ++side) {
    auto const one = all.select(side);
    body_->apply(space, operands, {one.u, one.w, one.stride_u, one.stride_w});
  }
}

template <class ExecutionSpace, class Scalar>
void ElasticityOperator<ExecutionSpace, Scalar>::apply_mixed(ExecutionSpace const& space,
                                                             const_double_vector_type const& u,
                                                             double_vector_type const& w) const {
  auto const& form = mixed("apply_mixed");
  index_t const stride_u = stride_of("apply_mixed", "u", u);
  index_t const stride_w = stride_of("apply_mixed", "w", w);
  if constexpr (std::is_same_v<Scalar, float>) {
    form.run(space, data(), detail::StoreProduct<double>{u.data(), w.data(), stride_u, stride_w, 0, 0});
  }
}

template <class ExecutionSpace, class Scalar>
void ElasticityOperator<ExecutionSpace, Scalar>::apply_dot(ExecutionSpace const& space, const_vector_type const& u,
                                                           vector_type const& w, sum_type const& dot) const {
  index_t const stride_u = stride_of("apply_dot", "u", u);
  index_t const stride_w = stride_of("apply_dot", "w", w);
  detail::StoreProductDot<Scalar> const form{{u.data(), w.data(), stride_u, stride_w, 0, 0}};
  apply_dot_sides(space, form, 1, dot.data());
}

template <class ExecutionSpace, class Scalar>
void ElasticityOperator<ExecutionSpace, Scalar>::apply_dot(ExecutionSpace const& space, const_block_type const& u,
                                                           block_type const& w, sums_type const& dots) const {
  BRICKWORK_REQUIRE(dots.extent(0) == u.extent(2), "ElasticityOperator::apply_dot: ", dots.extent(0), " sums for ",
                    u.extent(2), " right-hand sides");
  apply_dot_sides(space, detail::StoreProductDot<Scalar>{product("apply_dot", u, w)}, static_cast<index_t>(u.extent(2)),
                  dots.data());
}

template <class ExecutionSpace, class Scalar>
void ElasticityOperator<ExecutionSpace, Scalar>::apply_dot_sides(ExecutionSpace const& space,
                                                                 detail::StoreProductDot<Scalar> const& all,
                                                                 index_t sides, double* sums) const {
  auto const operands = data();
  if (auto const* const form = body_->fused()) {
    form->run(space, operands, all, sides, sums);
    return;
  }
  for (index_t side = 0; side < sides; ++side) {
    auto const one = all.select(side);
    body_->apply(space, operands, {one.store.u, one.store.w, one.store.stride_u, one.store.stride_w});
    detail::finish_nodes(space, operands, one, static_cast<Scalar const*>(one.store.w), one.store.stride_w,
                         sums + side);
  }
}

template <class ExecutionSpace, class Scalar>
void ElasticityOperator<ExecutionSpace, Scalar>::residual(ExecutionSpace const& space, const_vector_type const& f,
                                                          const_vector_type const& u, vector_type const& r) const {
  residual_form<false>(space, f, u, r, nullptr);
}

template <class ExecutionSpace, class Scalar>
void ElasticityOperator<ExecutionSpace, Scalar>::residual(ExecutionSpace const& space, const_vector_type const& f,
                                                          const_vector_type const& u, vector_type const& r,
                                                          sum_type const& squared_norm) const {
  residual_form<true>(space, f, u, r, squared_norm.data());
}

template <class ExecutionSpace, class Scalar>
template <bool Norm>
void ElasticityOperator<ExecutionSpace, Scalar>::residual_form(ExecutionSpace const& space, const_vector_type const& f,
                                                               const_vector_type const& u, vector_type const& r,
                                                               double* squared_norm) const {
  index_t const stride_f = stride_of("residual", "f", f);
  index_t const stride_u = stride_of("residual", "u", u);
  index_t const stride_r = stride_of("residual", "r", r);
  auto const operands = data();
  detail::StoreResidual<Scalar, Scalar, Norm> const form{u.data(), f.data(), r.data(), stride_u, stride_f,
                                                         stride_r, 0,        0,        0};
  auto const* const fused = body_->fused();
  BRICKWORK_REQUIRE(fused || f.data() != r.data(),
                    "ElasticityOperator::residual: r is f, which only the kernel parity can do");
  if (fused == nullptr) {
    body_->apply(space, operands, {u.data(), r.data(), stride_u, stride_r});
    detail::finish_nodes(space, operands, form, static_cast<Scalar const*>(r.data()), stride_r, squared_norm);
  } else if constexpr (Norm) {
    fused->run(space, operands, form, squared_norm);
  } else {
    fused->run(space, operands, form);
  }
}

template <class ExecutionSpace, class Scalar>
void ElasticityOperator<ExecutionSpace, Scalar>::residual_mixed(ExecutionSpace const& space,
                                                                const_double_vector_type const& f,
                                                                const_double_vector_type const& u,
                                                                double_vector_type const& r,
                                                                sum_type const& squared_norm) const {
  auto const& form = mixed("residual_mixed");
  index_t const stride_f = stride_of("residual_mixed", "f", f);
  index_t const stride_u = stride_of("residual_mixed", "u", u);
  index_t const stride_r = stride_of("residual_mixed", "r", r);
  if constexpr (std::is_same_v<Scalar, float>) {
    form.run(space, data(),
             detail::StoreResidual<double, double, true>{u.data(), f.data(), r.data(), stride_u, stride_f, stride_r, 0,
                                                         0, 0},
             squared_norm.data());
  }
}

template <class ExecutionSpace, class Scalar>
void ElasticityOperator<ExecutionSpace, Scalar>::relax(ExecutionSpace const& space, const_vector_type const& f,
                                                       const_vector_type const& u, cell_field_type const& inverse,
                                                       Scalar s, Scalar a, const_vector_type const& old, Scalar b,
                                                       vector_type const& result) const {
  if (a == Scalar(0)) {
    relax_form<true>(space, f, u, inverse, s, a, old, b, result);
  } else {
    relax_form<false>(space, f, u, inverse, s, a, old, b, result);
  }
}

template <class ExecutionSpace, class Scalar>
template <bool First>
void ElasticityOperator<ExecutionSpace, Scalar>::relax_form(ExecutionSpace const& space, const_vector_type const& f,
                                                            const_vector_type const& u, cell_field_type const& inverse,
                                                            Scalar s, Scalar a, const_vector_type const& old, Scalar b,
                                                            vector_type const& result) const {
  BRICKWORK_REQUIRE(u.data() != result.data(), "ElasticityOperator::relax: result is u; it needs a vector of its own");
  auto const* const fused = body_->fused();
  BRICKWORK_REQUIRE(First || fused || old.data() != result.data(),
                    "ElasticityOperator::relax: result is old, which only the kernel parity can do");
  check_vector("relax", "inverse", static_cast<index_t>(inverse.extent(0)), true);
  detail::Relaxation<Scalar, First> form;
  form.u = u.data();
  form.f = f.data();
  form.inverse = inverse.data();
  form.old = old.data();
  form.result = result.data();
  form.stride_u = stride_of("relax", "u", u);
  form.stride_f = stride_of("relax", "f", f);
  form.stride_old = First ? 0 : stride_of("relax", "old", old);
  form.stride_result = stride_of("relax", "result", result);
  form.s = s;
  form.a = a;
  form.b = b;
  auto const factors = diagonal_factors();
  for (int d = 0; d < 3; ++d) form.factor[d] = static_cast<Scalar>(1 / factors[static_cast<std::size_t>(d)]);
  auto const operands = data();
  if (fused) {
    fused->run(space, operands, form);
    return;
  }
  body_->apply(space, operands, {form.u, form.result, form.stride_u, form.stride_result});
  detail::finish_nodes(space, operands, form, static_cast<Scalar const*>(form.result), form.stride_result, nullptr);
}

template <class ExecutionSpace, class Scalar>
void ElasticityOperator<ExecutionSpace, Scalar>::diagonal(ExecutionSpace const& space,
                                                          vector_type const& diagonal) const {
  check_vector("diagonal", "diagonal", static_cast<index_t>(diagonal.extent(0)), diagonal.stride(0) == 1);
  Kokkos::parallel_for("brickwork::ElasticityOperator::diagonal", range(space, grid_.node_count()),
                       detail::Diagonal<Scalar>{data(), diagonal.data(), static_cast<index_t>(diagonal.stride(1))});
}

template <class ExecutionSpace, class Scalar>
void ElasticityOperator<ExecutionSpace, Scalar>::nodal_moduli(ExecutionSpace const& space,
                                                              CellField<Scalar, memory_space> const& sums) const {
  check_vector("nodal_moduli", "sums", static_cast<index_t>(sums.extent(0)), true);
  Kokkos::parallel_for("brickwork::ElasticityOperator::nodal_moduli", range(space, grid_.node_count()),
                       detail::NodalModuli<Scalar>{data(), sums.data()});
}

template <class ExecutionSpace, class Scalar>
std::array<double, 3> ElasticityOperator<ExecutionSpace, Scalar>::diagonal_factors() const {
  return {stiffness_[0][0], stiffness_[1][1], stiffness_[2][2]};
}

template <class ExecutionSpace, class Scalar>
template <class Real>
void ElasticityOperator<ExecutionSpace, Scalar>::accumulate_cell_energies(
    ExecutionSpace const& space, const_vector_type const& u, double weight, bool add,
    CellField<Real, memory_space> const& energies) const {
  check_vector("accumulate_cell_energies", "u", static_cast<index_t>(u.extent(0)), u.stride(0) == 1);
  BRICKWORK_REQUIRE(static_cast<index_t>(energies.extent(0)) == grid_.cell_count(),
                    "ElasticityOperator::accumulate_cell_energies: ", energies.extent(0), " energies; the grid has ",
                    grid_.cell_count(), " cells");
  auto const stride = static_cast<index_t>(u.stride(1));
  auto const cells = range(space, grid_.cell_count());
  if (!blocks_) {
    Kokkos::parallel_for(
        "brickwork::ElasticityOperator::cell_energies::dense", cells,
        detail::CellEnergiesDense<Scalar, Real>{data(), u.data(), stride, weight, add, energies.data()});
    return;
  }
  detail::CellEnergies<Scalar, Real> kernel;
  kernel.data = data();
  detail::copy_blocks(*blocks_, kernel.parity);
  kernel.u = u.data();
  kernel.stride = stride;
  kernel.weight = weight;
  kernel.add = add;
  kernel.energies = energies.data();
  Kokkos::parallel_for("brickwork::ElasticityOperator::cell_energies", cells, kernel);
}

#define BRICKWORK_INSTANTIATE_ENERGIES(SPACE, SCALAR, REAL)                        \
  template void ElasticityOperator<SPACE, SCALAR>::accumulate_cell_energies<REAL>( \
      SPACE const&, const_vector_type const&, double, bool, CellField<REAL, memory_space> const&) const;
#define BRICKWORK_INSTANTIATE(SPACE)                   \
  template class ElasticityOperator<SPACE, float>;     \
  template class ElasticityOperator<SPACE, double>;    \
  BRICKWORK_INSTANTIATE_ENERGIES(SPACE, float, float)  \
  BRICKWORK_INSTANTIATE_ENERGIES(SPACE, float, double) \
  BRICKWORK_INSTANTIATE_ENERGIES(SPACE, double, float) \
  BRICKWORK_INSTANTIATE_ENERGIES(SPACE, double, double)
BRICKWORK_FOR_EACH_EXECUTION_SPACE(BRICKWORK_INSTANTIATE)
#undef BRICKWORK_INSTANTIATE
#undef BRICKWORK_INSTANTIATE_ENERGIES

}  // namespace brickwork
