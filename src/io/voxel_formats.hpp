// SPDX-License-Identifier: BSD-3-Clause
// The readers behind read_voxel_image(), one per format. Private to src/io.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "brickwork/io/voxel_image.hpp"

namespace brickwork::detail {

VoxelImage read_vti_image(std::string const& path, VoxelImageOptions const& options);
VoxelImage read_vtkhdf_image(std::string const& path, VoxelImageOptions const& options);
VoxelImage read_stl_image(std::string const& path, VoxelImageOptions const& options);

/// The path of a file that a series lists: of `step`, else the last.
/// \throws InputError naming the steps there are where `step` is none of them
std::string frame_of_series(std::string const& path, std::optional<index_t> step);

/// A field that a VTK file offers.
struct OfferedField {
  std::string name;
  index_t components = 1;
  bool cell_data = true;
};

/// Index of the field to read: the one named `wanted`, else the only one of the cell data, else the active scalar of
/// the cell data; the same of the point data where there are no cell data. \throws InputError with the names there are
std::size_t choose_field(std::string const& path, std::vector<OfferedField> const& fields, std::string const& wanted,
                         std::string const& active_cell_scalar, std::string const& active_point_scalar);

/// \throws InputError with both sizes where they differ; {0, 0, 0} as `wanted` fits any
void require_size(std::string const& path, Index3 const& cells, Index3 const& wanted);

}  // namespace brickwork::detail
