// SPDX-License-Identifier: BSD-3-Clause
// The configuration of brickwork-biharmonic: TOML in, a resolved run out, and back. Free of Kokkos.
// docs/biharmonic.md documents every key.
#pragma once

#include <string>
#include <vector>

#include "brickwork/fem/hermite.hpp"
#include "brickwork/fem/plate_boundary.hpp"
#include "brickwork/io/run_settings.hpp"
#include "brickwork/operators/hermite_evaluation.hpp"

namespace brickwork {

/// What decides where the mesh is refined beyond its uniform refinements.
enum class RefinementKind { none, octant, ball, ring, box, indicator };

struct RefinementSettings {
  RefinementKind region = RefinementKind::none;
  int depth = 0;       ///< local refinements, each of which is solved
  double theta = 0.5;  ///< indicator: share of the estimated error to mark, in (0, 1]
  Vec3 centre{}, lower{}, upper{};
  double radius = 0;
};

enum class LoadKind { manufactured, constant, point };

struct LoadSettings {
  LoadKind kind = LoadKind::manufactured;
  double value = 1;  ///< constant: per volume (area of a plate); point: a force
  Vec3 position{};   ///< of a point load
  int points = 5;    ///< Gauss points per axis for a manufactured load and for errors
};

/// Of solvers/hermite_solver.hpp.
struct HermiteSolverSettings {
  bool stationary = false;  ///< x += M (b - A x) in place of conjugate gradients
  bool patch = false;       ///< vertex-patch sweeps in place of Chebyshev-Jacobi
  bool symmetric = true;    ///< sweeps after the coarser levels in reversed order
  bool mixed = false;       ///< the cycle in FP32
  bool cell_wise = false;   ///< vectors of 4^dimension values per cell in place of 2^dimension per vertex
  HermiteEvaluation evaluation = HermiteEvaluation::automatic;  ///< of the element, where cell_wise
  double tolerance = 1e-8;
  int max_iterations = 200;
  int stages = 3, coarsest_stages = 20;
  int sweeps = 2, coarsest_sweeps = 10;
  double lower = 0.2, upper = 2.0;  ///< interval of the Chebyshev polynomial
  bool estimate_interval = false;   ///< unless stated: where cells are no cubes or the form has lower-order terms
};

struct BiharmonicConfig {
  std::string name;
  int dimension = 3;
  // Of the three entries of every triple, the last one means nothing in two dimensions.
  Index3 base{1, 1, 1};
  Vec3 lengths{1, 1, 1}, origin{};
  std::vector<int> refinements{4};  ///< one or more: each is a mesh to begin with
  PlateBoundary<3> boundary{};
  RefinementSettings adaptive;
  LoadSettings load;
  HermiteForm form;
  HermiteSolverSettings solver;
  std::string directory;
  bool vtkhdf = true;        ///< solution.vtkhdf of the last mesh
  std::vector<Vec3> points;  ///< where to report the solution; the centre unless stated
  int threads = 0;
  int device = -1;
  bool quiet = false;
  std::vector<std::string> warnings;  ///< not part of the TOML
};

/// Reads, resolves and validates a configuration.
/// \throws InputError with one line that names file, line, key and what would be right
BiharmonicConfig read_biharmonic_config(std::string const& path, ConfigOverrides const& overrides = {});
/// The same for TOML text; `name` stands for the file in messages.
BiharmonicConfig parse_biharmonic_config(std::string const& text, std::string const& name,
                                         ConfigOverrides const& overrides = {});

/// The resolved configuration, complete: reading it back gives the same run.
std::string to_toml(BiharmonicConfig const& config);

std::string to_string(RefinementKind kind);  ///< none, octant, ball, ring, box, indicator
std::string to_string(LoadKind kind);        ///< manufactured, constant, point

}  // namespace brickwork
