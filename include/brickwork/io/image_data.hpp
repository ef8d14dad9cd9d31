// SPDX-License-Identifier: BSD-3-Clause
// Cell fields on a box grid as VTK image data: one .vti, or a time series of VTKHDF files. Host pointers, free of
// Kokkos.
//
// Cell (i, j, k) is value i + nx (j + ny k) of a field (x fastest). VTI stores cell data in that order. HDF5 names
// dimensions slowest first, so a data set there has the dimensions (nz, ny, nx).
//
// What VTK's readers can open decided the form of the time series (tested with VTK 9.1, Debian 12's, 9.2 and 9.7):
// - VTKHDF cell data of images cannot be read by VTK 9.1 and 9.2, which ask for one value too many per axis. So a frame
// holds
//   the cell values as *point data at the cell centres*: nx x ny x nz points from origin + spacing / 2. Contours and
//   volume rendering work on it as it is. density.vti holds true cell data.
// - An axis of a single point crashes VTK 9.1 or fails in all versions, so an axis with one cell is sampled twice, on
// the
//   cell's two faces.
// - Several steps in one file (VTKHDF 2) need a fourth dimension, which VTK before 9.3 (ParaView before 5.12) takes for
//   components and cannot open, and which later versions cannot open while the file holds one step. So every frame is a
//   VTKHDF 1.0 file of its own, and density.vtkhdf.series is the JSON list with which ParaView (5.10 and later) shows
//   them as one time series with the real step numbers as times.
#pragma once

#include <cstdint>
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

/// A named array of one value per cell that lives in the caller's memory.
struct ImageField {
  ImageField(std::string field_name, float const* values, index_t count)
      : name(std::move(field_name)), float32(values), size(count) {}
  ImageField(std::string field_name, std::uint8_t const* values, index_t count)
      : name(std::move(field_name)), uint8(values), size(count) {}

  std::string name;
  float const* float32 = nullptr;  ///< exactly one of these two is set
  std::uint8_t const* uint8 = nullptr;
  index_t size = 0;
};

/// Densities clipped to [0, 1] as round(255 rho): a quarter of the size of float32. NaN becomes 0.
std::vector<std::uint8_t> quantize_density(float const* density, index_t size);

/// Writes a VTK XML image (.vti) with inline base64 data and 64-bit headers; the first field is the active scalar.
/// The file appears whole or not at all.
/// \throws InputError for a geometry that is not positive, for no field, or for a field whose size is not nx ny nz
/// \throws Error where the file cannot be written
void write_vti(std::string const& path, ImageGeometry const& geometry, std::vector<ImageField> const& fields);

/// Whether this build can write VTKHDF files (it was configured with HDF5).
bool vtkhdf_available();

/// Writes one VTKHDF 1.0 image with the cell values as point data at the cell centres (see above; chunked, deflated
/// where HDF5 can). The file appears whole or not at all.
///
/// \throws as write_vti, and Error where vtkhdf_available() is false
void write_vtkhdf(std::string const& path, ImageGeometry const& geometry, std::vector<ImageField> const& fields);

/// A time series `<directory>/<name>.vtkhdf.series` of frames `<directory>/<name>_frames/<name>_0001.vtkhdf`.
/// Valid after every frame: a frame is listed once it is complete.
class VtkHdfSeries {
 public:
  /// Creates the folder of frames.
  ///
  /// \throws Error where that fails or vtkhdf_available() is false
  VtkHdfSeries(std::string directory, std::string name, ImageGeometry geometry);

  /// Appends a frame. `step` is the number in the file's name and the frame's time in ParaView; it must ascend.
  /// \throws InputError for a step that does not ascend; as write_vtkhdf
  void append(index_t step, std::vector<ImageField> const& fields);

  index_t frames() const { return static_cast<index_t>(entries_.size()); }

 private:
  std::string directory_;
  std::string name_;
  ImageGeometry geometry_;
  std::vector<std::pair<std::string, index_t>> entries_;  // file relative to directory_, step
};

}  // namespace brickwork
