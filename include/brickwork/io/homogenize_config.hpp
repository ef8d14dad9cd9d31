// SPDX-License-Identifier: BSD-3-Clause
// The configurations of brickwork-homogenize: TOML in, a resolved run out, and back. Free of Kokkos.
// docs/homogenization.md documents every key.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "brickwork/design/homogenize_problem.hpp"
#include "brickwork/io/run_settings.hpp"

namespace brickwork {

/// Files of a cell beside those of OutputSettings.
struct CellOutputSettings : OutputSettings {
  bool npy = true;         ///< density.npy
  bool stl = true;         ///< cell.stl
  double stl_level = 0.5;  ///< density of the surface, in (0, 1)
  int stl_tiles = 1;       ///< copies of the cell along each axis
  bool stl_caps = true;    ///< closes the solid on the faces of the box, so that it can be printed
};

/// A design run.
struct HomogenizeConfig {
  HomogenizeProblem problem;
  CellOutputSettings output;
  int threads = 0;  ///< host threads; 0 = all
  int device = -1;  ///< GPU number; -1 = Kokkos chooses
  bool quiet = false;
  std::vector<std::string> warnings;  ///< what validate() remarked; not part of the TOML
};

/// Where the cell of a tensor run comes from: a file, or a triply periodic minimal surface.
struct ImageSource {
  std::string file;               ///< .vti, .vtkhdf, .series, .npy, .raw or .stl; empty: `surface`
  std::optional<index_t> step;    ///< of a series; none: its last
  std::string field;              ///< of a file that holds several; empty: the only or active one
  Index3 cells{};                 ///< needed for raw, STL and surfaces; else zero, or what the image must have
  std::string type;               ///< of raw values: uint8 .. int64, float32, float64
  bool big_endian = false;        ///< raw values
  index_t header_bytes = 0;       ///< to skip before raw values
  Vec3 box_lower{}, box_upper{};  ///< of an STL: the cell's corners (lengths); equal: the surface's bounding box
  std::string surface;            ///< gyroid, schwarz_p, diamond or iwp; solid is density 1
  double fraction = 0.3;          ///< solid share of a surface's cell
  int periods = 1;                ///< of a surface along each axis
  bool sheet = false;             ///< a surface's solid lies on both of its sides
};

/// A tensor run.
struct TensorConfig {
  TensorProblem problem;
  ImageSource image;
  CellOutputSettings output;  ///< files show the image as it was understood; by default none
  int threads = 0;
  int device = -1;
  bool quiet = false;
  std::vector<std::string> warnings;
};

/// Reads, resolves and validates the configuration of a design run.
/// \throws InputError with one line that names file, line, key and what would be right
HomogenizeConfig read_homogenize_config(std::string const& path, ConfigOverrides const& overrides = {});
/// The same for TOML text; `name` stands for the file in messages.
HomogenizeConfig parse_homogenize_config(std::string const& text, std::string const& name,
                                         ConfigOverrides const& overrides = {});

/// The configuration of a tensor run: `image`, where it is not empty, is image.file; `path` may be empty.
/// \throws InputError as read_homogenize_config
TensorConfig read_tensor_config(std::string const& image, std::string const& path,
                                ConfigOverrides const& overrides = {});
/// The same for TOML text.
TensorConfig parse_tensor_config(std::string const& image, std::string const& text, std::string const& name,
                                 ConfigOverrides const& overrides = {});

/// The resolved configuration, complete: reading it back gives the same run.
std::string to_toml(HomogenizeConfig const& config);
std::string to_toml(TensorConfig const& config);

std::string to_string(FieldStorage storage);         ///< automatic, fp64, fp32, int16
std::string to_string(DesignFilter filter);          ///< none, density, sensitivity
std::string to_string(FilterKernel kernel);          ///< linear, spline4
std::string to_string(DesignUpdateMethod method);    ///< oc, mma
std::string to_string(TensorConstraint::Kind kind);  ///< zener, bulk_at_least, shear_at_least, expression_at_most

}  // namespace brickwork
