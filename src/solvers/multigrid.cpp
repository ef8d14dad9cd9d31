// SPDX-License-Identifier: BSD-3-Clause
#include "brickwork/solvers/multigrid.hpp"

#include <Eigen/Dense>
#include <algorithm>
#include <deque>

#include "brickwork/core/check.hpp"
#include "brickwork/core/for_each.hpp"
#include "brickwork/core/instantiate.hpp"
#include "brickwork/operators/detail/elasticity_tensor_core.hpp"
#include "brickwork/operators/detail/stencil_assembly.hpp"
#include "brickwork/solvers/detail/dense_inverse.hpp"
#include "brickwork/solvers/detail/half_stencil.hpp"
#include "brickwork/solvers/detail/launch_graph.hpp"
#include "brickwork/solvers/detail/local_smoother.hpp"
#include "brickwork/solvers/detail/multigrid_kernels.hpp"
#include "brickwork/solvers/detail/smoothers.hpp"

namespace brickwork {

namespace {

using detail::VectorRef;

template <class ExecutionSpace>
constexpr bool on_host =
    Kokkos::SpaceAccessibility<Kokkos::HostSpace, typename ExecutionSpace::memory_space>::accessible;

template <class ExecutionSpace>
index_t coarsest_dofs(MultigridSettings const& settings) {
  if (settings.coarsest_dofs > 0) return settings.coarsest_dofs;
  return on_host<ExecutionSpace> ? 400 : 1536;
}

// A grid that is coarsest itself gets a copy of itself below, where the dense inverse is.
struct LevelGrid {
  BoxGrid grid;
  std::array<int, 3> factor;
};
std::vector<LevelGrid> level_grids(GridHierarchy const& hierarchy) {
  std::vector<LevelGrid> levels;
  for (int l = 0; l < hierarchy.size(); ++l) levels.push_back({hierarchy[l].grid, hierarchy[l].factor});
  if (levels.size() == 1) levels.push_back(levels.front());
  return levels;
}

int matrix_free_levels(int levels) { return levels >= 3 ? 2 : 1; }

// The most coarse levels with a K-cycle. Each doubles the visits to all levels below it, so it must have at most a
// third of the nodes of the one above; the coarsest is solved exactly.
int krylov_levels(std::vector<LevelGrid> const& levels, MultigridSettings const& settings) {
  int const limit = static_cast<int>(levels.size()) - 2;
  if (settings.krylov_levels >= 0) return std::min(settings.krylov_levels, limit);
  int count = 0;
  while (count < limit && 3 * levels[static_cast<std::size_t>(count + 1)].grid.node_count() <=
                              levels[static_cast<std::size_t>(count)].grid.node_count())
    ++count;
  return count;
}

// Where the vectors of a coarse level lie, in the order right-hand side, c1, temporary, c2, A c1: offsets into the
// temporary of the finest level, -1 where there is no room and the vector has memory of its own.
struct VectorPlan {
  index_t margin;  // floats before, between and behind the components
  index_t stride;  // between the components
  std::vector<index_t> offsets;
  index_t length() const { return 3 * stride + margin; }
};

// The temporary of the finest level is idle between restriction and prolongation: the vectors of all coarse levels lie
// in it where it has room, in whole groups of four floats, but the right-hand side of level 1, which is made while it
// is read. What surrounds a vector of a stencil level (its margin) only has to be finite.
std::vector<VectorPlan> plan_vectors(std::vector<LevelGrid> const& levels, int krylov) {
  int const count = static_cast<int>(levels.size());
  index_t const room = levels.front().grid.dof_count();
  index_t next = 0;
  std::vector<VectorPlan> plans(1);
  for (int l = 1; l < count; ++l) {
    BoxGrid const& grid = levels[static_cast<std::size_t>(l)].grid;
    index_t const margin = l < matrix_free_levels(count) ? 0 : detail::stencil_margin(grid);
    VectorPlan plan{margin, grid.node_count() + margin, {}};
    index_t const floats = (plan.length() + 3) / 4 * 4;
    int const vectors = l + 1 == count ? 2 : (l <= krylov ? 5 : 3);
    for (int i = 0; i < vectors; ++i) {
      bool const fits = next + floats <= room && !(l == 1 && i == 0);
      plan.offsets.push_back(fits ? next : -1);
      if (fits) next += floats;
    }
    plans.push_back(plan);
  }
  return plans;
}

// Stiffness of a cell, products of its children, coefficients of moduli: of the last matrix-free level.
constexpr index_t table_bytes = 4 * (576 + 576 * detail::all_children + 14 * 9 * detail::all_slots);

// Whether a step with a previous iterate, which the result replaces, needs a third vector.
bool needs_product(MultigridSettings const& settings) {
  return settings.degree > 1 && (settings.smoother == Smoother::block_jacobi || settings.smoother == Smoother::bf16);
}

// Two colours per axis need an even number of nodes on a periodic one. The coarsest level is not smoothed.
void check_colors(std::vector<LevelGrid> const& levels) {
  for (std::size_t l = 0; l + 1 < levels.size(); ++l)
    for (std::size_t axis = 0; axis < 3; ++axis) {
      BoxGrid const& grid = levels[l].grid;
      BRICKWORK_REQUIRE(!grid.periodic()[axis] || grid.cells()[axis] % 2 == 0,
                        "ElasticityMultigrid: the smoother gauss_seidel needs an even number of cells along periodic ",
                        "axes; level ", l, " has ", grid.cells()[axis], " along ", static_cast<char>('x' + axis));
    }
}

// Products of the unit cell: P_c^T K0 P_c per child c (detail::all_children of them), row 3 a + d.
std::vector<Hex8Matrix> child_products(Hex8Matrix const& stiffness) {
  std::vector<Hex8Matrix> products;
  Eigen::Matrix<double, 24, 24> k;
  for (int r = 0; r < 24; ++r)
    for (int c = 0; c < 24; ++c) k(r, c) = stiffness[static_cast<std::size_t>(r)][static_cast<std::size_t>(c)];
  for (int o = 0; o < detail::all_children; ++o) {
    constexpr int n = detail::axis_children;
    int const part[3] = {o % n, o / n % n, o / n / n};
    Eigen::Matrix<double, 24, 24> p = Eigen::Matrix<double, 24, 24>::Zero();
    for (int m = 0; m < 8; ++m)
      for (int a = 0; a < 8; ++a) {
        double weight = 1;
        for (int axis = 0; axis < 3; ++axis)
          weight *= detail::child_weight(part[axis], (m >> axis) & 1, (a >> axis) & 1);
        for (int d = 0; d < 3; ++d) p(3 * m + d, 3 * a + d) = weight;
      }
    Eigen::Matrix<double, 24, 24> const product = p.transpose() * k * p;
    Hex8Matrix out;
    for (int r = 0; r < 24; ++r)
      for (int c = 0; c < 24; ++c) out[static_cast<std::size_t>(r)][static_cast<std::size_t>(c)] = product(r, c);
    products.push_back(out);
  }
  return products;
}

// The stiffness of a coarse cell that is full of equal children.
Hex8Matrix coarse_stiffness(Hex8Matrix const& stiffness, std::array<int, 3> const& factor) {
  auto const products = child_products(stiffness);
  Hex8Matrix sum{};
  for (int o = 0; o < detail::all_children; ++o) {
    constexpr int n = detail::axis_children;
    int const part[3] = {o % n, o / n % n, o / n / n};
    bool fills = true;
    for (std::size_t axis = 0; axis < 3; ++axis)
      fills = fills && (part[axis] == detail::whole_child) == (factor[axis] == 1);
    for (std::size_t r = 0; fills && r < 24; ++r)
      for (std::size_t c = 0; c < 24; ++c) sum[r][c] += products[static_cast<std::size_t>(o)][r][c];
  }
  return sum;
}

// Bounds of the spectrum of D^-1 A: that of one cell alone, the largest eigenvalue of D0^-1 K0, which holds for any
// moduli since A and D are sums over cells with the same weights; and that of an endless grid of equal cells, which is
// the largest eigenvalue of the symbol, found at wave numbers 0 and pi. D is the diagonal, or with `blocks` the 3 x 3
// blocks of the nodes; then the bound of a single cell serves everywhere, since it is hardly above that of equal cells
// (Poisson's ratio 0.3, cubes: 3.16 and 2.86; point diagonal: 5.32 and 2.86).
struct SpectralBounds {
  double single, uniform;
};

SpectralBounds spectral_bounds(Hex8Matrix const& stiffness, bool blocks) {
  Eigen::Matrix<double, 24, 24> scaled;
  for (int r = 0; r < 24; ++r)
    for (int c = 0; c < 24; ++c) {
      auto const i = static_cast<std::size_t>(r), j = static_cast<std::size_t>(c);
      scaled(r, c) = stiffness[i][j] / std::sqrt(stiffness[i][i] * stiffness[j][j]);
    }
  SpectralBounds bounds{};
  Eigen::Matrix<double, 24, 24> diagonal = Eigen::Matrix<double, 24, 24>::Identity();
  for (int a = 0; blocks && a < 8; ++a) diagonal.block<3, 3>(3 * a, 3 * a) = scaled.block<3, 3>(3 * a, 3 * a);
  bounds.single =
      Eigen::GeneralizedSelfAdjointEigenSolver<Eigen::Matrix<double, 24, 24>>(scaled, diagonal, Eigen::EigenvaluesOnly)
          .eigenvalues()
          .maxCoeff();
  if (blocks) return {bounds.single, bounds.single};
  for (int wave = 1; wave < 8; ++wave) {
    Eigen::Matrix3d symbol = Eigen::Matrix3d::Zero();
    for (int a = 0; a < 8; ++a)
      for (int b = 0; b < 8; ++b) {
        int const bits = (a ^ b) & wave;
        int const flips = (bits & 1) + ((bits >> 1) & 1) + (bits >> 2);
        symbol += (flips % 2 == 0 ? 1.0 : -1.0) / 8 * scaled.block<3, 3>(3 * a, 3 * b);
      }
    bounds.uniform = std::max(
        bounds.uniform,
        Eigen::SelfAdjointEigenSolver<Eigen::Matrix3d>(symbol, Eigen::EigenvaluesOnly).eigenvalues().maxCoeff());
  }
  return bounds;
}

}  // namespace

template <class ExecutionSpace>
class ElasticityMultigrid<ExecutionSpace>::Levels {
 public:
  using float_view = Kokkos::View<float*, memory_space>;
  using node_list = Kokkos::View<index_t const*, memory_space>;

