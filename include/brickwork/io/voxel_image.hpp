// SPDX-License-Identifier: BSD-3-Clause
// Voxel images from files: VTK images (.vti, .vtkhdf) and series of them (.series), arrays (.npy, .raw), and closed
// surfaces (.stl). Free of Kokkos.
//
// docs/voxel_images.md lists what each format may hold.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "brickwork/core/types.hpp"

namespace brickwork {

/// One value per cell of a box of equal cells. Cell (i, j, k) is value i + nx (j + ny k), x fastest.
struct VoxelImage {
  Index3 cells{};
  Vec3 origin{0, 0, 0};       ///< coordinates of the box's lowest corner (length)
  Vec3 spacing{1, 1, 1};      ///< cell sides (length)
  bool has_geometry = false;  ///< whether origin and spacing come from the file: .npy and .raw have none
  std::vector<float> values;  ///< finite; rounded to FP32 where the file holds more
  std::string field;          ///< name of the field that was read; empty where the format has none
  bool is_uint8 = false;      ///< the file holds unsigned bytes
};

struct VoxelImageOptions {
  /// Name of the field in a .vti or .vtkhdf. Empty: the only field, else the active scalar; cell data come first.
  std::string field;
  /// Wanted size; needed by .raw and .stl. {0, 0, 0}: as in the file.
  Index3 cells{};
  /// .raw: int8, uint8, int16, uint16, int32, uint32, int64, uint64, float32 or float64 (or NumPy's short names, u1
  /// ..).
  std::string type;
  /// .raw: byte order, and bytes to skip before the values.
  bool big_endian = false;
  index_t header_bytes = 0;
  /// .stl: the box that is divided into cells (lengths). Lengths {0, 0, 0}: the surface's bounding box.
  Vec3 box_origin{0, 0, 0};
  Vec3 box_lengths{0, 0, 0};
  /// .series: the step (time) to read. None: the last one listed.
  std::optional<index_t> step;
};

/// Reads a voxel image; the extension says which format.
///
/// - `.vti`: VTK XML image data: ascii, base64 and appended (raw or base64), plain or zlib-compressed (where
///   voxel_image_inflates()), any scalar type, either byte order. Cell data, or point data, whose points are then taken
///   for the cell centres.
/// - `.vtkhdf`: VTKHDF image data with cell data, or point data at the cell centres as write_vtkhdf() leaves it (an
/// axis
///   of a single cell is one again). Of several steps in one file, the last.
/// - `.npy`: an array of shape (nz, ny, nx): array[k, j, i] is cell (i, j, k), in C or Fortran order; bool, integers,
///   and floats of 4 or 8 bytes, either byte order.
/// - `.raw`, `.bin`: nx ny nz values, x fastest, after options.header_bytes.
/// - `.stl` (text or binary): 1 for cells whose centre lies inside the surface, else 0. Inside is where a ray along x
///   crosses the surface an odd number of times, so overlapping bodies cancel.
/// - `.series`: ParaView's list of the files of a time series, as VtkHdfSeries leaves it; one of those files.
///
/// Beside the result, memory holds buffers of some 64 KiB (Fortran order: 64 MiB or one plane), for STL the triangles.
/// \throws InputError naming the file and what is wrong: it cannot be read, is not of its format or ends early; the
/// field is not clear (with the names there are); a size differs from options.cells (with both); a value is not finite
/// (with its cell); the surface is open; a series lacks options.step (with the steps there are)
/// \throws OutOfMemory where the values do not fit
VoxelImage read_voxel_image(std::string const& path, VoxelImageOptions const& options = {});

/// Turns round(255 rho), as FieldType::uint8 writes densities, back into rho: values over 255 where `image` comes from
/// a field "density" of unsigned bytes that holds more than 0 and 1. Others are left alone. \return whether it did so
bool densities_from_bytes(VoxelImage& image);

/// Whether this build reads zlib-compressed .vti (zlib was found when it was configured).
bool voxel_image_inflates();

}  // namespace brickwork
