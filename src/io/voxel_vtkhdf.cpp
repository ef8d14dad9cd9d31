// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <cmath>
#include <vector>

#include "brickwork/core/check.hpp"
#include "brickwork/core/config.hpp"
#include "byte_source.hpp"
#include "voxel_formats.hpp"

#if BRICKWORK_HAS_HDF5()
#include "hdf5.hpp"
#endif

namespace brickwork::detail {

#if BRICKWORK_HAS_HDF5()

namespace {

// A text attribute; "" where there is none.
std::string read_string(hid_t object, char const* name, std::string const& failure) {
  if (H5Aexists(object, name) <= 0) return "";
  Hdf5Handle const attribute(H5Aopen(object, name, H5P_DEFAULT), H5Aclose, failure);
  Hdf5Handle const type(H5Aget_type(attribute), H5Tclose, failure);
  if (H5Tget_class(type) != H5T_STRING) return "";
  if (H5Tis_variable_str(type) > 0) {
    char* text = nullptr;
    if (H5Aread(attribute, type, &text) < 0 || text == nullptr) return "";
    std::string const copy = text;
    H5free_memory(text);
    return copy;
  }
  std::string text(H5Tget_size(type), '\0');
  if (H5Aread(attribute, type, text.data()) < 0) return "";
  return text.substr(0, text.find('\0'));
}

// A numeric attribute of `count` values; empty where there is none of that size.
std::vector<double> read_numbers(hid_t object, char const* name, hssize_t count, std::string const& failure) {
  if (H5Aexists(object, name) <= 0) return {};
  Hdf5Handle const attribute(H5Aopen(object, name, H5P_DEFAULT), H5Aclose, failure);
  Hdf5Handle const space(H5Aget_space(attribute), H5Sclose, failure);
  if (H5Sget_simple_extent_npoints(space) != count) return {};
  std::vector<double> values(static_cast<std::size_t>(count));
  if (H5Aread(attribute, H5T_NATIVE_DOUBLE, values.data()) < 0) return {};
  return values;
}

// The data sets of a group, by name.
std::vector<std::string> members(hid_t group, std::string const& failure) {
  std::vector<std::string> names;
  H5G_info_t info;
  if (H5Gget_info(group, &info) < 0) throw InputError(failure);
  for (hsize_t n = 0; n < info.nlinks; ++n) {
    auto const length = H5Lget_name_by_idx(group, ".", H5_INDEX_NAME, H5_ITER_INC, n, nullptr, 0, H5P_DEFAULT);
    if (length < 0) throw InputError(failure);
    std::string name(static_cast<std::size_t>(length), '\0');
    H5Lget_name_by_idx(group, ".", H5_INDEX_NAME, H5_ITER_INC, n, name.data(), name.size() + 1, H5P_DEFAULT);
    names.push_back(name);
  }
  return names;
}

std::vector<hsize_t> dimensions(hid_t set, std::string const& failure) {
  Hdf5Handle const space(H5Dget_space(set), H5Sclose, failure);
  int const rank = H5Sget_simple_extent_ndims(space);
  std::vector<hsize_t> dims(static_cast<std::size_t>(std::max(rank, 0)));
  if (rank > 0) H5Sget_simple_extent_dims(space, dims.data(), nullptr);
  return dims;
}

VoxelImage read(std::string const& path, VoxelImageOptions const& options, std::string const& failure) {
  InputFile const readable(path);  // its message names the system's reason
  Hdf5Handle const file(H5Fopen(path.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT), H5Fclose,
                        "cannot read '" + path + "': it is no HDF5 file, or damaged");
  if (H5Lexists(file, "VTKHDF", H5P_DEFAULT) <= 0) readable.fail("it has no group VTKHDF");
  Hdf5Handle const root(H5Gopen2(file, "VTKHDF", H5P_DEFAULT), H5Gclose, failure);
  std::string const type = read_string(root, "Type", failure);
  if (type != "ImageData") readable.fail("it holds a VTKHDF of type '" + type + "'; ImageData is needed");
  std::vector<double> const extent = read_numbers(root, "WholeExtent", 6, failure);
  std::vector<double> const origin = read_numbers(root, "Origin", 3, failure);
  std::vector<double> const spacing = read_numbers(root, "Spacing", 3, failure);
  if (extent.empty() || origin.empty() || spacing.empty()) {
    readable.fail("WholeExtent, Origin and Spacing must be attributes of 6, 3 and 3 numbers");
  }
  std::vector<double> const direction = read_numbers(root, "Direction", 9, failure);
  if (!direction.empty() && direction != std::vector<double>{1, 0, 0, 0, 1, 0, 0, 0, 1}) {
    readable.fail("its axes are turned (Direction); only images along x, y and z can be read");
  }
  for (std::size_t axis = 0; axis < 3; ++axis) {
    if (!(extent[2 * axis + 1] >= extent[2 * axis])) readable.fail("its WholeExtent is empty");
    if (!(spacing[axis] > 0 && std::isfinite(spacing[axis]) && std::isfinite(origin[axis]))) {
      readable.fail("its Origin must be finite and its Spacing above 0");
    }
  }

  // Cell data have nz x ny x nx values, point data one more per axis; a first dimension more counts steps.
  char const* const groups[] = {"CellData", "PointData"};
  std::vector<OfferedField> fields;
  std::string active[2];
  for (int g = 0; g < 2; ++g) {
    if (H5Lexists(root, groups[g], H5P_DEFAULT) <= 0) continue;
    Hdf5Handle const group(H5Gopen2(root, groups[g], H5P_DEFAULT), H5Gclose, failure);
    active[g] = read_string(group, "Scalars", failure);
    for (std::string const& name : members(group, failure)) {
      Hdf5Handle const object(H5Oopen(group, name.c_str(), H5P_DEFAULT), H5Oclose, failure);
      if (H5Iget_type(object) != H5I_DATASET || name == "vtkGhostType") continue;
      std::vector<hsize_t> const dims = dimensions(object, failure);
      bool const steps = H5Lexists(root, "Steps", H5P_DEFAULT) > 0;
      std::size_t const scalar_rank = steps ? 4 : 3;
      fields.push_back({name, dims.size() > scalar_rank ? static_cast<index_t>(dims.back()) : 1, g == 0});
    }
  }
  OfferedField const field = fields[choose_field(path, fields, options.field, active[0], active[1])];

  VoxelImage image;
  image.field = field.name;
  image.has_geometry = true;
  Index3 samples{};
  std::vector<double> const cells = read_numbers(root, vtkhdf_cells_attribute, 3, failure);
  for (std::size_t axis = 0; axis < 3; ++axis) {
    double const points = extent[2 * axis + 1] - extent[2 * axis] + 1;
    double const n = field.cell_data ? std::max(points - 1, 1.0) : points;
    if (n > 2147483648.0) readable.fail("its WholeExtent passes 2^31");
    samples[axis] = static_cast<index_t>(n);
    bool const twice = !field.cell_data && !cells.empty() && cells[axis] == 1 && samples[axis] == 2;
    image.cells[axis] = twice ? 1 : samples[axis];
    image.spacing[axis] = spacing[axis];
    image.origin[axis] = origin[axis] + (extent[2 * axis] - (field.cell_data || twice ? 0.0 : 0.5)) * spacing[axis];
  }
  index_t const count = cell_count(path, image.cells);
  require_size(path, image.cells, options.cells);

  Hdf5Handle const set(
      H5Dopen2(root, ((field.cell_data ? "CellData/" : "PointData/") + field.name).c_str(), H5P_DEFAULT), H5Dclose,
      failure);
  Hdf5Handle const value_type(H5Dget_type(set), H5Tclose, failure);
  H5T_class_t const kind = H5Tget_class(value_type);
  if (kind != H5T_INTEGER && kind != H5T_FLOAT) readable.fail("field '" + field.name + "' holds no numbers");
  image.is_uint8 = kind == H5T_INTEGER && H5Tget_size(value_type) == 1 && H5Tget_sign(value_type) == H5T_SGN_NONE;
  std::vector<hsize_t> const dims = dimensions(set, failure);
  std::size_t const lead = dims.size() == 4 ? 1 : 0;
  std::vector<hsize_t> start(dims.size(), 0), run(dims.size(), 1);
  bool fits = dims.size() == 3 || dims.size() == 4;
  for (std::size_t axis = 0; fits && axis < 3; ++axis) {
    fits = dims[lead + 2 - axis] == static_cast<hsize_t>(samples[axis]);
    run[lead + 2 - axis] = static_cast<hsize_t>(image.cells[axis]);
  }
  if (lead == 1 && fits) fits = dims[0] >= 1;
  if (!fits) {
    std::string text;
    for (hsize_t n : dims) text += (text.empty() ? "" : " x ") + std::to_string(n);
    readable.fail("field '" + field.name + "' has the dimensions " + text + ", which its WholeExtent of " +
                  size_text({samples[2], samples[1], samples[0]}) + " values contradicts");
  }
  if (lead == 1) start[0] = dims[0] - 1;  // the last step
  Hdf5Handle const space(H5Dget_space(set), H5Sclose, failure);
  Hdf5Handle const memory(H5Screate_simple(static_cast<int>(run.size()), run.data(), nullptr), H5Sclose, failure);
  image.values.resize(static_cast<std::size_t>(count));
  if (H5Sselect_hyperslab(space, H5S_SELECT_SET, start.data(), nullptr, run.data(), nullptr) < 0 ||
      H5Dread(set, H5T_NATIVE_FLOAT, memory, space, H5P_DEFAULT, image.values.data()) < 0) {
    readable.fail("field '" + field.name + "' cannot be read (damaged, or compressed by a filter that HDF5 lacks)");
  }
  return image;
}

}  // namespace

VoxelImage read_vtkhdf_image(std::string const& path, VoxelImageOptions const& options) {
  QuietHdf5 const quiet;
  try {
    return read(path, options, "cannot read '" + path + "': its HDF5 structure is damaged");
  } catch (InputError const&) {
    throw;
  } catch (Error const& error) {
    throw InputError(error.what());  // a failed handle: here the input is wrong
  }
}

#else

VoxelImage read_vtkhdf_image(std::string const& path, VoxelImageOptions const&) {
  throw InputError("cannot read '" + path + "': this build has no HDF5; use .vti or .npy, or rebuild with HDF5");
}

#endif

}  // namespace brickwork::detail