  // One level: either `matrix_free` is set or the stencil is.
  struct Level {
    explicit Level(LevelGrid const& at) : grid(at.grid), box(at.grid), factor(at.factor), nodes(at.grid.node_count()) {}

    BoxGrid grid;
    detail::NodeBox box;
    std::array<int, 3> factor;  // to the next level
    index_t nodes;
    std::unique_ptr<operator_type> matrix_free;
    NodeMask<memory_space> mask;
    // matrix-free; the operator has no constraints, since a mask would cost a byte per node and row in every kernel:
    // its vectors are zero on constrained components, and what it writes there is cleared again
    node_list constrained, partial;  // partial: some components, but not all
    CellField<float, memory_space> moduli;
    CellField<float, memory_space> inverse;
    SpectralBounds bounds{};
    // stencil
    detail::StencilData stencil;
    float_view blocks, entries;
    Kokkos::View<std::uint8_t*, memory_space> flags;    // near a constraint; kept while the hierarchy is set up
    Kokkos::View<std::uint32_t*, memory_space> listed;  // the nodes flagged
    // the product with this level's cells in the next level's stencil
    float_view stiffness, products, coefficients;
    // vectors: right-hand side, the two preconditioned vectors, A c1, temporary
    VectorRef b, c1, c2, v, t;
    std::vector<float_view> storage;  // of vectors that found no room in the temporary
    detail::KrylovScalars krylov_scalars;
  };

