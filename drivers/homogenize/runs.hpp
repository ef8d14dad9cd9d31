// SPDX-License-Identifier: BSD-3-Clause
// The two runs of brickwork-homogenize, and what they share.
#pragma once

#include <Kokkos_Core.hpp>
#include <string>
#include <utility>
#include <vector>

#include "brickwork/core/check.hpp"
#include "brickwork/core/config.hpp"
#include "brickwork/core/device_memory.hpp"
#include "brickwork/core/revision.hpp"
#include "brickwork/core/timing.hpp"
#include "brickwork/io/homogenize_config.hpp"
#include "brickwork/io/homogenize_results.hpp"
#include "brickwork/io/image_data.hpp"
#include "brickwork/io/isosurface.hpp"
#include "brickwork/io/voxel_image.hpp"

namespace brickwork::driver {

using Space = Kokkos::DefaultExecutionSpace;
using Settings = std::vector<std::pair<std::string, std::string>>;

/// The image of a tensor run, or of a design's start, as the reader takes it.
inline VoxelImage read_image(ImageSource const& source) {
  VoxelImageOptions options;
  options.field = source.field;
  options.step = source.step;
  options.cells = source.cells;
  options.type = source.type;
  options.big_endian = source.big_endian;
  options.header_bytes = source.header_bytes;
  options.box_origin = source.box_lower;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    options.box_lengths[axis] = source.box_upper[axis] - source.box_lower[axis];
  }
  return read_voxel_image(source.file, options);
}

/// What CellOutputSettings asks for beside frames, of a density in FP32. Returns a warning, or nothing.
inline std::string write_cell(CellOutputSettings const& output, RunDirectory const& directory,
                              ImageGeometry const& geometry, ImageField const& density) {
  if (output.npy) write_npy(directory.file("density.npy"), geometry, density);
  if (output.stl) {
    index_t const tiles = output.stl_tiles;
    index_t const triangles = write_stl(directory.file("cell.stl"), geometry, density,
                                        {output.stl_level, {tiles, tiles, tiles}, output.stl_caps});
    if (triangles == 0) {
      return detail::concatenate("cell.stl has no triangles: no surface of density output.stl_level = ",
                                 output.stl_level, output.stl_caps ? "" : " within the cell");
    }
  }
  return {};
}

/// The part of a summary that does not depend on what was computed.
inline void fill_facts(CellSummary& summary, std::string const& name, PeriodicCell const& cell,
                       MemoryState const& memory) {
  summary.name = name;
  summary.cells = cell.cells;
  summary.lengths = cell.lengths;
  summary.degrees_of_freedom = 3 * cell.cells[0] * cell.cells[1] * cell.cells[2];  // each node once
  summary.backend = Space::name();
  summary.device = memory.device;
  summary.precision = to_string(cell.solver.precision);
  summary.versions = {{"brickwork", BRICKWORK_VERSION}, {"revision", revision()}, {"kokkos", BRICKWORK_KOKKOS_VERSION}};
  summary.poisson = cell.poisson;
}

/// Elasticity tensor of a given cell. Returns the program's exit code.
/// \param image values and geometry as read; empty where the configuration asks for a surface
int run_tensor(TensorConfig config, VoxelImage image, bool force);

/// Inverse homogenization. Returns the program's exit code.
/// \param start values of the start file, on the problem's cells; empty where the start is computed
int run_design(HomogenizeConfig const& config, std::vector<float> start, bool force);

}  // namespace brickwork::driver
