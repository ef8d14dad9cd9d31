// SPDX-License-Identifier: BSD-3-Clause
// Kernels over the fields of a homogenization: energies of pairs of strains per cell, and the storage of the fields.
//
// A cell's total displacement under strain s, chi^s - u^s, is taken in the even-odd basis (fem/hex8_stiffness.hpp): the
// transform of chi is a table of 24 numbers, that of u is formed from differences relative to the cell's first corner.
// Everything is FP64. Per cell and pair of fields: both fields are read once from memory (neighbours share them in the
// cache), about 400 operations.
#pragma once

#include <cstdint>

#include "brickwork/core/fields.hpp"
#include "brickwork/design/homogenize_problem.hpp"
#include "brickwork/fem/unit_strain.hpp"
#include "brickwork/mesh/box_grid.hpp"
#include "brickwork/operators/detail/elasticity_parity_portable.hpp"

namespace brickwork::detail {

/// A stored nodal vector, component d of node i at [i + d stride].
struct StoredField {
  void const* data;
  index_t stride;
  FieldStorage storage;  // not automatic
  double scale;          // of int16

  KOKKOS_FORCEINLINE_FUNCTION double operator()(index_t i) const {
    if (storage == FieldStorage::fp64) return static_cast<double const*>(data)[i];
    if (storage == FieldStorage::fp32) return static_cast<double>(static_cast<float const*>(data)[i]);
    return scale * static_cast<double>(static_cast<std::int16_t const*>(data)[i]);
  }
};

/// The total displacement of one strain, per cell. With `turns` the field is that of another strain, turned by so many
/// steps x -> y -> z -> x: u(p) = R u'(R^-1 p).
struct StrainField {
  StoredField u;
  int turns;
  double chi[8][3];  // transform of the strain's displacement

  void set_strain(Vec3 const& spacing, Vector6 const& strain) {
    auto const corners = strain_displacements(strain, spacing);
    for (int s = 0; s < 8; ++s)
      for (std::size_t d = 0; d < 3; ++d) {
        chi[s][d] = 0;
        for (int n = 0; n < 8; ++n) {
          int const bits = s & n, odd = (bits ^ (bits >> 1) ^ (bits >> 2)) & 1;
          chi[s][d] += (odd ? -1 : 1) * corners[static_cast<std::size_t>(n)][d];
        }
      }
  }

  /// \param at   the cell
  /// \param n    cells (and nodes) per axis; all axes wrap
  KOKKOS_FORCEINLINE_FUNCTION void modes(index_t const (&at)[3], index_t const (&n)[3], double (&mode)[8][3]) const {
    index_t node[8];
    for (int c = 0; c < 8; ++c) {
      index_t p[3];
      for (int axis = 0; axis < 3; ++axis) {
        p[axis] = at[axis] + ((c >> axis) & 1);
        if (p[axis] == n[axis]) p[axis] = 0;
      }
      // R^-1 (x, y, z) = (y, z, x)
      if (turns == 0) {
        node[c] = p[0] + n[0] * (p[1] + n[1] * p[2]);
      } else if (turns == 1) {
        node[c] = p[1] + n[0] * (p[2] + n[1] * p[0]);
      } else {
        node[c] = p[2] + n[0] * (p[0] + n[1] * p[1]);
      }
    }
    for (int d = 0; d < 3; ++d) {
      int source = d - turns;
      if (source < 0) source += 3;
      index_t const component = source * u.stride;
      double value[8];
      double const first = u(node[0] + component);
      value[0] = 0;
      for (int c = 1; c < 8; ++c) value[c] = u(node[c] + component) - first;
      for (int bit = 1; bit < 8; bit *= 2)
        for (int c = 0; c < 8; ++c) {
          if (c & bit) continue;
          double const low = value[c], high = value[c | bit];
          value[c] = low + high;
          value[c | bit] = low - high;
        }
      for (int s = 0; s < 8; ++s) mode[s][d] = chi[s][d] - value[s];
    }
  }
};

/// What kernels over pairs of fields read.
struct StrainFields {
  index_t n[3];
  double parity[8][3][3];
  StrainField field[6];

