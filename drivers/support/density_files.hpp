// SPDX-License-Identifier: BSD-3-Clause
// The reported density's way into files: slab by slab, never a whole copy on the host.
#pragma once

#include <optional>

#include "brickwork/io/image_data.hpp"
#include "brickwork/io/run_directory.hpp"
#include "brickwork/io/run_settings.hpp"

namespace brickwork::driver {

/// density.vtkhdf.series and density.vti, as OutputSettings asks. `density` is a callable that gives the ImageField; it
/// is called where something is written.
class DensityFiles {
 public:
  DensityFiles(OutputSettings const& output, RunDirectory const& directory, ImageGeometry const& geometry)
      : output_(output), directory_(directory), geometry_(geometry) {
    if (output.vtkhdf && vtkhdf_available()) series_.emplace(directory.path(), "density", geometry, output.deflate);
  }

  template <class Density>
  void frame(int step, Density const& density) {
    if (series_ && step > last_) series_->append(step, std::vector<ImageField>{density()});
    last_ = step;
  }
  template <class Density>
  void last(Density const& density) {
    if (output_.vti) write_vti(directory_.file("density.vti"), geometry_, std::vector<ImageField>{density()});
  }
  int last_step() const { return last_; }
  ImageGeometry const& geometry() const { return geometry_; }

 private:
  OutputSettings output_;
  RunDirectory const& directory_;
  ImageGeometry geometry_;
  std::optional<VtkHdfSeries> series_;
  int last_ = -1;
};

}  // namespace brickwork::driver
