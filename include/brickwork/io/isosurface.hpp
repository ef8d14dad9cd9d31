// SPDX-License-Identifier: BSD-3-Clause
// The surface of a periodic cell field at a level, as an STL. Free of Kokkos.
//
// The field is taken as piecewise linear on Kuhn's subdivision (six tetrahedra a cube, the same in every cube) of the
// grid of cell centres, to which the planes of the box's faces are added: a value there is the mean of the cells on
// both sides of the face, one of which is the neighbour across the period. The surface is the boundary of the set where
// that function is above the level, within the box. So it is closed by construction, flat on the faces of the box
// (the caps), and its vertices on opposite faces match bit for bit; without caps it is the part inside the box, whose
// copies join into one periodic surface.
//
// A vertex stays 1/512 of its edge away from the edge's ends, so that no triangle collapses where a value is the level
// itself; where rounding to FP32 makes two vertices of a triangle one all the same (beyond some 3000 cells along an
// axis, or far from the coordinates' origin), the triangle is left out, which closes up its two sides.
//
// Source: B. A. Payne, A. W. Toga, Surface mapping brain function on 3D models, IEEE Comput. Graph. Appl. 10 (1990),
// for marching tetrahedra; H. W. Kuhn, Some combinatorial lemmas in topology, IBM J. Res. Dev. 4 (1960), for the
// subdivision.
#pragma once

#include <string>

#include "brickwork/core/types.hpp"
#include "brickwork/io/image_data.hpp"

namespace brickwork {

struct IsosurfaceOptions {
  double level = 0.5;     ///< solid is where the field is above this, in the field's own values (127.5 for uint8)
  Index3 tiles{1, 1, 1};  ///< copies of the cell along each axis, in one surface without walls between them
  bool caps = true;       ///< close the surface where the solid meets the faces of the box; false: open and periodic
  index_t most_triangles = 4294967295;  ///< an error beyond; an STL holds no more than 2^32 - 1
};

/// Writes the surface as a binary STL, triangles counter-clockwise as seen from the void, lengths as in `geometry`.
///
/// Memory: two planes of the tiled field. The field's source is asked for whole z-planes (in runs of at most
/// slab_bytes), each once per tile along z, in ascending order but for the last plane, which comes first too.
/// The file appears whole or not at all. A field without a surface gives a file without triangles.
/// \return number of triangles
/// \throws InputError as write_vti; for tiles out of [1, 1000], a level that is not finite, a value that is not finite
/// (with its cell), more triangles than most_triangles
/// \throws Error where the file cannot be written
index_t write_stl(std::string const& path, ImageGeometry const& geometry, ImageField const& field,
                  IsosurfaceOptions const& options = {});

}  // namespace brickwork