  KOKKOS_FORCEINLINE_FUNCTION void position(index_t cell, index_t (&at)[3]) const {
    at[0] = cell % n[0];
    index_t const rest = cell / n[0];
    at[1] = rest % n[1];
    at[2] = rest / n[1];
  }
  KOKKOS_FORCEINLINE_FUNCTION static double dot(double const (&a)[8][3], double const (&b)[8][3]) {
    double sum = 0;
    for (int s = 0; s < 8; ++s)
      for (int d = 0; d < 3; ++d) sum += a[s][d] * b[s][d];
    return sum;
  }
};

/// Cells of one element matrix: nothing is added to E_e K0 d.
struct OneStiffness {
  KOKKOS_FORCEINLINE_FUNCTION void add(index_t, double const (&)[8][3], double (&)[8][3]) const {}
};
/// Adds E1_e K1 d.
struct SecondStiffness {
  float const* moduli;
  double parity[8][3][3];
  KOKKOS_FORCEINLINE_FUNCTION void add(index_t cell, double const (&mode)[8][3], double (&image)[8][3]) const {
    double added[8][3];
    for (int s = 0; s < 8; ++s)
      for (int d = 0; d < 3; ++d) added[s][d] = mode[s][d];
    parity_product(parity, static_cast<double>(moduli[cell]), added);
    for (int s = 0; s < 8; ++s)
      for (int d = 0; d < 3; ++d) image[s][d] += added[s][d];
  }
};

/// sums[i] = sum over cells of d_(list[i]) . K_e d_t, with d = chi - u and K_e = E_e K0 and what `second` adds; t may
/// be the first of the list only.
template <class Second>
struct PairEnergies {
  StrainFields fields;
  float const* moduli;
  int t, count;
  int list[6];
  Second second;

  KOKKOS_FUNCTION void operator()(index_t cell, double* sums) const {
    index_t at[3];
    fields.position(cell, at);
    double image[8][3], mode[8][3];
    fields.field[t].modes(at, fields.n, image);
    for (int s = 0; s < 8; ++s)
      for (int d = 0; d < 3; ++d) mode[s][d] = image[s][d];
    parity_product(fields.parity, static_cast<double>(moduli[cell]), image);
    second.add(cell, mode, image);
    for (int i = 0; i < count; ++i) {
      if (i > 0 || list[i] != t) fields.field[list[i]].modes(at, fields.n, mode);
      sums[i] += StrainFields::dot(mode, image);
    }
  }
};

/// out_e = (or +=) d_t . K0 sum over s of weight_s d_s.
template <class Real>
struct PairSensitivity {
  StrainFields fields;
  int t;
  double weight[6];  // 0: that field is not read
  bool add;
  Real* out;

  KOKKOS_FUNCTION void operator()(index_t cell) const {
    index_t at[3];
    fields.position(cell, at);
    double image[8][3], mode[8][3], sum[8][3] = {};
    fields.field[t].modes(at, fields.n, image);
    for (int i = 0; i < 6; ++i) {
      if (weight[i] == 0) continue;
      if (i == t) {
        for (int s = 0; s < 8; ++s)
          for (int d = 0; d < 3; ++d) sum[s][d] += weight[i] * image[s][d];
        continue;
      }
      fields.field[i].modes(at, fields.n, mode);
      for (int s = 0; s < 8; ++s)
        for (int d = 0; d < 3; ++d) sum[s][d] += weight[i] * mode[s][d];
    }
    parity_product(fields.parity, 1.0, image);
    double const value = StrainFields::dot(sum, image);
    out[cell] = static_cast<Real>((add ? static_cast<double>(out[cell]) : 0.0) + value);
  }
};

/// Copies between FP64 and a stored format; index: node + component * nodes (vectors are contiguous).
struct LoadField {
  StoredField from;
  double* to;
  KOKKOS_FUNCTION void operator()(index_t i) const { to[i] = from(i); }
};
template <class To>
struct StoreField {
  double const* from;
  To* to;
  double factor;
  KOKKOS_FUNCTION void operator()(index_t i) const {
    double const value = factor * from[i];
    if constexpr (sizeof(To) == 2) {
      to[i] = static_cast<To>(value < 0 ? value - 0.5 : value + 0.5);
    } else {
      to[i] = static_cast<To>(value);
    }
  }
};
struct LargestComponent {
  double const* v;
  KOKKOS_FUNCTION void operator()(index_t i, double& largest) const { largest = math::max(largest, math::abs(v[i])); }
};

}  // namespace brickwork::detail