  Levels(ExecutionSpace const& space, operator_type const& fine, MultigridSettings const& settings,
         vector_type const& temporary)
      : settings_(settings),
        hierarchy_(fine.grid(), coarsest_dofs<ExecutionSpace>(settings)),
        temporary_(temporary),
        workspace_(space) {
    auto const grids = level_grids(hierarchy_);
    if (settings.smoother == Smoother::gauss_seidel) check_colors(grids);
    int const count = static_cast<int>(grids.size());
    int const free_levels = matrix_free_levels(count);
    krylov_levels_ = brickwork::krylov_levels(grids, settings);
    for (int graph = 0; graph < 2 * (krylov_levels_ + 1); ++graph) graphs_.emplace_back();
    bool const constrained = fine.constraints().extent(0) > 0;
    scalars_ = allocate<float_view>(space, "brickwork::ElasticityMultigrid::scalars", 4 * count);
    sums_ = allocate<Kokkos::View<double*, memory_space>>(space, "brickwork::ElasticityMultigrid::sums", 4 * count);
    for (int l = 0; l < count; ++l) {
      auto const& at = grids[static_cast<std::size_t>(l)];
      levels_.emplace_back(at);
      Level& level = levels_.back();
      level.krylov_scalars = {scalars_.data() + 4 * l, sums_.data() + 4 * l};
      if (constrained) {
        level.mask = l == 0 ? fine.constraints() : coarse_mask(space, levels_[static_cast<std::size_t>(l - 1)], level);
      }
      if (l < free_levels) {
        make_matrix_free(space, l, fine);
      } else {
        make_stencil(space, level);
      }
    }
    make_products(levels_[static_cast<std::size_t>(free_levels - 1)]);
    list_constrained(space);
    make_vectors(space, grids);
    make_smoother(space);
    make_local_smoother(space);
    dense_ = detail::DenseInverse<ExecutionSpace>(space, levels_.back().stencil, free_components(levels_.back()));
    fence(space, "brickwork::ElasticityMultigrid::ElasticityMultigrid");
  }

  GridHierarchy const& hierarchy() const { return hierarchy_; }
  int krylov_levels() const { return krylov_levels_; }
  operator_type const& free_operator() const { return *levels_.front().matrix_free; }
  void clear_constrained(ExecutionSpace const& space, vector_type const& v) const {
    clear(space, levels_.front(), levels_.front().constrained, {v.data(), static_cast<index_t>(v.stride(1))});
  }

  void update(ExecutionSpace const& space) {
    ScopedRegion const region("brickwork::ElasticityMultigrid::update");
    // What surrounds the vectors of stencil levels must be finite, and others leave anything here.
    for_each("brickwork::ElasticityMultigrid::update::clear_temporary", space, levels_.front().nodes,
             detail::ClearVector{levels_.front().t});
    int const count = static_cast<int>(levels_.size());
    for (int l = 0; l < count; ++l) {
      Level& level = levels_[static_cast<std::size_t>(l)];
      if (level.matrix_free) {
        if (l > 0) mean_moduli(space, levels_[static_cast<std::size_t>(l - 1)], level);
        detail::BoundedInverse invert{level.box,
                                      {},
                                      level.matrix_free->moduli().data(),
                                      level.inverse.data(),
                                      static_cast<float>(level.bounds.uniform),
                                      static_cast<float>(level.bounds.single)};
        for (std::size_t axis = 0; axis < 3; ++axis) invert.cells[axis] = static_cast<int>(level.grid.cells()[axis]);
        for_each("brickwork::ElasticityMultigrid::update::inverse", space, level.nodes, invert);
        if (level.constrained.extent(0) > 0)
          Kokkos::parallel_for("brickwork::ElasticityMultigrid::update::clear_inverse",
                               range(space, static_cast<index_t>(level.constrained.extent(0))),
                               detail::ClearInverse{level.constrained.data(), level.mask.data(), level.inverse.data()});
        continue;
      }
      Level const& finer = levels_[static_cast<std::size_t>(l - 1)];
      if (finer.matrix_free) {
        detail::assemble_stencil("brickwork::ElasticityMultigrid::update::galerkin_cells", space,
                                 cell_galerkin(finer, level), level.stencil, level.listed);
      } else {
        detail::assemble_stencil("brickwork::ElasticityMultigrid::update::galerkin", space,
                                 stencil_galerkin(finer, level), level.stencil, level.listed);
      }
      if (settings_.half_stencils) {
        for_each("brickwork::ElasticityMultigrid::update::round", space, detail::forward_blocks * level.nodes,
                 detail::RoundBlocks{level.stencil});
      }
      if (l + 1 < count && settings_.smoother != Smoother::gauss_seidel) bound_spectrum(space, level);
    }
    dense_.update(space);
    local_->reset();
  }

  bool list_grey(ExecutionSpace const& space) {
    index_t const listed = local_->list(space);
    return listed > 0 && listed <= local_->most_nodes(levels_.front().grid);
  }

  void apply(ExecutionSpace const& space, vector_type const& r, vector_type const& z, Cycle const& wanted) {
    Level& fine = levels_.front();
    VectorRef const from{r.data(), static_cast<index_t>(r.stride(1))};
    VectorRef const to{z.data(), static_cast<index_t>(z.stride(1))};
    if (from.data != recorded_r_.data || to.data != recorded_z_.data)
      for (auto& graph : graphs_) graph.reset();
    recorded_r_ = from;
    recorded_z_ = to;
    depth_ = wanted.depth < 0 ? krylov_levels_ : std::min(wanted.depth, krylov_levels_);
    smooth_grey_ = wanted.smooth_grey && list_grey(space);
    if (rounded_ && !BRICKWORK_TENSOR_CORES()) {  // emulated, by a functor that is too large to be recorded
      cycle(space, fine, 0, from, to, nullptr);
      return;
    }
    graphs_[static_cast<std::size_t>(2 * depth_ + (smooth_grey_ ? 1 : 0))].run(
        space, [&](ExecutionSpace const& instance) { cycle(instance, fine, 0, from, to, nullptr); });
  }

 private:
  using Vector = NodalVector<float, memory_space>;

  static std::uint8_t const* mask_of(Level const& level) {
    return level.mask.extent(0) > 0 ? level.mask.data() : nullptr;
  }

  // ---- set-up -------------------------------------------------------------------------------------------------------

