// SPDX-License-Identifier: BSD-3-Clause
// brickwork-biharmonic: plates and the biharmonic problem on locally refined boxes.
//
// Finds u with mass (u, v) + laplace (grad u, grad v) + biharmonic (Hessian u, Hessian v) = (f, v) for all v, u clamped
// or simply supported, with cubic Hermite elements and local multigrid (solvers/hermite_solver.hpp), on each mesh of a
// list: uniform ones, and local refinements after them by a region or by the error indicator. Sample runs:
//
//   brickwork-biharmonic examples/clamped_cube.toml
//   brickwork-biharmonic examples/plate_adaptive.toml --set adaptive.depth=8 --output results/finer
//   brickwork-biharmonic examples/clamped_cube.toml --set study.refinements=[5,6,7] --set solver.smoother=patch
//
// Exit codes: 0 finished, 2 bad input, 3 finished but some solve was capped, 4 out of memory, 1 anything else.
#include <algorithm>
#include <cmath>
#include <cstdio>

#include "brickwork/core/config.hpp"
#include "brickwork/core/revision.hpp"
#include "brickwork/core/timing.hpp"
#include "brickwork/io/atomic_file.hpp"
#include "brickwork/io/biharmonic_config.hpp"
#include "brickwork/io/biharmonic_options.hpp"
#include "brickwork/io/biharmonic_results.hpp"
#include "brickwork/io/leaf_mesh.hpp"
#include "brickwork/operators/manufactured_solution.hpp"
#include "brickwork/solvers/hermite_cell_multigrid.hpp"
#include "brickwork/solvers/hermite_multigrid.hpp"
#include "brickwork/solvers/hermite_solver.hpp"
#include "support/driver.hpp"

using namespace brickwork;
using namespace brickwork::driver;

namespace {

using Space = Kokkos::DefaultExecutionSpace;
template <class Scalar, int Dim>
using VertexWise = HermiteMultigrid<Space, Scalar, Dim>;
template <int Dim>
using CellWise = HermiteCellMultigrid<Space, Dim>;
template <class Cycle>
constexpr bool is_cell_wise = false;
template <int Dim>
constexpr bool is_cell_wise<CellWise<Dim>> = true;

HermiteCycleOptions cycle_options(HermiteSolverSettings const& s) {
  HermiteCycleOptions options;
  options.smoother = s.patch ? HermiteSmoother::patch : HermiteSmoother::chebyshev;
  options.stages = s.stages;
  options.coarsest_stages = s.coarsest_stages;
  options.sweeps = s.sweeps;
  options.coarsest_sweeps = s.coarsest_sweeps;
  options.symmetric = s.symmetric;
  options.lower = s.lower;
  options.upper = s.upper;
  options.interval = s.estimate_interval ? HermiteInterval::estimated : HermiteInterval::fixed;
  return options;
}

/// vertex, or cell with its evaluation.
std::string storage_name(HermiteSolverSettings const& s) {
  return s.cell_wise ? "cell (" + to_string(s.evaluation) + ")" : "vertex";
}

template <int Dim>
std::array<double, Dim> first(Vec3 const& v) {
  std::array<double, Dim> list{};
  std::copy_n(v.begin(), Dim, list.begin());
  return list;
}

/// The configuration as the library takes it.
template <int Dim>
struct Problem {
  BiharmonicConfig config;
  BaseGrid<Dim> base;
  PlateBoundary<Dim> boundary;
  RefinementRegion<Dim> region;

  explicit Problem(BiharmonicConfig const& c) : config(c) {
    std::copy_n(c.base.begin(), Dim, base.cells.begin());
    base.lengths = first<Dim>(c.lengths);
    base.origin = first<Dim>(c.origin);
    std::copy_n(c.boundary.begin(), 2 * Dim, boundary.begin());
    using Kind = typename RefinementRegion<Dim>::Kind;
    RefinementSettings const& a = c.adaptive;
    region.kind = a.region == RefinementKind::ball   ? Kind::ball
                  : a.region == RefinementKind::ring ? Kind::ring
                                                     : Kind::box;
    region.lower = a.region == RefinementKind::octant ? base.origin : first<Dim>(a.lower);
    region.upper = first<Dim>(a.upper);
    for (std::size_t d = 0; a.region == RefinementKind::octant && d < Dim; ++d)
      region.upper[d] = base.origin[d] + 0.5 * base.lengths[d];
    region.centre = first<Dim>(a.centre);
    region.radius = a.radius;
  }

