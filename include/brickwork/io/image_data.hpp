// SPDX-License-Identifier: BSD-3-Clause
// Cell fields on a box grid as VTK image data: one .vti, or a time series of VTKHDF files. Free of Kokkos.
//
// Cell (i, j, k) is value i + nx (j + ny k) of a field (x fastest). VTI stores cell data in that order. HDF5 names
// dimensions slowest first, so a data set there has the dimensions (nz, ny, nx).
//
// A field is written slab by slab: the writer asks a callback for a run of consecutive cells (whole z-planes, or whole
// rows of one plane where a plane is larger than a slab), so a field that lives elsewhere, on a device say, never
// exists as a whole on the host. A slab is at most slab_bytes, and it is one chunk of the HDF5 data set.
//
// What VTK's readers can open decided the form of the time series (tested with VTK 9.1, Debian 12's, 9.2 and 9.7):
// - VTKHDF cell data of images cannot be read by VTK 9.1 and 9.2, which ask for one value too many per axis. So a frame
//   holds the cell values as *point data at the cell centres*: nx x ny x nz points from origin + spacing / 2. Contours
//   and volume rendering work on it as it is. density.vti holds true cell data.
// - An axis of a single point crashes VTK 9.1 or fails in all versions, so an axis with one cell is sampled twice, on
//   the cell's two faces. The attribute BrickworkCells of the group VTKHDF holds the cells per axis (nx, ny, nz), by
//   which read_voxel_image() tells such an axis from one of two cells.
// - Several steps in one file (VTKHDF 2) need a fourth dimension, which VTK before 9.3 (ParaView before 5.12) takes for
//   components and cannot open, and which later versions cannot open while the file holds one step. So every frame is a
//   VTKHDF 1.0 file of its own, and density.vtkhdf.series is the JSON list with which ParaView (5.10 and later) shows
//   them as one time series with the real step numbers as times.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "brickwork/core/types.hpp"

namespace brickwork {

/// Cells per axis, coordinates of the box's lowest corner, and cell sides (lengths).
struct ImageGeometry {
  Index3 cells{};
  Vec3 origin{};
  Vec3 spacing{};
};

/// Writes the values of the cells [first, first + count), x fastest, to `values`. The writers here call it with
/// ascending, adjoining runs; write_stl() (isosurface.hpp) comes back to planes.
template <class Value>
using CellSource = std::function<void(index_t first, index_t count, Value* values)>;

/// A named field of one value per cell: an array that lives in the caller's memory, or whatever a callback gives.
struct ImageField {
  ImageField(std::string field_name, float const* values, index_t count);
  ImageField(std::string field_name, std::uint8_t const* values, index_t count);
  ImageField(std::string field_name, CellSource<float> values, index_t count)
      : name(std::move(field_name)), float32(std::move(values)), size(count) {}
  ImageField(std::string field_name, CellSource<std::uint8_t> values, index_t count)
      : name(std::move(field_name)), uint8(std::move(values)), size(count) {}

  std::string name;
  CellSource<float> float32;  ///< exactly one of these two is set
  CellSource<std::uint8_t> uint8;
  index_t size = 0;
};

/// Most bytes of a field that a writer asks for at once.
inline constexpr index_t slab_bytes = index_t(1) << 22;

/// A box of consecutive cells.
struct Slab {
  Index3 first{};
  Index3 cells{};
  index_t offset = 0;  ///< of its first cell in x-fastest order
  index_t count() const { return cells[0] * cells[1] * cells[2]; }
};

/// Extent of slabs of at most `most` cells, about equal in size: whole planes, else whole rows, else parts of a row.
/// \throws InputError where `most` is below 1
Index3 slab_extent(Index3 const& cells, index_t most);

/// Calls visit(Slab) for slabs of `extent` (the last of an axis may be smaller) that cover the box in ascending order.
/// \param extent what slab_extent() gave
template <class Visit>
void for_each_slab(Index3 const& cells, Index3 const& extent, Visit const& visit) {
  Slab slab;
  for (slab.first[2] = 0; slab.first[2] < cells[2]; slab.first[2] += extent[2]) {
    for (slab.first[1] = 0; slab.first[1] < cells[1]; slab.first[1] += extent[1]) {
      for (slab.first[0] = 0; slab.first[0] < cells[0]; slab.first[0] += extent[0]) {
        for (int axis = 0; axis < 3; ++axis) {
          index_t const left = cells[axis] - slab.first[axis];
          slab.cells[axis] = extent[axis] < left ? extent[axis] : left;
        }
        slab.offset = slab.first[0] + cells[0] * (slab.first[1] + cells[1] * slab.first[2]);
        visit(static_cast<Slab const&>(slab));
      }
    }
  }
}

/// Densities clipped to [0, 1] as round(255 rho): a quarter of the size of float32. NaN becomes 0.
std::vector<std::uint8_t> quantize_density(float const* density, index_t size);
/// The same into memory of the caller.
void quantize_density(float const* density, index_t size, std::uint8_t* quantized);

/// Writes a VTK XML image (.vti) with inline base64 data and 64-bit headers; the first field is the active scalar.
/// The file appears whole or not at all.
/// \throws InputError for a geometry that is not positive, for no field, or for a field whose size is not nx ny nz
/// \throws Error where the file cannot be written
void write_vti(std::string const& path, ImageGeometry const& geometry, std::vector<ImageField> const& fields);

/// Writes a NumPy array (.npy, format 1.0) of float32 or uint8: shape (nz, ny, nx) in C order, so array[k, j, i] is
/// cell (i, j, k). Origin and spacing are not kept. The file appears whole or not at all. \throws as write_vti
void write_npy(std::string const& path, ImageGeometry const& geometry, ImageField const& field);

/// Whether this build can write VTKHDF files (it was configured with HDF5).
bool vtkhdf_available();

/// Writes one VTKHDF 1.0 image with the cell values as point data at the cell centres (see above; a chunk is a slab).
/// The file appears whole or not at all.
///
/// \param deflate level of compression, 0 (none) to 9; byte-shuffled before
/// \throws as write_vti; InputError for another level; Error where vtkhdf_available() is false, or HDF5 cannot deflate
void write_vtkhdf(std::string const& path, ImageGeometry const& geometry, std::vector<ImageField> const& fields,
                  int deflate = 0);

/// A time series `<directory>/<name>.vtkhdf.series` of frames `<directory>/<name>_frames/<name>_0001.vtkhdf`.
/// Valid after every frame: a frame is listed once it is complete.
class VtkHdfSeries {
 public:
  /// Creates the folder of frames.
  ///
  /// \param deflate as write_vtkhdf
  /// \throws Error where that fails or vtkhdf_available() is false; as write_vtkhdf for `deflate`
  VtkHdfSeries(std::string directory, std::string name, ImageGeometry geometry, int deflate = 0);

  /// Appends a frame. `step` is the number in the file's name and the frame's time in ParaView; it must ascend.
  /// \throws InputError for a step that does not ascend; as write_vtkhdf
  void append(index_t step, std::vector<ImageField> const& fields);

  index_t frames() const { return static_cast<index_t>(entries_.size()); }

 private:
  std::string directory_;
  std::string name_;
  ImageGeometry geometry_;
  int deflate_;
  std::vector<std::pair<std::string, index_t>> entries_;  // file relative to directory_, step
};

}  // namespace brickwork