  NodeMask<memory_space> coarse_mask(ExecutionSpace const& space, Level const& fine, Level const& coarse) {
    auto const mask = allocate<NodeMask<memory_space>>(space, "brickwork::ElasticityMultigrid::mask", coarse.nodes);
    detail::CoincidentMask coincident{fine.box, coarse.box, {}, fine.mask.data(), mask.data()};
    std::copy(fine.factor.begin(), fine.factor.end(), coincident.factor);
    Kokkos::parallel_for("brickwork::ElasticityMultigrid::mask::coincident", range(space, coarse.nodes), coincident);
    auto const extra = allocate<Kokkos::View<unsigned int*, memory_space>>(
        space, "brickwork::ElasticityMultigrid::mask::extra", coarse.nodes);
    detail::NearestMask nearest{fine.box, coarse.box, {}, fine.mask.data(), mask.data(), extra.data()};
    std::copy(fine.factor.begin(), fine.factor.end(), nearest.factor);
    Kokkos::parallel_for("brickwork::ElasticityMultigrid::mask::nearest", range(space, fine.nodes), nearest);
    Kokkos::parallel_for("brickwork::ElasticityMultigrid::mask::merge", range(space, coarse.nodes),
                         detail::MergeMask{extra.data(), mask.data()});
    fence(space, "brickwork::ElasticityMultigrid::mask");  // `extra` goes
    return mask;
  }

  void make_matrix_free(ExecutionSpace const& space, int l, operator_type const& fine) {
    Level& level = levels_[static_cast<std::size_t>(l)];
    level.inverse = allocate<CellField<float, memory_space>>(space, "brickwork::ElasticityMultigrid::inverse_diagonal",
                                                             level.nodes);
    if (l == 0) {
      level.matrix_free = std::make_unique<operator_type>(fine);
      list_nodes(space, level);
      level.matrix_free->set_constraints(space, {});
    } else {
      Level const& finer = levels_[static_cast<std::size_t>(l - 1)];
      level.moduli = allocate<CellField<float, memory_space>>(space, "brickwork::ElasticityMultigrid::moduli",
                                                              level.grid.cell_count());
      level.matrix_free = std::make_unique<operator_type>(
          space, level.grid, coarse_stiffness(finer.matrix_free->stiffness(), finer.factor), ElasticityKernel::parity);
      level.matrix_free->set_moduli(level.moduli);
      level.matrix_free->set_constraints(space, level.mask);
      list_nodes(space, level);
      level.matrix_free->set_constraints(space, {});
    }
    level.bounds = spectral_bounds(level.matrix_free->stiffness(), settings_.smoother == Smoother::block_jacobi);
  }