  bool by_indicator() const { return config.adaptive.region == RefinementKind::indicator; }
  bool manufactured() const { return config.load.kind == LoadKind::manufactured; }
  ManufacturedSolution<Dim> solution() const { return {base, boundary}; }
};

template <class Cycle>
void refuse_memory(std::string const& mesh, char const* least, index_t bytes, MemoryState const& memory) {
  if (memory.available < 0 || bytes <= memory.available) return;
  throw OutOfMemory(detail::concatenate(
      mesh, " needs ", least, format_bytes(double(bytes)), " (", bytes, " bytes) for the solver's vectors, but ",
      memory.device, " has ", format_bytes(double(memory.available)), " free; use fewer refinements or ",
      is_cell_wise<Cycle> ? "solver.storage = \"vertex\"" : "solver.precision = \"mixed\""));
}

/// Bytes of all vectors of a solve.
template <int Dim, class Cycle>
index_t solver_bytes(Problem<Dim> const& problem, AdaptiveGrid<Space, Dim> const& grid) {
  index_t const bytes = HermiteSolver<Cycle>::bytes(grid, cycle_options(problem.config.solver));
  if (!is_cell_wise<Cycle>) return bytes;
  return bytes + 2 * static_cast<index_t>(sizeof(double)) * HermiteField<Space, Dim>::count(grid);  // load, solution
}

template <int Dim, class Cycle>
void require_memory_for(Problem<Dim> const& problem, AdaptiveGrid<Space, Dim> const& grid, MemoryState const& memory) {
  refuse_memory<Cycle>(
      detail::concatenate("a mesh of ", grid.leaf_count(), " active cells on ", grid.level_count(), " levels"), "",
      solver_bytes<Dim, Cycle>(problem, grid), memory);
}

/// The same of a uniform mesh before its tables are made, which take gigabytes and minutes themselves: the vectors of
/// the finest level.
template <int Dim, class Cycle>
void require_memory_for(BaseGrid<Dim> const& base, int refinements, MemoryState const& memory) {
  double vertices = 1, cells = 1;
  for (index_t n : base.cells) {
    cells *= std::ldexp(static_cast<double>(n), refinements);
    vertices *= std::ldexp(static_cast<double>(n), refinements) + 1;
  }
  if (vertices > 2147483647.0) return;  // AdaptiveGrid refuses it
  // Five of the iteration, the correction and the cycle's second one.
  index_t const values =
      is_cell_wise<Cycle> ? static_cast<index_t>(cells) << 2 * Dim : static_cast<index_t>(vertices) << Dim;
  refuse_memory<Cycle>(detail::concatenate("a mesh of ", static_cast<index_t>(cells), " active cells"), "at least ",
                       values * static_cast<index_t>(5 * 8 + 2 * sizeof(typename Cycle::scalar_type)), memory);
}

/// What can be refused is refused here, before anything is solved or written: a mesh without unknowns, a region that
/// holds no cell, a mesh that does not fit.
template <int Dim, class Cycle>
index_t check_meshes(Space const& space, Problem<Dim> const& problem, MemoryState const& memory) {
  if (is_cell_wise<Cycle>)  // an evaluation that this device lacks
    HermiteLeafOperator<Space, Dim>(space, {space, problem.base, 0}, problem.config.form, problem.boundary,
                                    problem.config.solver.evaluation);
  index_t bytes = 0;
  for (int refinements : problem.config.refinements) {
    require_memory_for<Dim, Cycle>(problem.base, refinements, memory);
    AdaptiveGrid<Space, Dim> grid(space, problem.base, refinements);
    require_memory_for<Dim, Cycle>(problem, grid, memory);
    index_t const fewest = *std::min_element(problem.base.cells.begin(), problem.base.cells.end()) << refinements;
    if (fewest == 1) {  // no vertex lies inside
      HermiteOperator<Space, Dim> const a(space, grid, problem.config.form, problem.boundary, false);
      BRICKWORK_REQUIRE(a.unknown_count() > 0, "with ", refinements,
                        " refinements the boundary fixes every unknown: use more cells or refinements");
    }
    for (int depth = 0; !problem.by_indicator() && depth < problem.config.adaptive.depth; ++depth) {
      grid.refine(space, problem.region);
      require_memory_for<Dim, Cycle>(problem, grid, memory);
    }
    bytes = std::max(bytes, solver_bytes<Dim, Cycle>(problem, grid));
  }
  return bytes;
}

/// A mesh with its solution.
template <int Dim>
struct Solved {
  HermiteField<Space, Dim> u;
  LeafIndicator<Space> indicator;  ///< empty unless the mesh is refined by it
  MeshRow row;
  std::vector<double> residuals;
};

template <int Dim>
void add_configured_load(Space const& space, Problem<Dim> const& problem, AdaptiveGrid<Space, Dim> const& grid,
                         HermiteFunctional<Space, Dim> const& load) {
  LoadSettings const& settings = problem.config.load;
  if (settings.kind == LoadKind::constant) {
    add_constant_load(space, grid, settings.value, load);
  } else if (settings.kind == LoadKind::point) {
    add_point_load(space, grid, settings.value, first<Dim>(settings.position), load);
  } else {
    add_load(space, grid, ManufacturedLoad<Dim>{problem.solution(), problem.config.form}, load, settings.points);
  }
}

template <int Dim>
LeafIndicator<Space> indicator_of(Space const& space, Problem<Dim> const& problem, AdaptiveGrid<Space, Dim> const& grid,
                                  HermiteField<Space, Dim> const& u) {
  LeafIndicator<Space> indicator = make_indicator(space, grid);
  LoadSettings const& load = problem.config.load;
  HermiteForm const& form = problem.config.form;
  if (problem.manufactured()) {
    residual_indicator(space, grid, u, ManufacturedLoad<Dim>{problem.solution(), form}, form, problem.boundary,
                       indicator, load.points);
  } else {
    double const value = load.kind == LoadKind::constant ? load.value : 0;
    residual_indicator(space, grid, u, detail::Constant<Dim>{value}, form, problem.boundary, indicator);
  }
  return indicator;
}

template <int Dim>
std::vector<PointValue> values_at(Space const& space, AdaptiveGrid<Space, Dim> const& grid,
                                  HermiteField<Space, Dim> const& u, std::vector<Vec3> const& positions) {
  std::size_t const count = positions.size();
  Kokkos::View<double* [Dim], Kokkos::LayoutLeft, Space::memory_space> points("brickwork::values_at::points", count);
  HermiteJets<Space, Dim> jets("brickwork::values_at::jets", count);
  auto const host_points = Kokkos::create_mirror_view(points);
  for (std::size_t n = 0; n < count; ++n)
    for (std::size_t d = 0; d < Dim; ++d) host_points(n, d) = positions[n][d];
  Kokkos::deep_copy(points, host_points);
  evaluate<Space, Dim>(space, grid, u, points, jets);
  auto const host_jets = Kokkos::create_mirror_view(jets);
  Kokkos::deep_copy(space, host_jets, jets);
  space.fence();
  std::vector<PointValue> values(count);
  for (std::size_t n = 0; n < count; ++n) {
    values[n].position = positions[n];
    values[n].value = host_jets(n).value;
    std::copy_n(host_jets(n).gradient, Dim, values[n].gradient.begin());
  }
  return values;
}

template <int Dim>
double work_of(Space const& space, HermiteFunctional<Space, Dim> const& load, HermiteField<Space, Dim> const& u) {
  Kokkos::View<double*, Space::memory_space> sum("brickwork::work_of::sum", 1);
  sum_each<1>("brickwork::work_of", space, u.size(),
              detail::PairProduct<double, double>{load.values().data(), u.values().data()}, SumWorkspace<Space>(space),
              StoreSums<1>{sum.data()});
  space.fence();
  return Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), sum)(0);
}

