// SPDX-License-Identifier: BSD-3-Clause
// What reading and writing HDF5 share. Private to src/io; included only where BRICKWORK_HAS_HDF5().
#pragma once

#include <hdf5.h>

#include <filesystem>
#include <string>
#include <system_error>
#include <utility>

#include "brickwork/core/check.hpp"
#include "brickwork/io/atomic_file.hpp"

namespace brickwork::detail {

/// An HDF5 identifier that closes itself.
class Hdf5Handle {
 public:
  /// \throws Error with the message `failure` where `id` is none
  Hdf5Handle(hid_t id, herr_t (*closer)(hid_t), std::string const& failure) : id_(id), close_(closer) {
    if (id < 0) throw Error(failure);
  }
  ~Hdf5Handle() {
    if (id_ >= 0) close_(id_);
  }
  Hdf5Handle(Hdf5Handle const&) = delete;
  Hdf5Handle& operator=(Hdf5Handle const&) = delete;
  operator hid_t() const { return id_; }
  bool close() { return close_(std::exchange(id_, -1)) >= 0; }

 private:
  hid_t id_;
  herr_t (*close_)(hid_t);
};

/// HDF5 prints its error stack by default; we report one line instead. Restored, since the library belongs to the
/// caller too.
class QuietHdf5 {
 public:
  QuietHdf5() {
    H5Eget_auto2(H5E_DEFAULT, &function_, &data_);
    H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
  }
  ~QuietHdf5() { H5Eset_auto2(H5E_DEFAULT, function_, data_); }
  QuietHdf5(QuietHdf5 const&) = delete;
  QuietHdf5& operator=(QuietHdf5 const&) = delete;

 private:
  H5E_auto2_t function_ = nullptr;
  void* data_ = nullptr;
};

inline void require(bool good, std::string const& failure) {
  if (!good) throw Error(failure);
}

/// A one-dimensional attribute of `size` values.
inline void write_attribute(hid_t group, char const* name, hid_t file_type, hid_t memory_type, hsize_t size,
                            void const* values, std::string const& failure) {
  Hdf5Handle const space(H5Screate_simple(1, &size, nullptr), H5Sclose, failure);
  Hdf5Handle const attribute(H5Acreate2(group, name, file_type, space, H5P_DEFAULT, H5P_DEFAULT), H5Aclose, failure);
  require(H5Awrite(attribute, memory_type, values) >= 0, failure);
}

inline void write_string_attribute(hid_t group, char const* name, std::string const& text, std::string const& failure) {
  Hdf5Handle const type(H5Tcopy(H5T_C_S1), H5Tclose, failure);
  require(H5Tset_size(type, text.size()) >= 0 && H5Tset_strpad(type, H5T_STR_NULLPAD) >= 0, failure);
  Hdf5Handle const space(H5Screate(H5S_SCALAR), H5Sclose, failure);
  Hdf5Handle const attribute(H5Acreate2(group, name, type, space, H5P_DEFAULT, H5P_DEFAULT), H5Aclose, failure);
  require(H5Awrite(attribute, type, text.c_str()) >= 0, failure);
}

/// Writes a VTKHDF file, whole or not at all: under a temporary name that becomes `path` at the end.
/// \param write  write(root, failure) fills the group VTKHDF; `failure` is the message for whatever HDF5 refuses
/// \throws Error where HDF5 or the renaming fails; nothing is left behind then
template <class Write>
void write_vtkhdf_file(std::string const& path, Write const& write) {
  QuietHdf5 const quiet;
  std::string const temporary = path + ".part";
  std::string const failure = "cannot write '" + path + "': HDF5 failed (no space left, or no permission?)";
  try {
    Hdf5Handle file(H5Fcreate(temporary.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT), H5Fclose, failure);
    {
      Hdf5Handle const root(H5Gcreate2(file, "VTKHDF", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT), H5Gclose, failure);
      write(static_cast<hid_t>(root), failure);
    }
    require(file.close(), failure);
  } catch (...) {
    std::error_code ignored;
    std::filesystem::remove(temporary, ignored);
    throw;
  }
  rename_file(temporary, path);
}

/// The attribute of a VTKHDF image that tells how many cells its samples stand for: an axis of one cell has two.
inline constexpr char const* vtkhdf_cells_attribute = "BrickworkCells";

}  // namespace brickwork::detail