  void list_nodes(ExecutionSpace const& space, Level& level) {
    level.constrained = level.matrix_free->constrained_nodes();
    auto const count = static_cast<index_t>(level.constrained.extent(0));
    if (count == 0) return;
    auto const bits = allocate<Kokkos::View<std::uint8_t*, memory_space>>(
        space, "brickwork::ElasticityMultigrid::constrained_bits", count);
    Kokkos::parallel_for("brickwork::ElasticityMultigrid::constrained_bits", range(space, count),
                         detail::GatherBits{level.constrained.data(), level.mask.data(), bits.data()});
    fence(space, "brickwork::ElasticityMultigrid::constrained_bits");
    auto const host_nodes = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, level.constrained);
    auto const host_bits = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, bits);
    std::vector<index_t> partial;
    for (std::size_t i = 0; i < host_nodes.extent(0); ++i)
      if (host_bits(i) != 7) partial.push_back(host_nodes(i));
    level.partial = upload<Kokkos::View<index_t*, memory_space>>(
        partial, "brickwork::ElasticityMultigrid::partly_constrained_nodes");
  }

  static void clear(ExecutionSpace const& space, Level const& level, node_list const& list, VectorRef v) {
    auto const count = static_cast<index_t>(list.extent(0));
    if (count == 0) return;
    Kokkos::parallel_for("brickwork::ElasticityMultigrid::clear", range(space, count),
                         detail::ClearConstrained<float>{list.data(), level.mask.data(), v.data, v.stride});
  }

  void make_stencil(ExecutionSpace const& space, Level& level) {
    level.stencil.box = level.box;
    level.stencil.nodes = static_cast<std::uint32_t>(level.nodes);
    index_t const margin = detail::stencil_margin(level.grid);
    level.stencil.stride = level.nodes + margin;
    level.blocks = allocate<float_view>(space, "brickwork::ElasticityMultigrid::blocks",
                                        9 * detail::forward_blocks * level.stencil.stride);
    level.entries = allocate<float_view>(space, "brickwork::ElasticityMultigrid::stencil", 21 * level.nodes);
    level.stencil.blocks = level.blocks.data() + margin;
    level.stencil.row_sum = level.entries.data();
    level.stencil.diagonal = level.entries.data() + 9 * level.nodes;
    level.stencil.inverse = level.entries.data() + 15 * level.nodes;
  }

  // The nodes of stencil levels that constraints are near to: they do not move with the design.
  void list_constrained(ExecutionSpace const& space) {
    for (std::size_t l = 1; l < levels_.size(); ++l) {
      Level& level = levels_[l];
      if (level.matrix_free || level.mask.extent(0) == 0) continue;
      level.flags =
          allocate<decltype(level.flags)>(space, "brickwork::ElasticityMultigrid::near_constraints", level.nodes);
      Level const& finer = levels_[l - 1];
      auto const flag = [&](auto const& galerkin) {
        using Galerkin = std::decay_t<decltype(galerkin)>;
        Kokkos::parallel_for("brickwork::ElasticityMultigrid::near_constraints", range(space, level.nodes),
                             detail::FlagConstrained<Galerkin>{galerkin, level.flags.data()});
      };
      if (finer.matrix_free) {
        flag(cell_galerkin(finer, level));
      } else {
        flag(stencil_galerkin(finer, level));
      }
      fence(space, "brickwork::ElasticityMultigrid::near_constraints");
      auto const flags = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, level.flags);
      std::vector<std::uint32_t> listed;
      for (std::size_t node = 0; node < flags.extent(0); ++node)
        if (flags(node)) listed.push_back(static_cast<std::uint32_t>(node));
      level.listed = upload<decltype(level.listed)>(listed, "brickwork::ElasticityMultigrid::constrained_nodes");
    }
    for (Level& level : levels_) level.flags = {};
  }

  // Components that no constraint holds: translations along them are in the null space.
  static std::array<bool, 3> free_components(Level const& level) {
    int held = 0;
    if (level.mask.extent(0) > 0) {
      auto const mask = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, level.mask);
      for (std::size_t node = 0; node < mask.extent(0); ++node) held |= mask(node);
    }
    return {(held & 1) == 0, (held & 2) == 0, (held & 4) == 0};
  }

  static void upload_stiffness(Level& level) {
    std::vector<float> stiffness;
    for (auto const& row : level.matrix_free->stiffness())
      for (double entry : row) stiffness.push_back(static_cast<float>(entry));
    level.stiffness = upload<float_view>(stiffness, "brickwork::ElasticityMultigrid::cell_stiffness");
  }

  static void make_products(Level& level) {
    auto const products = child_products(level.matrix_free->stiffness());
    std::vector<float> table;
    for (auto const& product : products)
      for (std::size_t a = 0; a < 8; ++a)
        for (std::size_t b = 0; b < 8; ++b)
          for (std::size_t d = 0; d < 3; ++d)
            for (std::size_t e = 0; e < 3; ++e) table.push_back(static_cast<float>(product[3 * a + d][3 * b + e]));
    // The moduli around a node in its blocks: the node is the upper corner of coarse cells behind it.
    constexpr int n = detail::axis_slots;
    std::vector<float> coefficients(14 * detail::all_slots * 9, 0.0f);
    for (int position = detail::center_position; position < 27; ++position)
      for (int slot = 0; slot < detail::all_slots; ++slot) {
        int const at[3] = {slot % n, slot / n % n, slot / n / n};
        int const s[3] = {position % 3 - 1, position / 3 % 3 - 1, position / 9 - 1};
        int a = 0, b = 0, o = 0;
        bool exists = true;
        for (int axis = 2; axis >= 0; --axis) {
          int const corner = detail::slot_ahead(at[axis]) ? 0 : 1, other = corner + s[axis];
          exists = exists && other >= 0 && other <= 1;
          a |= corner << axis;
          b |= (other & 1) << axis;
          o = detail::axis_children * o + detail::slot_child(at[axis]);
        }
        if (!exists) continue;
        for (std::size_t e = 0; e < 9; ++e)
          coefficients[static_cast<std::size_t>(detail::all_slots * (position - detail::center_position) + slot) * 9 +
                       e] = table[static_cast<std::size_t>(9 * (b + 8 * (a + 8 * o))) + e];
      }
    level.coefficients = upload<float_view>(coefficients, "brickwork::ElasticityMultigrid::coefficients");
    level.products = upload<float_view>(table, "brickwork::ElasticityMultigrid::child_products");
    upload_stiffness(level);
  }

  void make_vectors(ExecutionSpace const& space, std::vector<LevelGrid> const& grids) {
    levels_.front().t = {temporary_.data(), static_cast<index_t>(temporary_.stride(1))};
    auto const plans = plan_vectors(grids, krylov_levels_);
    for (std::size_t l = 1; l < levels_.size(); ++l) {
      Level& level = levels_[l];
      VectorPlan const& plan = plans[l];
      VectorRef* const vectors[] = {&level.b, &level.c1, &level.t, &level.c2, &level.v};
      for (std::size_t i = 0; i < plan.offsets.size(); ++i) {
        float* data = temporary_.data() + plan.offsets[i];
        if (plan.offsets[i] < 0) {
          level.storage.push_back(
              allocate<float_view>(space, "brickwork::ElasticityMultigrid::vectors", plan.length()));
          data = level.storage.back().data();
        }
        *vectors[i] = {data + plan.margin, plan.stride};
      }
    }
  }

  // What smoothers other than the fused Chebyshev steps need.
  void make_smoother(ExecutionSpace const& space) {
    Level const& fine = levels_.front();
    if (needs_product(settings_))
      product_ = allocate<float_view>(space, "brickwork::ElasticityMultigrid::smooth::product", 3 * fine.nodes);
    if (settings_.smoother == Smoother::bf16) {
      rounded_ = std::make_unique<operator_type>(space, fine.grid, fine.matrix_free->stiffness(),
                                                 ElasticityKernel::fused_wmma_exact);
      rounded_->set_moduli(fine.matrix_free->moduli());
    }
    if (settings_.smoother == Smoother::gauss_seidel)
      for (Level& level : levels_)
        if (level.matrix_free) upload_stiffness(level);
  }

  void make_local_smoother(ExecutionSpace const& space) {
    Level const& fine = levels_.front();
    auto const bounds = spectral_bounds(fine.matrix_free->stiffness(), false);
    local_ = std::make_unique<detail::LocalSmoother<ExecutionSpace>>(space, fine.grid, fine.matrix_free->stiffness(),
                                                                     fine.matrix_free->moduli().data(), mask_of(fine),
                                                                     bounds.uniform, bounds.single, temporary_.data());
  }

  // ---- update -------------------------------------------------------------------------------------------------------

  void mean_moduli(ExecutionSpace const& space, Level const& fine, Level const& coarse) {
    detail::MeanModuli mean;
    mean.fine = fine.matrix_free->moduli().data();
    mean.coarse = coarse.moduli.data();
    for (std::size_t axis = 0; axis < 3; ++axis) {
      mean.fine_cells[axis] = fine.grid.cells()[axis];
      mean.coarse_cells[axis] = coarse.grid.cells()[axis];
      mean.factor[axis] = fine.factor[axis];
      mean.periodic[axis] = fine.grid.periodic()[axis];
    }
    for_each("brickwork::ElasticityMultigrid::update::mean_moduli", space, coarse.grid.cell_count(), mean);
  }

  detail::CellGalerkin cell_galerkin(Level const& fine, Level const& coarse) const {
    detail::CellGalerkin galerkin;
    galerkin.moduli = fine.matrix_free->moduli().data();
    galerkin.mask = mask_of(fine);
    galerkin.stiffness = fine.stiffness.data();
    galerkin.products = fine.products.data();
    galerkin.coefficients = fine.coefficients.data();
    galerkin.fine = fine.box;
    galerkin.coarse = coarse.box;
    for (std::size_t axis = 0; axis < 3; ++axis) {
      galerkin.cells[axis] = static_cast<int>(fine.grid.cells()[axis]);
      galerkin.coarse_cells[axis] = static_cast<int>(coarse.grid.cells()[axis]);
      galerkin.factor[axis] = fine.factor[axis];
    }
    galerkin.coarse_mask = mask_of(coarse);
    return galerkin;
  }

  detail::StencilGalerkin stencil_galerkin(Level const& fine, Level const& coarse) const {
    detail::StencilGalerkin galerkin{
        fine.stencil, {}, coarse.box, mask_of(coarse), fine.flags.extent(0) > 0 ? fine.flags.data() : nullptr};
    std::copy(fine.factor.begin(), fine.factor.end(), galerkin.factor);
    return galerkin;
  }

  void bound_spectrum(ExecutionSpace const& space, Level const& level) {
    detail::StencilData const& s = level.stencil;
    VectorRef x = level.c1, y = level.t;
    for_each("brickwork::ElasticityMultigrid::update::start", space, level.nodes,
             detail::RandomStart{x, s.inverse, level.nodes});
    float* const bound = level.krylov_scalars.scalars + 3;
    for (int i = 0; i < settings_.power_iterations; ++i) {
      detail::apply_stencil("brickwork::ElasticityMultigrid::update::power", space, s, x,
                            detail::StencilPower{y, s.diagonal, s.inverse, s.nodes}, workspace_,
                            detail::StoreBound{bound, settings_.safety});
      std::swap(x, y);
    }
    for_each("brickwork::ElasticityMultigrid::update::scale", space, 6 * level.nodes,
             detail::ScaleBlocks{s.inverse, bound});
  }

  // ---- cycle --------------------------------------------------------------------------------------------------------

  Vector view(Level const& level, VectorRef v) const {
    // Vectors of matrix-free levels are contiguous.
    return Vector(Kokkos::View<float* [3], Kokkos::LayoutLeft, memory_space, Kokkos::MemoryUnmanaged>(
        v.data, static_cast<std::size_t>(level.nodes)));
  }

  // c = B r. With `step` the right-hand side is first updated, r -= *step v.
  void cycle(ExecutionSpace const& space, Level const& level, int l, VectorRef r, VectorRef c, float const* step) {
    bool const grey = smooth_grey_ && l == 0;
    if (grey) {
      local_->smooth_from_zero(space, r, c);
      smooth(space, level, r, c, false);
    } else {
      smooth_from_zero(space, level, r, c, step);
    }
    if (level.matrix_free) {
      level.matrix_free->residual(space, view(level, r), view(level, c), view(level, level.t));
      clear(space, level, level.constrained, level.t);
    } else {
      detail::apply_stencil("brickwork::ElasticityMultigrid::residual", space, level.stencil, c,
                            detail::StencilResidual{r, level.t});
    }
    Level const& coarse = levels_[static_cast<std::size_t>(l + 1)];
    detail::Restrict restriction{level.box, coarse.box, {}, level.t, coarse.b, mask_of(coarse)};
    std::copy(level.factor.begin(), level.factor.end(), restriction.factor);
    for_each("brickwork::ElasticityMultigrid::restrict", space, coarse.nodes, restriction);
    solve_coarse(space, coarse, l + 1);
    // On matrix-free levels one launch over a list beats a byte per node.
    detail::Prolong prolongation{level.box,
                                 coarse.box,
                                 {},
                                 coarse.c1,
                                 l + 1 <= depth_ ? coarse.c2 : VectorRef{},
                                 c,
                                 coarse.krylov_scalars.scalars,
                                 level.matrix_free ? nullptr : mask_of(level)};
    std::copy(level.factor.begin(), level.factor.end(), prolongation.factor);
    for_each("brickwork::ElasticityMultigrid::prolong", space, level.nodes, prolongation);
    if (level.matrix_free) clear(space, level, level.constrained, c);
    smooth(space, level, r, c, true);
    if (grey) local_->correct(space, r, c);
  }

  // Leaves the correction in c1, or in c1 and c2 with the level's coefficients.
  void solve_coarse(ExecutionSpace const& space, Level const& level, int l) {
    if (l + 1 == static_cast<int>(levels_.size())) {
      dense_.solve(space, level.b, level.c1);
      return;
    }
    cycle(space, level, l, level.b, level.c1, nullptr);
    if (l > depth_) return;
    detail::FirstKrylovStep const first{level.krylov_scalars};
    if (level.matrix_free) {
      level.matrix_free->apply(space, view(level, level.c1), view(level, level.v));
      clear(space, level, level.constrained, level.v);
      sum_each<2>("brickwork::ElasticityMultigrid::krylov::first", space, level.nodes,
                  detail::TwoDots{level.c1, level.v, level.b}, workspace_, first);
    } else {
      detail::apply_stencil("brickwork::ElasticityMultigrid::krylov::first", space, level.stencil, level.c1,
                            detail::StencilProductDots{level.b, level.v}, workspace_, first);
    }
    cycle(space, level, l, level.b, level.c2, level.krylov_scalars.scalars + 2);
    detail::SecondKrylovStep const second{level.krylov_scalars};
    if (level.matrix_free) {
      level.matrix_free->apply(space, view(level, level.c2), view(level, level.t));
      sum_each<3>("brickwork::ElasticityMultigrid::krylov::second", space, level.nodes,
                  detail::ThreeDots{level.c2, level.t, level.v, level.b}, workspace_, second);
    } else {
      detail::apply_stencil("brickwork::ElasticityMultigrid::krylov::second", space, level.stencil, level.c2,
                            detail::StencilDots{level.b, level.v}, workspace_, second);
    }
  }

  void smooth_from_zero(ExecutionSpace const& space, Level const& level, VectorRef r, VectorRef c, float const* step) {
    int const degree = settings_.degree;
    bool const blocks = settings_.smoother == Smoother::block_jacobi && level.matrix_free;
    if (step && (blocks || settings_.smoother == Smoother::gauss_seidel)) {
      for_each("brickwork::ElasticityMultigrid::smooth::residual", space, level.nodes,
               detail::UpdateResidual{r, level.v, step});
    }
    if (settings_.smoother == Smoother::gauss_seidel) {
      for_each("brickwork::ElasticityMultigrid::smooth::clear", space, level.nodes, detail::ClearVector{c});
      sweep(space, level, r, c, false);
      return;
    }
    // The iterates alternate between c and t so that the last one is c.
    VectorRef x = degree % 2 == 1 ? c : level.t, other = degree % 2 == 1 ? level.t : c;
    auto const start = [&](auto kernel) {
      kernel.r = r;
      kernel.v = level.v;
      kernel.result = x;
      kernel.step = step;
      kernel.nodes = level.nodes;
      kernel.b = detail::FourthKind::weight(0);
      kernel.blocks = !level.matrix_free;
      if (level.matrix_free) {
        auto const factors = level.matrix_free->diagonal_factors();
        kernel.inverse = level.inverse.data();
        for (std::size_t d = 0; d < 3; ++d) kernel.factor[d] = static_cast<float>(1 / factors[d]);
      } else {
        kernel.inverse = level.stencil.inverse;
      }
      for_each("brickwork::ElasticityMultigrid::smooth::first", space, level.nodes, kernel);
    };
    if (blocks) {
      relax_blocks(space, level, r, {}, 0, 0, {}, detail::FourthKind::weight(0), x);
    } else if (step) {
      start(detail::SmoothFromZero<true>{});
    } else {
      start(detail::SmoothFromZero<false>{});
    }
    for (int k = 1; k < degree; ++k) {
      // x_0 is zero.
      relax(space, level, r, x, 1 + detail::FourthKind::momentum(k), k == 1 ? 0.0f : -detail::FourthKind::momentum(k),
            other, detail::FourthKind::weight(k), other);
      std::swap(x, other);
    }
  }

  void smooth(ExecutionSpace const& space, Level const& level, VectorRef r, VectorRef c, bool backward) {
    if (settings_.smoother == Smoother::gauss_seidel) {
      sweep(space, level, r, c, backward);
      return;
    }
    VectorRef x = c, other = level.t;
    for (int k = 0; k < settings_.degree; ++k) {
      if (k == 0) {
        relax(space, level, r, x, 1, 0, {}, detail::FourthKind::weight(0), other);
      } else {
        relax(space, level, r, x, 1 + detail::FourthKind::momentum(k), -detail::FourthKind::momentum(k), other,
              detail::FourthKind::weight(k), other);
      }
      std::swap(x, other);
    }
    if (x.data != c.data) {
      for_each("brickwork::ElasticityMultigrid::smooth::copy", space, level.nodes, detail::CopyVector{x, c});
    }
  }

  void relax(ExecutionSpace const& space, Level const& level, VectorRef r, VectorRef x, float s, float a, VectorRef old,
             float b, VectorRef result) {
    if (level.matrix_free && settings_.smoother == Smoother::block_jacobi) {
      relax_blocks(space, level, r, x, s, a, old, b, result);
    } else if (rounded_ && &level == &levels_.front()) {
      relax_rounded(space, level, r, x, s, a, old, b, result);
    } else if (level.matrix_free) {
      level.matrix_free->relax(space, view(level, r), view(level, x), level.inverse, s, a,
                               a == 0 ? Vector() : view(level, old), b, view(level, result));
      clear(space, level, level.partial, result);
    } else if (a == 0) {
      detail::apply_stencil(
          "brickwork::ElasticityMultigrid::smooth", space, level.stencil, x,
          detail::StencilRelaxation<true>{r, {}, result, level.stencil.inverse, level.stencil.nodes, s, a, b});
    } else {
      detail::apply_stencil(
          "brickwork::ElasticityMultigrid::smooth", space, level.stencil, x,
          detail::StencilRelaxation<false>{r, old, result, level.stencil.inverse, level.stencil.nodes, s, a, b});
    }
  }

  // The two-pass forms of relax(): the product, then one pass over the nodes. Without x: from zero. Where there is no
  // old iterate the product takes the result's place.
  void relax_blocks(ExecutionSpace const& space, Level const& level, VectorRef r, VectorRef x, float s, float a,
                    VectorRef old, float b, VectorRef result) {
    VectorRef const product = !x.data ? VectorRef{} : (a == 0 ? result : VectorRef{product_.data(), level.nodes});
    if (x.data) level.matrix_free->apply(space, view(level, x), view(level, product));
    for_each("brickwork::ElasticityMultigrid::smooth::blocks", space, level.nodes,
             detail::RelaxBlocks{cell_blocks(level), r, product, x, a == 0 ? VectorRef{} : old, result,
                                 level.inverse.data(), s, a, b});
  }

  void relax_rounded(ExecutionSpace const& space, Level const& level, VectorRef r, VectorRef x, float s, float a,
                     VectorRef old, float b, VectorRef result) {
    VectorRef const product = a == 0 ? result : VectorRef{product_.data(), level.nodes};
    rounded_->apply(space, view(level, x), view(level, product));
    detail::RelaxPoints points{r, product, x, a == 0 ? VectorRef{} : old, result, level.inverse.data(), {}, s, a, b};
    auto const factors = level.matrix_free->diagonal_factors();
    for (std::size_t d = 0; d < 3; ++d) points.factor[d] = static_cast<float>(1 / factors[d]);
    for_each("brickwork::ElasticityMultigrid::smooth::points", space, level.nodes, points);
    clear(space, level, level.partial, result);
  }

  void sweep(ExecutionSpace const& space, Level const& level, VectorRef r, VectorRef x, bool backward) {
    char const* const label = "brickwork::ElasticityMultigrid::smooth::sweep";
    for (int i = 0; i < settings_.degree; ++i) {
      if (level.matrix_free) {
        detail::sweep_colors(label, space, detail::CellGaussSeidel{cell_blocks(level), level.stiffness.data(), r, x},
                             backward);
      } else {
        detail::sweep_colors(label, space, detail::StencilGaussSeidel{level.stencil, r, x}, backward);
      }
    }
  }

  static detail::CellBlocks cell_blocks(Level const& level) {
    return {level.grid, level.matrix_free->stiffness(), level.matrix_free->moduli().data(), mask_of(level)};
  }

  MultigridSettings settings_;
  GridHierarchy hierarchy_;
  vector_type temporary_;
  SumWorkspace<ExecutionSpace> workspace_;
  int krylov_levels_ = 0;
  float_view scalars_;  // per level: three of the Krylov steps and the bound of the spectrum
  Kokkos::View<double*, memory_space> sums_;
  std::vector<Level> levels_;
  float_view product_;                      // of relax_blocks() and relax_rounded()
  std::unique_ptr<operator_type> rounded_;  // the finest level's operator in BF16, without constraints
  detail::DenseInverse<ExecutionSpace> dense_;
  std::unique_ptr<detail::LocalSmoother<ExecutionSpace>> local_;  // of the finest level
  int depth_ = 0;                                                 // levels with a K-cycle in the present call
  bool smooth_grey_ = false;                                      // and whether it uses the local smoother
  std::deque<detail::LaunchGraph<ExecutionSpace>> graphs_;        // by depth, without and with the local smoother
  VectorRef recorded_r_, recorded_z_;
};