/// A x = load from x = 0 in the storage of the cycle. \param a  vertex-wise
template <int Dim, class Cycle>
HermiteSolveResult solve(Space const& space, Problem<Dim> const& problem, HermiteOperator<Space, Dim> const& a,
                         HermiteFunctional<Space, Dim> const& load, HermiteField<Space, Dim> const& x,
                         double& seconds_setup) {
  auto const start = std::chrono::steady_clock::now();
  BiharmonicConfig const& config = problem.config;
  HermiteCycleOptions const cycle = cycle_options(config.solver);
  HermiteSolveOptions options;
  options.method = config.solver.stationary ? HermiteMethod::stationary : HermiteMethod::conjugate_gradient;
  options.tolerance = config.solver.tolerance;
  options.max_iterations = config.solver.max_iterations;
  options.progress = [](int, double) { return !interrupted; };
  if constexpr (is_cell_wise<Cycle>) {
    HermiteLeafOperator<Space, Dim> const leaf_a(space, a.grid(), config.form, problem.boundary,
                                                 config.solver.evaluation);
    HermiteSolver<Cycle> solver(space, leaf_a, cycle);
    typename Cycle::dual_type const leaf_load(space, a.grid(), "brickwork-biharmonic::load");
    typename Cycle::primal_type const leaf_x(space, a.grid(), "brickwork-biharmonic::solution");
    a.constrain(space, load);
    leaf_a.distribute(space, load, leaf_load);
    space.fence();
    seconds_setup += seconds_since(start);
    auto const result = solver.solve(space, leaf_load, leaf_x, options);
    leaf_a.collect(space, leaf_x, x);
    return result;
  } else {
    HermiteSolver<Cycle> solver(space, a, cycle);
    seconds_setup += seconds_since(start);
    return solver.solve(space, load, x, options);
  }
}

