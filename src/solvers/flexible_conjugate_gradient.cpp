// SPDX-License-Identifier: BSD-3-Clause
#include "brickwork/solvers/flexible_conjugate_gradient.hpp"

#include <cmath>
#include <type_traits>

#include "brickwork/core/check.hpp"
#include "brickwork/core/for_each.hpp"
#include "brickwork/core/instantiate.hpp"
#include "brickwork/solvers/detail/multigrid_kernels.hpp"
#include "brickwork/solvers/detail/strain_force.hpp"

namespace brickwork {

namespace detail {

// Positions in the vector of scalars.
enum FcgScalar { fcg_curvature = 0, fcg_rz = 1, fcg_beta = 2, fcg_rr = 3, fcg_count = 4 };

/// u = f on constrained components of the loaded nodes; sums f.f.
struct ImposeForces {
  index_t const* nodes;
  double const* forces;
  std::uint8_t const* mask;
  double* u;
  index_t stride;
  KOKKOS_FUNCTION void operator()(index_t i, double* sums) const {
    int const fixed = mask ? mask[nodes[i]] : 0;
    for (int d = 0; d < 3; ++d) {
      double const force = forces[3 * i + d];
      sums[0] += force * force;
      if ((fixed >> d) & 1) u[nodes[i] + d * stride] = force;
    }
  }
};

struct SubtractForces {
  index_t const* nodes;
  double const* forces;
  double* product;
  index_t stride;
  KOKKOS_FUNCTION void operator()(index_t i) const {
    for (int d = 0; d < 3; ++d) product[nodes[i] + d * stride] -= forces[3 * i + d];
  }
};

/// r = -difference in FP32, with r.r of the FP64 values.
struct NegateDifference {
  double const* difference;
  float* r;
  index_t stride_difference, stride_r;
  KOKKOS_FUNCTION void operator()(index_t node, double* sums) const {
    for (int d = 0; d < 3; ++d) {
      double const value = -difference[node + d * stride_difference];
      r[node + d * stride_r] = static_cast<float>(value);
      sums[0] += value * value;
    }
  }
};

struct SquaredNorm {
  float const* v;
  index_t stride;
  KOKKOS_FUNCTION void operator()(index_t node, double* sums) const {
    for (int d = 0; d < 3; ++d) {
      double const value = static_cast<double>(v[node + d * stride]);
      sums[0] += value * value;
    }
  }
};

struct ToDouble {
  float const* from;
  double* to;
  KOKKOS_FUNCTION void operator()(index_t i) const { to[i] = static_cast<double>(from[i]); }
};

/// z.r and z.w
struct PreconditionedDots {
  float const *z, *r, *w;
  index_t stride;
  KOKKOS_FUNCTION void operator()(index_t node, double* sums) const {
    for (int d = 0; d < 3; ++d) {
      index_t const i = node + d * stride;
      sums[0] += static_cast<double>(z[i] * r[i]);
      sums[1] += static_cast<double>(z[i] * w[i]);
    }
  }
};
struct PreconditionedDot {
  float const *z, *r;
  index_t stride;
  KOKKOS_FUNCTION void operator()(index_t node, double* sums) const {
    for (int d = 0; d < 3; ++d) sums[0] += static_cast<double>(z[node + d * stride] * r[node + d * stride]);
  }
};
/// beta = z.(r - r_old) / z_old.r_old with r - r_old = -alpha w and alpha = z_old.r_old / p.w
struct StoreBeta {
  double* scalars;
  KOKKOS_FUNCTION void operator()(double const* sums) const {
    scalars[fcg_beta] = -sums[1] / scalars[fcg_curvature];
    scalars[fcg_rz] = sums[0];
  }
};
struct StoreStart {
  double* scalars;
  KOKKOS_FUNCTION void operator()(double const* sums) const {
    scalars[fcg_beta] = 0;
    scalars[fcg_rz] = sums[0];
  }
};

/// p = z + beta p
struct NextDirection {
  float const* z;
  float* p;
  double const* scalars;
  index_t stride;
  bool start;
  KOKKOS_FUNCTION void operator()(index_t node) const {
    float const beta = static_cast<float>(scalars[fcg_beta]);
    for (int d = 0; d < 3; ++d) {
      index_t const i = node + d * stride;
      p[i] = start ? z[i] : z[i] + beta * p[i];
    }
  }
};

/// u -= alpha p: a step that rounding made is taken back.
struct UndoStep {
  float const* p;
  double* u;
  index_t stride, stride_u;
  double const* scalars;
  KOKKOS_FUNCTION void operator()(index_t node) const {
    if (!(scalars[fcg_curvature] > 0 && scalars[fcg_rz] > 0)) return;  // nor was it taken
    double const alpha = scalars[fcg_rz] / scalars[fcg_curvature];
    for (int d = 0; d < 3; ++d) u[node + d * stride_u] -= alpha * static_cast<double>(p[node + d * stride]);
  }
};

/// u += alpha p in FP64, r -= alpha w, and r.r
struct TakeStep {
  float const *p, *w;
  float* r;
  double* u;
  index_t stride, stride_u;
  double const* scalars;
  KOKKOS_FUNCTION void operator()(index_t node, double* sums) const {
    // A breakdown must not reach u (p may hold anything then): the host reads the scalars and stops.
    if (!(scalars[fcg_curvature] > 0 && scalars[fcg_rz] > 0)) return;
    double const alpha = scalars[fcg_rz] / scalars[fcg_curvature];
    float const step = static_cast<float>(alpha);
    float part = 0;
    for (int d = 0; d < 3; ++d) {
      index_t const i = node + d * stride;
      u[node + d * stride_u] += alpha * static_cast<double>(p[i]);
      float const residual = r[i] - step * w[i];
      r[i] = residual;
      part += residual * residual;
    }
    sums[0] += static_cast<double>(part);
  }
};

}  // namespace detail

namespace {

// The recursive residual is in FP32: it must claim a little more than what is asked for.
constexpr double claim = 0.95;

// A body without supports has its residual replaced by f - K u whenever the recurrence's has dropped by this factor.
// Rounding of the recurrence leaves resultants on islands in void (some 1e-6 of the load) that f - K u does not have,
// and motions of the islands by 1e9 times as much would be needed to balance them.
constexpr double replacement = 1e-3;

// Steps with an exact residual and without a new least one, after which the precision's floor is reached.
constexpr int stall_checks = 25;

constexpr int most_restarts = 3;

// Where the residual of a body without supports grows by this much over its least after a refinement, iterates diverge:
// what is left of it is rounding. (Elsewhere residuals may grow a long way before they fall.)
constexpr double runaway = 100;

// A solve that has drifted begins again from its true residual while it took no more iterations than this; directions
// that were harder to come by are kept.
constexpr int cheap_directions = 40;

// A solve turns to deep cycles after this many iterations, and the next ones stay there until one needs few.
constexpr int hard_iterations = 9;
constexpr int easy_iterations = 7;

// Deep cycles cost about this many times as much as shallow ones: where they do not reduce the residual so much faster,
// the next solves do without them.
constexpr double deep_cost = 1.25;
constexpr int shallow_solves = 12;

// The same for local smoothing of grey nodes.
constexpr int stuck_iterations = 18;
constexpr int free_iterations = 9;

// Floats between the work vectors: whole groups of four, so that an FP64 view of two of them is aligned.
index_t vector_length(BoxGrid const& grid) { return (grid.dof_count() + 3) / 4 * 4; }

}  // namespace

template <class ExecutionSpace>
FlexibleConjugateGradient<ExecutionSpace>::FlexibleConjugateGradient(ExecutionSpace const& space, BoxGrid const& grid,
                                                                     Communicator const& communicator)
    : grid_(grid), communicator_(communicator), workspace_(space), modes_(space, grid, communicator) {
  index_t const length = vector_length(grid);
  block_ =
      allocate<Kokkos::View<float*, memory_space>>(space, "brickwork::FlexibleConjugateGradient::vectors", 5 * length);
  inner_vector* const vectors[] = {&r_, &p_, &w_, &z_, &t_};
  for (int i = 0; i < 5; ++i)
    *vectors[i] = Kokkos::View<float* [3], Kokkos::LayoutLeft, memory_space, Kokkos::MemoryUnmanaged>(
        block_.data() + i * length, static_cast<std::size_t>(grid.node_count()));
  scalars_ = allocate<Kokkos::View<double*, memory_space>>(space, "brickwork::FlexibleConjugateGradient::scalars",
                                                           detail::fcg_count);
  host_scalars_ = Kokkos::create_mirror_view(scalars_);
}

template <class ExecutionSpace>
index_t FlexibleConjugateGradient<ExecutionSpace>::bytes(BoxGrid const& grid) {
  return 5 * 4 * vector_length(grid);
}

template <class ExecutionSpace>
typename FlexibleConjugateGradient<ExecutionSpace>::Scalars FlexibleConjugateGradient<ExecutionSpace>::read(
    ExecutionSpace const& space) {
  Kokkos::deep_copy(space, host_scalars_, scalars_);
  fence(space, "brickwork::FlexibleConjugateGradient::solve::read");
  return {host_scalars_(detail::fcg_curvature), host_scalars_(detail::fcg_rz), host_scalars_(detail::fcg_rr)};
}

template <class ExecutionSpace>
void FlexibleConjugateGradient<ExecutionSpace>::add_stiffness(ExecutionSpace const& space, Hex8Matrix const& stiffness,
                                                              CellField<float, memory_space> const& moduli,
                                                              NodeMask<memory_space> const& mask) {
  added_ = std::unique_ptr<Added>(new Added{stiffness, moduli, {space, grid_, stiffness}, {space, grid_, stiffness}});
  added_->inner.set_moduli(moduli);
  if (mask.extent(0) == 0) return;
  added_->outer.set_constraints(space, mask);
  added_->inner.set_constraints(space, mask);
}

// Imposes the prescribed values on u. Returns |f|.
template <class ExecutionSpace>
double FlexibleConjugateGradient<ExecutionSpace>::impose(ExecutionSpace const& space, outer_operator const& outer,
                                                         inner_operator const&, forces_type const& f,
                                                         outer_vector const& u) {
  BRICKWORK_REQUIRE(f.forces.extent(0) == 3 * f.nodes.extent(0),
                    "FlexibleConjugateGradient::solve: ", f.forces.extent(0), " force components for ",
                    f.nodes.extent(0), " nodes");
  sum_each<1>("brickwork::FlexibleConjugateGradient::impose", space, static_cast<index_t>(f.nodes.extent(0)),
              detail::ImposeForces{f.nodes.data(), f.forces.data(),
                                   outer.constraints().extent(0) > 0 ? outer.constraints().data() : nullptr, u.data(),
                                   static_cast<index_t>(u.stride(1))},
              workspace_, StoreSums<1>{scalars_.data() + detail::fcg_rr});
  communicator_.sum(space, scalars_);
  return std::sqrt(read(space).rr);
}

// 0 where the forces are the rounding of zero.
template <class ExecutionSpace>
double FlexibleConjugateGradient<ExecutionSpace>::impose(ExecutionSpace const& space, outer_operator const&,
                                                         inner_operator const& inner, StrainLoad const& f,
                                                         outer_vector const&) {
  static_assert(detail::fcg_rr == detail::fcg_beta + 1, "two sums lie side by side");
  detail::StrainForce const force(inner.moduli().data(), grid_, inner.stiffness(), f.strain);
  auto const sum = [&](auto const& norm) {
    sum_each<2>("brickwork::FlexibleConjugateGradient::impose_strain", space, grid_.node_count(), norm, workspace_,
                StoreSums<2>{scalars_.data() + detail::fcg_beta});
  };
  if (added_) {
    sum(detail::StrainForceNorm<detail::StrainForcePair>{
        {force, {added_->moduli.data(), grid_, added_->stiffness, f.strain}}});
  } else {
    sum(detail::StrainForceNorm<detail::StrainForce>{force});
  }
  communicator_.sum(space, scalars_);
  double const parts = std::sqrt(read(space).rr), norm = std::sqrt(host_scalars_(detail::fcg_beta));
  return norm <= detail::strain_force_rounding * parts ? 0.0 : norm;
}

// product -= f
template <class ExecutionSpace>
void FlexibleConjugateGradient<ExecutionSpace>::subtract(ExecutionSpace const& space, outer_operator const&,
                                                         inner_operator const&, forces_type const& f,
                                                         outer_vector const& product) {
  for_each(
      "brickwork::FlexibleConjugateGradient::residual::forces", space, static_cast<index_t>(f.nodes.extent(0)),
      detail::SubtractForces{f.nodes.data(), f.forces.data(), product.data(), static_cast<index_t>(product.stride(1))});
}

template <class ExecutionSpace>
void FlexibleConjugateGradient<ExecutionSpace>::subtract(ExecutionSpace const& space, outer_operator const& outer,
                                                         inner_operator const& inner, StrainLoad const& f,
                                                         outer_vector const& product) {
  auto const subtract_force = [&](float const* moduli, Hex8Matrix const& stiffness) {
    for_each("brickwork::FlexibleConjugateGradient::residual::strain", space, grid_.node_count(),
             detail::StrainForceStore<double>{detail::StrainForce(moduli, grid_, stiffness, f.strain), product.data(),
                                              static_cast<index_t>(product.stride(1)), true});
  };
  subtract_force(inner.moduli().data(), inner.stiffness());
  if (added_) subtract_force(added_->moduli.data(), added_->stiffness);
  auto const constrained = outer.constrained_nodes();
  if (constrained.extent(0) > 0) {
    for_each("brickwork::FlexibleConjugateGradient::residual::constrained", space,
             static_cast<index_t>(constrained.extent(0)),
             detail::ClearConstrained<double>{constrained.data(), outer.constraints().data(), product.data(),
                                              static_cast<index_t>(product.stride(1))});
  }
}

// |f - K u| in FP64; leaves the residual in r. p and w survive, z and t (the product) do not; the moduli in FP64 lie in
// r until it is written.
template <class ExecutionSpace>
template <class Load>
double FlexibleConjugateGradient<ExecutionSpace>::true_residual(ExecutionSpace const& space, outer_operator& outer,
                                                                inner_operator const& inner, Load const& f,
                                                                outer_vector const& u) {
  auto const nodes = static_cast<std::size_t>(grid_.node_count());
  auto const cells = static_cast<std::size_t>(grid_.cell_count());
  outer_vector const product = Kokkos::View<double* [3], Kokkos::LayoutLeft, memory_space, Kokkos::MemoryUnmanaged>(
      reinterpret_cast<double*>(z_.data()), nodes);
  CellField<double, memory_space> const moduli =
      Kokkos::View<double*, Kokkos::LayoutLeft, memory_space, Kokkos::MemoryUnmanaged>(
          reinterpret_cast<double*>(r_.data()), cells);
  for_each("brickwork::FlexibleConjugateGradient::residual::moduli", space, grid_.cell_count(),
           detail::ToDouble{inner.moduli().data(), moduli.data()});
  outer.set_moduli(moduli);
  outer.apply(space, u, product);
  if (added_) {
    for_each("brickwork::FlexibleConjugateGradient::residual::added_moduli", space, grid_.cell_count(),
             detail::ToDouble{added_->moduli.data(), moduli.data()});
    added_->outer.set_moduli(moduli);
    added_->outer.add(space, u, product);
  }
  auto const stride = static_cast<index_t>(product.stride(1));
  subtract(space, outer, inner, f, product);
  auto const stride_r = static_cast<index_t>(r_.stride(1));
  StoreSums<1> const store{scalars_.data() + detail::fcg_rr};
  sum_each<1>("brickwork::FlexibleConjugateGradient::residual", space, grid_.node_count(),
              detail::NegateDifference{product.data(), r_.data(), stride, stride_r}, workspace_, store);
  if (modes_.count() > 0) {
    modes_.remove(space, r_);  // what K cannot reach
    sum_each<1>("brickwork::FlexibleConjugateGradient::residual::projected", space, grid_.node_count(),
                detail::SquaredNorm{r_.data(), stride_r}, workspace_, store);
  }
  communicator_.sum(space, scalars_);
  return std::sqrt(read(space).rr);
}

template <class ExecutionSpace>
SolveResult FlexibleConjugateGradient<ExecutionSpace>::solve(ExecutionSpace const& space, outer_operator& outer,
                                                             inner_operator const& inner,
                                                             multigrid_type const& multigrid, forces_type const& f,
                                                             outer_vector const& u, SolveOptions const& options) {
  return solve_load(space, outer, inner, multigrid, f, u, options);
}
template <class ExecutionSpace>
SolveResult FlexibleConjugateGradient<ExecutionSpace>::solve(ExecutionSpace const& space, outer_operator& outer,
                                                             inner_operator const& inner,
                                                             multigrid_type const& multigrid, StrainLoad const& f,
                                                             outer_vector const& u, SolveOptions const& options) {
  return solve_load(space, outer, inner, multigrid, f, u, options);
}

// Gives deep cycles up where they gain nothing: in cells of random phases, say, whose error no coarse level sees. Where
// grey nodes are about to be smoothed they are needed.
template <class ExecutionSpace>
void FlexibleConjugateGradient<ExecutionSpace>::judge_cycle(ExecutionSpace const& space,
                                                            multigrid_type const& multigrid, int iterations,
                                                            double log_residual, Stretch const& stretch) {
  if (!deep_ || !(shallow_rate_ < 0) || iterations - stretch.begin != hard_iterations) return;
  if (stretch.rate(iterations, log_residual) < deep_cost * shallow_rate_ || multigrid.list_grey(space)) return;
  deep_ = false;
  shallow_solves_ = shallow_solves;
}

template <class ExecutionSpace>
template <class Load>
SolveResult FlexibleConjugateGradient<ExecutionSpace>::solve_load(ExecutionSpace const& space, outer_operator& outer,
                                                                  inner_operator const& inner,
                                                                  multigrid_type const& multigrid, Load const& f,
                                                                  outer_vector const& u, SolveOptions const& options) {
  ScopedRegion const region("brickwork::FlexibleConjugateGradient::solve");
  index_t const nodes = grid_.node_count();
  BRICKWORK_REQUIRE(static_cast<index_t>(u.extent(0)) == nodes, "FlexibleConjugateGradient::solve: u has ", u.extent(0),
                    " nodes; the grid has ", nodes);
  BRICKWORK_REQUIRE(options.tolerance > 0 && options.tolerance < 1, "FlexibleConjugateGradient::solve: tolerance ",
                    options.tolerance, "; it must lie in (0, 1)");
  BRICKWORK_REQUIRE(static_cast<index_t>(inner.moduli().extent(0)) == grid_.cell_count(),
                    "FlexibleConjugateGradient::solve: the operator has no moduli yet");

  double* const scalars = scalars_.data();
  auto const stride_u = static_cast<index_t>(u.stride(1));
  auto const constrained = outer.constrained_nodes();
  for_each("brickwork::FlexibleConjugateGradient::constrain", space, static_cast<index_t>(constrained.extent(0)),
           detail::ClearConstrained<double>{constrained.data(), outer.constraints().data(), u.data(), stride_u});
  double const load = impose(space, outer, inner, f, u);
  if (std::is_same_v<Load, StrainLoad> && load == 0) {  // a uniform cell
    Kokkos::deep_copy(space, u, 0.0);
    return {};
  }
  BRICKWORK_REQUIRE(std::isfinite(load) && load > 0, "FlexibleConjugateGradient::solve: the right-hand side has norm ",
                    load, "; a finite, non-zero load is needed");

  auto const stride = static_cast<index_t>(r_.stride(1));
  auto const curvature = Kokkos::View<double, memory_space, Kokkos::MemoryUnmanaged>(scalars + detail::fcg_curvature);
  StoreSums<1> const store_rr{scalars + detail::fcg_rr};
  SolveResult result;
  double truth = true_residual(space, outer, inner, f, u) / load;
  result.residual_evaluations = 1;
  double best_truth = truth;
  double residual = truth, least = truth;  // of the recurrence
  bool refined = false;
  Stretch stretch{0, std::log(truth)};
  if (shallow_solves_ > 0) --shallow_solves_;
  int failed_checks = 0;
  bool start = true;
  // The recurrence of the residual is in FP32. Where it drifts (stiff parts that move as a whole lose digits in
  // rotations) every further step recomputes the residual in FP64; the directions go on.
  bool exact = false;
  bool const adaptive = options.adaptive_cycle;
  int restarts = 0;  // after a breakdown: a direction that lost its descent, where the rest may still be good
  while (!(truth <= options.tolerance)) {
    if (!std::isfinite(truth)) {
      result.status = SolveStatus::breakdown;
      break;
    }
    if (result.iterations >= options.max_iterations) {
      result.status = SolveStatus::capped;
      break;
    }
    if (adaptive && options.judge_cycle) judge_cycle(space, multigrid, result.iterations, std::log(residual), stretch);
    // Most designs are easy; where one is not, Krylov steps on every coarse level pay, here and in the next designs.
    // Where these do not help either, loose grey material may be what is left.
    if (adaptive && !deep_ && result.iterations == hard_iterations && shallow_solves_ == 0) {
      shallow_rate_ = stretch.rate(result.iterations, std::log(residual));
      stretch = {result.iterations, std::log(residual)};
      deep_ = true;
    }
    if (adaptive && result.iterations == stuck_iterations) grey_ = true;
    multigrid.apply(space, r_, z_, {adaptive && !deep_ ? 1 : -1, adaptive && grey_});
    modes_.remove(space, z_);
    if (start) {
      sum_each<1>("brickwork::FlexibleConjugateGradient::start", space, nodes,
                  detail::PreconditionedDot{z_.data(), r_.data(), stride}, workspace_, detail::StoreStart{scalars});
    } else {
      sum_each<2>("brickwork::FlexibleConjugateGradient::beta", space, nodes,
                  detail::PreconditionedDots{z_.data(), r_.data(), w_.data(), stride}, workspace_,
                  detail::StoreBeta{scalars});
    }
    communicator_.sum(space, scalars_);
    for_each("brickwork::FlexibleConjugateGradient::direction", space, nodes,
             detail::NextDirection{z_.data(), p_.data(), scalars, stride, start});
    if (exact && !start) {  // r was replaced: p.r is no longer z.r
      sum_each<1>("brickwork::FlexibleConjugateGradient::descent", space, nodes,
                  detail::PreconditionedDot{p_.data(), r_.data(), stride}, workspace_,
                  StoreSums<1>{scalars + detail::fcg_rz});
      communicator_.sum(space, scalars_);
    }
    start = false;
    if (added_) {
      multigrid.free_operator().apply(space, p_, w_);
      added_->inner.add_dot(space, p_, w_, curvature);
    } else {
      multigrid.free_operator().apply_dot(space, p_, w_, curvature);
    }
    multigrid.clear_constrained(space, w_);
    communicator_.sum(space, curvature);
    sum_each<1>("brickwork::FlexibleConjugateGradient::step", space, nodes,
                detail::TakeStep{p_.data(), w_.data(), r_.data(), u.data(), stride, stride_u, scalars}, workspace_,
                store_rr);
    modes_.remove(space, r_);  // what rounding adds no step can reduce
    communicator_.sum(space, scalars_);
    ++result.iterations;
    Scalars const now = read(space);
    double const recursive = std::sqrt(now.rr) / load;
    if (refined && modes_.count() > 0 && std::isfinite(recursive) && recursive > runaway * least) {
      // Residual and directions were rounding: there is nothing left to gain.
      for_each("brickwork::FlexibleConjugateGradient::undo", space, nodes,
               detail::UndoStep{p_.data(), u.data(), stride, stride_u, scalars});
      truth = true_residual(space, outer, inner, f, u) / load;
      ++result.residual_evaluations;
      if (!(truth <= options.tolerance)) result.status = SolveStatus::stalled;
      break;
    }
    residual = recursive;
    least = std::min(least, recursive);
    bool const broken = !(now.curvature > 0) || !(now.rz > 0) || !std::isfinite(recursive);
    bool const claims = recursive <= claim * options.tolerance;
    bool const replaced = modes_.count() > 0 && recursive <= replacement * truth;
    if (!(exact || broken || claims || replaced || result.iterations >= options.max_iterations)) continue;

    truth = true_residual(space, outer, inner, f, u) / load;
    ++result.residual_evaluations;
    if (broken && std::isfinite(truth) && restarts < most_restarts) {
      ++restarts;
      start = true;
      residual = least = truth;
      continue;
    }
    if (broken) {
      if (!(truth <= options.tolerance)) result.status = SolveStatus::breakdown;  // also where it is no number
      break;
    }
    if (claims && !exact && truth > options.tolerance && result.iterations <= cheap_directions) {
      start = refined = true;  // the recurrence is good for some more digits from here
      residual = least = truth;
      continue;
    }
    if (exact || (claims && truth > options.tolerance)) {
      exact = true;
      failed_checks = truth < 0.999 * best_truth ? 0 : failed_checks + 1;
      // Directions that no longer gain anything are lost: begin again from the residual.
      if (failed_checks == stall_checks - 5) start = true;
      if (truth > options.tolerance && failed_checks >= stall_checks) {
        result.status = SolveStatus::stalled;
        break;
      }
    }
    best_truth = std::min(best_truth, truth);
  }
  if (result.iterations <= easy_iterations) deep_ = false;
  if (result.iterations <= free_iterations) grey_ = false;
  result.true_relative_residual = truth;
  modes_.remove(space, u);
  return result;
}

#define BRICKWORK_INSTANTIATE(SPACE) template class FlexibleConjugateGradient<SPACE>;
BRICKWORK_FOR_EACH_EXECUTION_SPACE(BRICKWORK_INSTANTIATE)
#undef BRICKWORK_INSTANTIATE

}  // namespace brickwork