template <class ExecutionSpace>
ElasticityMultigrid<ExecutionSpace>::ElasticityMultigrid(ExecutionSpace const& space, operator_type const& fine,
                                                         MultigridSettings const& settings,
                                                         vector_type const& temporary) {
  BRICKWORK_REQUIRE(fine.kernel() == ElasticityKernel::parity, "ElasticityMultigrid: the finest level has the kernel ",
                    to_string(fine.kernel()), "; parity is needed");
  BRICKWORK_REQUIRE(static_cast<index_t>(fine.moduli().extent(0)) == fine.grid().cell_count(),
                    "ElasticityMultigrid: the finest level has no moduli yet");
  BRICKWORK_REQUIRE(settings.degree >= 1 && settings.degree <= 8, "ElasticityMultigrid: degree ", settings.degree,
                    "; it must lie in [1, 8]");
  BRICKWORK_REQUIRE(settings.krylov_levels >= -1, "ElasticityMultigrid: krylov_levels ", settings.krylov_levels,
                    "; it must be at least -1");
  BRICKWORK_REQUIRE(settings.coarsest_dofs >= 0 && settings.coarsest_dofs <= 3600,
                    "ElasticityMultigrid: ", settings.coarsest_dofs,
                    " coarsest degrees of freedom; they must lie in [0, 3600]");
  BRICKWORK_REQUIRE(settings.safety >= 1 && settings.power_iterations >= 1, "ElasticityMultigrid: safety ",
                    settings.safety, " and ", settings.power_iterations, " power iterations; both must be at least 1");
  BRICKWORK_REQUIRE(
      static_cast<index_t>(temporary.extent(0)) == fine.grid().node_count() && temporary.span_is_contiguous(),
      "ElasticityMultigrid: the temporary has ", temporary.extent(0), " nodes; the grid has ",
      fine.grid().node_count());
  BRICKWORK_REQUIRE(reinterpret_cast<std::uintptr_t>(temporary.data()) % 16 == 0,
                    "ElasticityMultigrid: the temporary must be 16-byte aligned");
  BRICKWORK_REQUIRE(fine.grid().node_count() <= index_t(4000000000), "ElasticityMultigrid: ", fine.grid().node_count(),
                    " nodes; at most 4e9 have indices of 32 bits");
  levels_ = std::make_unique<Levels>(space, fine, settings, temporary);
}