template <int Dim, class Cycle>
Solved<Dim> solve(Space const& space, Problem<Dim> const& problem, AdaptiveGrid<Space, Dim> const& grid) {
  auto const start = std::chrono::steady_clock::now();
  BiharmonicConfig const& config = problem.config;
  HermiteOperator<Space, Dim> const a(space, grid, config.form, problem.boundary,
                                      config.solver.patch && !is_cell_wise<Cycle>);
  HermiteFunctional<Space, Dim> const load(space, grid, "brickwork-biharmonic::load");
  Solved<Dim> solved{{space, grid, "brickwork-biharmonic::solution"}, {}, {}, {}};
  add_configured_load(space, problem, grid, load);
  space.fence();
  MeshRow& row = solved.row;
  row.seconds_setup = seconds_since(start);

  HermiteSolveResult const result = solve<Dim, Cycle>(space, problem, a, load, solved.u, row.seconds_setup);
  solved.residuals = result.residuals;
  row.iterations = result.iterations;
  row.contraction = result.contraction();
  row.true_residual = result.true_relative_residual;
  row.status = to_string(result.status);
  row.seconds_solve = result.seconds;
  row.cells = grid.leaf_count();
  row.rate = static_cast<double>(row.cells) / result.seconds;
  row.unknowns = a.unknown_count();
  row.levels = grid.level_count();
  for (int l = 0; l < grid.level_count(); ++l) {
    if (grid.level(l).leaf_count == 0) continue;
    double side = 0;
    for (int d = 0; d < Dim; ++d) side = std::max(side, grid.level(l).spacing[d]);
    row.largest_spacing = std::max(row.largest_spacing, side);
    row.smallest_spacing = side;
  }
  row.work = work_of<Dim>(space, load, solved.u);
  if (problem.manufactured()) {
    HermiteErrors const errors = hermite_errors(space, grid, solved.u, problem.solution(), config.load.points);
    row.error_l2 = errors.l2;
    row.error_h1 = errors.h1;
    row.error_h2 = errors.h2;
  }
  HermiteJumps const jumps = hermite_jumps(space, grid, solved.u);
  row.value_jump = std::max(jumps.matching_value, jumps.edge_value);
  row.slope_jump = std::max(jumps.matching_slope, jumps.edge_slope);
  if (problem.by_indicator()) {
    solved.indicator = indicator_of(space, problem, grid, solved.u);
    row.estimate = std::sqrt(indicator_sum<Space>(space, solved.indicator));
  }
  return solved;
}

/// One more local refinement; says where leaves had to follow.
template <int Dim>
RefinementCount refine(Space const& space, Problem<Dim> const& problem, LeafIndicator<Space> const& indicator,
                       AdaptiveGrid<Space, Dim>& grid) {
  if (!problem.by_indicator()) return grid.refine(space, problem.region);
  auto const [marked, marks] = mark_largest(space, grid, indicator, problem.config.adaptive.theta);
  BRICKWORK_REQUIRE(marked > 0, "the error indicator is zero: the mesh needs no refinement");
  return grid.refine(space, marks);
}

