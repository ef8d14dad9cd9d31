// SPDX-License-Identifier: BSD-3-Clause
// Unstructured meshes with data as VTKHDF 1.0 files, for ParaView (5.10 and later) and VTK (9.1 and later). Free of
// Kokkos.
//
// One partition: the groups PointData and CellData, and the data sets NumberOfPoints, NumberOfCells,
// NumberOfConnectivityIds (one entry each), Points (n, 3), Connectivity, Offsets (cells + 1) and Types.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "brickwork/core/types.hpp"

namespace brickwork {

/// A named field of `components` values per point or cell, those of one entity consecutive.
struct MeshField {
  std::string name;
  int components = 1;
  std::vector<double> values;
};

/// Quadrilaterals or hexahedra. Corners in the order of Brickwork: number n of a cell lies at (n & 1, (n >> 1) & 1,
/// n >> 2) of its box; the file has VTK's.
struct UnstructuredGrid {
  std::vector<double> points;         ///< three coordinates each
  int corners = 8;                    ///< per cell: 4 or 8
  std::vector<index_t> connectivity;  ///< `corners` points per cell
  std::vector<MeshField> point_fields, cell_fields;

  index_t point_count() const { return static_cast<index_t>(points.size() / 3); }
  index_t cell_count() const { return static_cast<index_t>(connectivity.size()) / corners; }
};

/// The file appears whole or not at all.
/// \throws InputError for another number of corners, points that do not exist, or fields of another size
/// \throws Error where the file cannot be written, or this build has no HDF5 (vtkhdf_available())
void write_vtkhdf(std::string const& path, UnstructuredGrid const& grid);

}  // namespace brickwork