template <class ExecutionSpace>
ElasticityMultigrid<ExecutionSpace>::~ElasticityMultigrid() = default;

template <class ExecutionSpace>
void ElasticityMultigrid<ExecutionSpace>::update(ExecutionSpace const& space) {
  levels_->update(space);
}

template <class ExecutionSpace>
void ElasticityMultigrid<ExecutionSpace>::apply(ExecutionSpace const& space, vector_type const& r, vector_type const& z,
                                                Cycle const& wanted) const {
  index_t const nodes = levels_->hierarchy()[0].grid.node_count();
  BRICKWORK_REQUIRE(static_cast<index_t>(r.extent(0)) == nodes && static_cast<index_t>(z.extent(0)) == nodes &&
                        r.span_is_contiguous() && z.span_is_contiguous(),
                    "ElasticityMultigrid::apply: r has ", r.extent(0), " and z ", z.extent(0), " nodes; the grid has ",
                    nodes, " (contiguous)");
  BRICKWORK_REQUIRE(wanted.depth >= -1, "ElasticityMultigrid::apply: depth ", wanted.depth, "; it must be at least -1");
  levels_->apply(space, r, z, wanted);
}

template <class ExecutionSpace>
bool ElasticityMultigrid<ExecutionSpace>::list_grey(ExecutionSpace const& space) const {
  return levels_->list_grey(space);
}

