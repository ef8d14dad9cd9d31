// SPDX-License-Identifier: BSD-3-Clause
#include "brickwork/io/unstructured_grid.hpp"

#include <algorithm>

#include "brickwork/core/check.hpp"
#include "brickwork/core/config.hpp"

#if BRICKWORK_HAS_HDF5()
#include "hdf5.hpp"
#endif

namespace brickwork {

namespace {

void check_grid(UnstructuredGrid const& grid) {
  BRICKWORK_REQUIRE(grid.corners == 4 || grid.corners == 8, "mesh: ", grid.corners,
                    " corners per cell; quadrilaterals have 4, hexahedra 8");
  BRICKWORK_REQUIRE(grid.points.size() % 3 == 0, "mesh: ", grid.points.size(), " coordinates are not three per point");
  auto const corners = static_cast<std::size_t>(grid.corners);
  BRICKWORK_REQUIRE(grid.connectivity.size() % corners == 0 && !grid.connectivity.empty(),
                    "mesh: ", grid.connectivity.size(), " corners do not make cells of ", corners);
  for (index_t point : grid.connectivity) {
    BRICKWORK_REQUIRE(point >= 0 && point < grid.point_count(), "mesh: a cell names the point ", point, " of ",
                      grid.point_count());
  }
  auto const check_fields = [](std::vector<MeshField> const& fields, index_t count, char const* what) {
    for (MeshField const& field : fields) {
      BRICKWORK_REQUIRE(field.components >= 1 && static_cast<index_t>(field.values.size()) == count * field.components,
                        "mesh: field '", field.name, "' has ", field.values.size(), " values for ", count, " ", what,
                        " of ", field.components, " components");
    }
  };
  check_fields(grid.point_fields, grid.point_count(), "points");
  check_fields(grid.cell_fields, grid.cell_count(), "cells");
}

}  // namespace

#if BRICKWORK_HAS_HDF5()

namespace {

using detail::Hdf5Handle;
using detail::require;

/// A data set of `rows` rows (of `columns` values where that is above 0).
void write_set(hid_t group, char const* name, hid_t file_type, hid_t memory_type, std::size_t rows, int columns,
               void const* values, std::string const& failure) {
  hsize_t const extent[2] = {rows, static_cast<hsize_t>(columns)};
  Hdf5Handle const space(H5Screate_simple(columns > 0 ? 2 : 1, extent, nullptr), H5Sclose, failure);
  Hdf5Handle set(H5Dcreate2(group, name, file_type, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT), H5Dclose, failure);
  require(H5Dwrite(set, memory_type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) >= 0, failure);
  require(set.close(), failure);
}

void write_integers(hid_t group, char const* name, std::vector<std::int64_t> const& values,
                    std::string const& failure) {
  write_set(group, name, H5T_STD_I64LE, H5T_NATIVE_INT64, values.size(), 0, values.data(), failure);
}

void write_fields(hid_t root, char const* name, std::vector<MeshField> const& fields, std::string const& failure) {
  Hdf5Handle const group(H5Gcreate2(root, name, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT), H5Gclose, failure);
  for (MeshField const& field : fields) {
    std::size_t const rows = field.values.size() / static_cast<std::size_t>(field.components);
    write_set(group, field.name.c_str(), H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE, rows,
              field.components > 1 ? field.components : 0, field.values.data(), failure);
  }
}

/// VTK walks around each face.
std::vector<std::int64_t> vtk_connectivity(UnstructuredGrid const& grid) {
  static constexpr int order[8] = {0, 1, 3, 2, 4, 5, 7, 6};
  auto const corners = static_cast<std::size_t>(grid.corners);
  std::vector<std::int64_t> connectivity(grid.connectivity.size());
  for (std::size_t first = 0; first < connectivity.size(); first += corners)
    for (std::size_t n = 0; n < corners; ++n)
      connectivity[first + n] = grid.connectivity[first + static_cast<std::size_t>(order[n])];
  return connectivity;
}

}  // namespace

void write_vtkhdf(std::string const& path, UnstructuredGrid const& grid) {
  check_grid(grid);
  detail::write_vtkhdf_file(path, [&](hid_t root, std::string const& failure) {
    int const version[2] = {1, 0};
    detail::write_attribute(root, "Version", H5T_STD_I32LE, H5T_NATIVE_INT, 2, version, failure);
    detail::write_string_attribute(root, "Type", "UnstructuredGrid", failure);
    auto const cells = static_cast<std::size_t>(grid.cell_count());
    write_integers(root, "NumberOfPoints", {grid.point_count()}, failure);
    write_integers(root, "NumberOfCells", {grid.cell_count()}, failure);
    write_integers(root, "NumberOfConnectivityIds", {static_cast<std::int64_t>(grid.connectivity.size())}, failure);
    write_set(root, "Points", H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE, grid.points.size() / 3, 3, grid.points.data(),
              failure);
    write_integers(root, "Connectivity", vtk_connectivity(grid), failure);
    std::vector<std::int64_t> offsets(cells + 1);
    for (std::size_t i = 0; i <= cells; ++i) offsets[i] = static_cast<std::int64_t>(i) * grid.corners;
    write_integers(root, "Offsets", offsets, failure);
    std::vector<std::uint8_t> const types(cells, grid.corners == 4 ? 9 : 12);  // VTK_QUAD, VTK_HEXAHEDRON
    write_set(root, "Types", H5T_STD_U8LE, H5T_NATIVE_UINT8, cells, 0, types.data(), failure);
    write_fields(root, "PointData", grid.point_fields, failure);
    write_fields(root, "CellData", grid.cell_fields, failure);
  });
}

#else

void write_vtkhdf(std::string const& path, UnstructuredGrid const& grid) {
  check_grid(grid);
  throw Error("cannot write '" + path + "': this build has no HDF5; set output.vtkhdf = false or rebuild with HDF5");
}

#endif

}  // namespace brickwork
