// SPDX-License-Identifier: BSD-3-Clause
// What reading and writing HDF5 share. Private to src/io; included only where BRICKWORK_HAS_HDF5().
#pragma once

#include <hdf5.h>

#include <string>
#include <utility>

#include "brickwork/core/check.hpp"

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

/// The attribute of a VTKHDF image that tells how many cells its samples stand for: an axis of one cell has two.
inline constexpr char const* vtkhdf_cells_attribute = "BrickworkCells";

}  // namespace brickwork::detail
