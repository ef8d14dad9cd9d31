// SPDX-License-Identifier: BSD-3-Clause
#include "brickwork/fem/hex8_stiffness.hpp"

#include <cmath>

#include "brickwork/core/check.hpp"

namespace brickwork {

namespace {

double sign(int s, int n) {
  int const bits = s & n;
  return ((bits ^ (bits >> 1) ^ (bits >> 2)) & 1) ? -1.0 : 1.0;
}

// Largest entry outside the blocks relative to the largest entry; fills the blocks.
double transform(Hex8Matrix const& k, ParityBlocks& blocks) {
  auto const entry = [&](int s, int a, int t, int b) {
    double sum = 0;
    for (int n = 0; n < 8; ++n)
      for (int m = 0; m < 8; ++m) sum += sign(s, n) * sign(t, m) * k[3 * n + a][3 * m + b];
    return sum / 64;
  };
  double outside = 0;
  double largest = 0;
  blocks = {};
  for (int a = 0; a < 3; ++a) {
    for (int b = 0; b < 3; ++b) {
      for (int s = 0; s < 8; ++s) {
        for (int t = 0; t < 8; ++t) {
          double const value = entry(s, a, t, b);
          int const block = s ^ (1 << a);
          if (block == (t ^ (1 << b)) && parity_coupled(block, a, b)) {
            blocks[block][a][b] = value;
            largest = std::max(largest, std::abs(value));
          } else {
            outside = std::max(outside, std::abs(value));
          }
        }
      }
    }
  }
  for (auto& block : blocks) {
    for (int a = 0; a < 3; ++a) {
      for (int b = 0; b < a; ++b) block[a][b] = block[b][a] = 0.5 * (block[a][b] + block[b][a]);
    }
  }
  return largest > 0 ? outside / largest : 1.0;
}

constexpr double structure_tolerance = 1e-11;

}  // namespace

Hex8Matrix hex8_stiffness(ElasticityMatrix const& c, Vec3 const& spacing) {
  for (int axis = 0; axis < 3; ++axis) {
    BRICKWORK_REQUIRE(std::isfinite(spacing[axis]) && spacing[axis] > 0, "hex8_stiffness: cell side ", spacing[axis],
                      " along ", "xyz"[axis], "; it must be positive");
  }
  Hex8Matrix k{};
  double const gauss[2] = {0.5 - 0.5 / std::sqrt(3.0), 0.5 + 0.5 / std::sqrt(3.0)};
  double const weight = spacing[0] * spacing[1] * spacing[2] / 8;
  for (int q = 0; q < 8; ++q) {
    double const x[3] = {gauss[q & 1], gauss[(q >> 1) & 1], gauss[q >> 2]};
    double b[6][24] = {};
    for (int n = 0; n < 8; ++n) {
      double shape[3], slope[3], gradient[3];
      for (int axis = 0; axis < 3; ++axis) {
        bool const upper = (n >> axis) & 1;
        shape[axis] = upper ? x[axis] : 1 - x[axis];
        slope[axis] = (upper ? 1 : -1) / spacing[axis];
      }
      for (int axis = 0; axis < 3; ++axis) {
        gradient[axis] = slope[axis] * shape[(axis + 1) % 3] * shape[(axis + 2) % 3];
        b[axis][3 * n + axis] = gradient[axis];
      }
      for (int axis = 0; axis < 3; ++axis) {  // shear about `axis`: yz, xz, xy
        int const i = (axis + 1) % 3;
        int const j = (axis + 2) % 3;
        b[3 + axis][3 * n + i] = gradient[j];
        b[3 + axis][3 * n + j] = gradient[i];
      }
    }
    double cb[6][24] = {};
    for (int i = 0; i < 6; ++i)
      for (int j = 0; j < 6; ++j)
        for (int col = 0; col < 24; ++col) cb[i][col] += c[i][j] * b[j][col];
    for (int row = 0; row < 24; ++row)
      for (int i = 0; i < 6; ++i)
        for (int col = 0; col < 24; ++col) k[row][col] += weight * b[i][row] * cb[i][col];
  }
  return k;
}

ParityBlocks parity_blocks(Hex8Matrix const& stiffness) {
  ParityBlocks blocks{};
  double const outside = transform(stiffness, blocks);
  BRICKWORK_REQUIRE(outside < structure_tolerance, "parity form: entries outside the even-odd blocks reach ", outside,
                    " of the largest; it needs a box-shaped cell and a material aligned with the axes");
  return blocks;
}

bool has_parity_form(Hex8Matrix const& stiffness) {
  ParityBlocks blocks{};
  return transform(stiffness, blocks) < structure_tolerance;
}

}  // namespace brickwork