template <int Dim>
void print_header(Problem<Dim> const& problem, MemoryState const& memory, index_t bytes, Progress& progress) {
  BiharmonicConfig const& config = problem.config;
  RefinementSettings const& a = config.adaptive;
  HermiteSolverSettings const& s = config.solver;
  std::string refinements;
  for (int n : config.refinements) refinements += (refinements.empty() ? "" : ", ") + std::to_string(n);
  char form[96], smoother[96];
  std::snprintf(form, sizeof form, "mass %g, laplace %g, biharmonic %g", config.form.mass, config.form.laplace,
                config.form.biharmonic);
  if (s.patch) {
    std::snprintf(smoother, sizeof smoother, "vertex patches, %d sweeps, %s", s.sweeps,
                  s.symmetric ? "symmetric" : "forward");
  } else if (s.estimate_interval) {
    std::snprintf(smoother, sizeof smoother, "Chebyshev, %d stages, estimated interval", s.stages);
  } else {
    std::snprintf(smoother, sizeof smoother, "Chebyshev, %d stages on [%g, %g]", s.stages, s.lower, s.upper);
  }
  progress.header(
      {{"brickwork-biharmonic", BRICKWORK_VERSION},
       {"problem", config.name},
       {"base grid",
        (Dim == 3 ? triple(config.base) : std::to_string(config.base[0]) + " x " + std::to_string(config.base[1])) +
            " cells, refined " + refinements + " times"},
       {"refinement", a.depth == 0 ? "uniform" : to_string(a.region) + ", " + std::to_string(a.depth) + " times"},
       {"load", to_string(config.load.kind)},
       {"form", form},
       {"solver", std::string(s.stationary ? "stationary" : "conjugate gradients") +
                      (s.mixed ? ", cycle in FP32" : "") + ", storage " + storage_name(s)},
       {"smoother", smoother},
       {"memory", "solver " + format_bytes(double(bytes)) + (problem.by_indicator() ? " on the first mesh" : "") +
                      ", of " + format_bytes(double(memory.available)) + " free"},
       {"backend", std::string(Space::name()) + ", Kokkos " + BRICKWORK_KOKKOS_VERSION},
       {"device", memory.device},
       {"output", config.directory}});
}