template <class ExecutionSpace>
typename ElasticityMultigrid<ExecutionSpace>::operator_type const& ElasticityMultigrid<ExecutionSpace>::free_operator()
    const {
  return levels_->free_operator();
}
template <class ExecutionSpace>
void ElasticityMultigrid<ExecutionSpace>::clear_constrained(ExecutionSpace const& space, vector_type const& v) const {
  levels_->clear_constrained(space, v);
}

template <class ExecutionSpace>
GridHierarchy const& ElasticityMultigrid<ExecutionSpace>::hierarchy() const {
  return levels_->hierarchy();
}
template <class ExecutionSpace>
int ElasticityMultigrid<ExecutionSpace>::krylov_levels() const {
  return levels_->krylov_levels();
}

template <class ExecutionSpace>
index_t ElasticityMultigrid<ExecutionSpace>::bytes(BoxGrid const& grid, bool constrained,
                                                   MultigridSettings const& settings) {
  GridHierarchy const hierarchy(grid, coarsest_dofs<ExecutionSpace>(settings));
  auto const grids = level_grids(hierarchy);
  int const count = static_cast<int>(grids.size());
  int const krylov = brickwork::krylov_levels(grids, settings);
  index_t total = 4 * grid.node_count() + table_bytes + detail::LocalSmoother<ExecutionSpace>::bytes(grid);
  if (needs_product(settings)) total += 12 * grid.node_count();
  auto const plans = plan_vectors(grids, krylov);
  for (int l = 1; l < count; ++l) {
    BoxGrid const& at = grids[static_cast<std::size_t>(l)].grid;
    VectorPlan const& plan = plans[static_cast<std::size_t>(l)];
    index_t const nodes = at.node_count();
    total += 4 * plan.length() * std::count(plan.offsets.begin(), plan.offsets.end(), index_t(-1));
    total += constrained ? nodes : 0;
    if (l < matrix_free_levels(count)) {
      total += 4 * nodes + 4 * at.cell_count();
    } else {
      total += 468 * (nodes + detail::stencil_margin(at)) + 84 * nodes;
    }
  }
  return total + detail::DenseInverse<ExecutionSpace>::bytes(grids.back().grid.node_count());
}

#define BRICKWORK_INSTANTIATE(SPACE) template class ElasticityMultigrid<SPACE>;
BRICKWORK_FOR_EACH_EXECUTION_SPACE(BRICKWORK_INSTANTIATE)
#undef BRICKWORK_INSTANTIATE

}  // namespace brickwork