template <int Dim, class Cycle>
int run(BiharmonicConfig const& config, bool force) {
  auto const start = std::chrono::steady_clock::now();
  Progress progress = Progress::console(config.quiet);
  Space const space;
  Problem<Dim> const problem(config);
  MemoryState const memory = memory_state();
  index_t const bytes = check_meshes<Dim, Cycle>(space, problem, memory);
  print_header(problem, memory, bytes, progress);
  RunDirectory directory(config.directory, force);
  directory.write_config(to_toml(config));
  for (auto const& warning : config.warnings) progress.warning(warning);

  // Meshes one after the other; whatever is solved is on disk.
  BiharmonicSummary summary;
  std::string table = mesh_header();
  int const steps = static_cast<int>(config.refinements.size()) * (config.adaptive.depth + 1);
  double setup = 0, solving = 0;
  bool broken = false;
  Solved<Dim> solved;
  for (int refinements : config.refinements) {
    AdaptiveGrid<Space, Dim> grid(space, problem.base, refinements);
    for (int depth = 0; depth <= config.adaptive.depth && !interrupted; ++depth) {
      auto const mesh_start = std::chrono::steady_clock::now();
      RefinementCount count;
      if (depth > 0) {
        count = refine(space, problem, solved.indicator, grid);
        require_memory_for<Dim, Cycle>(problem, grid, memory);
      }
      solved = Solved<Dim>();  // frees the mesh before
      solved = solve<Dim, Cycle>(space, problem, grid);
      MeshRow& row = solved.row;
      row.refinements = refinements;
      row.depth = depth;
      row.marked = count.marked;
      row.balanced = count.balanced;
      // Against the mesh before in the list, or the one before this local refinement.
      auto const before = std::find_if(summary.meshes.rbegin(), summary.meshes.rend(),
                                       [&](MeshRow const& other) { return depth > 0 || other.depth == 0; });
      if (before != summary.meshes.rend()) set_orders(row, *before, Dim);
      summary.meshes.push_back(row);
      summary.points = values_at(space, grid, solved.u, config.points);
      if (!summary.points.empty()) summary.meshes.back().value = summary.points.front().value;
      MeshRow const& done = summary.meshes.back();
      int const number = static_cast<int>(summary.meshes.size());
      for (std::size_t i = 0; i < solved.residuals.size(); ++i)
        directory.append_history(residual_header(), residual_line(number, static_cast<int>(i), solved.residuals[i],
                                                                  solved.residuals.front()));
      write_text_file(directory.file("convergence.csv"), table += to_csv(done));
      progress.row(mesh_titles(), mesh_line(done), number, steps, seconds_since(mesh_start));
      if (count.balanced > 0) {
        progress.note(detail::concatenate("refined ", count.balanced, " leaves beside the ", count.marked,
                                          " marked ones, to keep neighbours within one level"));
      }
      summary.iterations_total += done.iterations;
      summary.worst_true_residual = std::max(summary.worst_true_residual, done.true_residual);
      summary.capped_solves += done.status == "converged" ? 0 : 1;
      broken = broken || done.status == "breakdown";
      setup += done.seconds_setup, solving += done.seconds_solve;
      bool const last = interrupted || number == steps;
      if (last && config.vtkhdf)
        write_vtkhdf(directory.file("solution.vtkhdf"), leaf_mesh(grid, solved.u, solved.indicator));
    }
  }

  summary.name = config.name;
  summary.status = interrupted ? "interrupted" : (summary.capped_solves > 0 ? "capped" : "finished");
  summary.dimension = Dim;
  summary.cells = config.base;
  summary.lengths = config.lengths;
  summary.degrees_of_freedom = summary.meshes.back().unknowns;
  summary.load = to_string(config.load.kind);
  summary.region = to_string(config.adaptive.region);
  summary.method = config.solver.stationary ? "stationary" : "cg";
  summary.smoother = config.solver.patch ? "patch" : "chebyshev";
  summary.backend = Space::name();
  summary.kernel = storage_name(config.solver);
  summary.precision = config.solver.mixed ? "mixed" : "fp64";
  summary.device = memory.device;
  summary.seconds_total = seconds_since(start);
  summary.seconds_per_phase = {{"setup", setup}, {"solve", solving}};
  summary.peak_bytes = static_cast<double>(memory_state().used_peak - memory.used_peak);
  summary.predicted_bytes = static_cast<double>(bytes);
  summary.versions = {{"brickwork", BRICKWORK_VERSION}, {"revision", revision()}, {"kokkos", BRICKWORK_KOKKOS_VERSION}};
  summary.warnings = config.warnings;
  std::string note;
  if (summary.capped_solves > 0 && !interrupted) {
    note = detail::concatenate(
        summary.capped_solves, " solve(s) ended above the tolerance; convergence.csv says which",
        broken ? "; a cycle that is not positive needs solver.interval = \"estimated\", or more stages" : "");
    summary.warnings.push_back(note);
  }
  directory.write_summary(to_json(summary));
  progress.finish(describe(summary) + summary.status +
                  detail::concatenate(", ", summary.meshes.size(), " meshes, ", summary.iterations_total,
                                      " iterations, ", format_duration(summary.seconds_total), ", results in ") +
                  directory.path());
  if (!note.empty()) progress.warning(note);
  if (interrupted) return failed;
  return summary.capped_solves > 0 ? capped : finished;
}

template <int Dim>
int run_in_storage(BiharmonicConfig const& config, bool force) {
  if (config.solver.cell_wise) return run<Dim, CellWise<Dim>>(config, force);
  return config.solver.mixed ? run<Dim, VertexWise<float, Dim>>(config, force)
                             : run<Dim, VertexWise<double, Dim>>(config, force);
}

int run(BiharmonicConfig const& config, bool force) {
  return config.dimension == 2 ? run_in_storage<2>(config, force) : run_in_storage<3>(config, force);
}

}  // namespace

int main(int argc, char* argv[]) {
  return report_errors("brickwork-biharmonic", [&] {
    BiharmonicOptions const options = parse_biharmonic_options(argc, argv, std::cout, std::cerr);
    if (options.exit_code) return *options.exit_code;
    BiharmonicConfig const config = read_biharmonic_config(options.config, options.overrides);
    if (options.print_config) {
      std::cout << to_toml(config);
      return static_cast<int>(finished);
    }
    return run_with_kokkos(argv[0], config.threads, config.device, [&] { return run(config, options.force); });
  });
}
