// SPDX-License-Identifier: BSD-3-Clause
#include "brickwork/mesh/rigid_motion.hpp"

#include <Eigen/Dense>
#include <cmath>
#include <sstream>

namespace brickwork {

namespace {

Eigen::Vector3d to_eigen(Vec3 const& v) { return {v[0], v[1], v[2]}; }

std::string direction_name(Eigen::Vector3d v) {
  v.normalize();
  for (int axis = 0; axis < 3; ++axis) {
    if (std::abs(v[axis]) > 1 - 1e-9) return std::string(1, "xyz"[axis]);
  }
  std::ostringstream stream;
  stream.precision(4);
  stream << "(" << v[0] << ", " << v[1] << ", " << v[2] << ")";
  return stream.str();
}

// Reduced row echelon form with partial pivoting; rows below the rank stay zero.
void reduce(Eigen::MatrixXd& rows) {
  Eigen::Index pivot_row = 0;
  for (Eigen::Index column = 0; column < rows.cols() && pivot_row < rows.rows(); ++column) {
    Eigen::Index largest = pivot_row;
    for (Eigen::Index r = pivot_row; r < rows.rows(); ++r) {
      if (std::abs(rows(r, column)) > std::abs(rows(largest, column))) largest = r;
    }
    if (std::abs(rows(largest, column)) < 1e-7) continue;
    rows.row(pivot_row).swap(rows.row(largest));
    rows.row(pivot_row) /= rows(pivot_row, column);
    for (Eigen::Index r = 0; r < rows.rows(); ++r) {
      if (r != pivot_row) rows.row(r) -= rows(r, column) * rows.row(pivot_row);
    }
    ++pivot_row;
  }
  rows = (rows.array().abs() < 1e-9).select(0.0, rows);
}

}  // namespace

Vec3 displacement(RigidMotion const& motion, Vec3 const& x) {
  Vec3 y{}, u{};
  for (int axis = 0; axis < 3; ++axis) y[axis] = x[axis] - motion.center[axis];
  for (int d = 0; d < 3; ++d) {
    int const a = (d + 1) % 3, b = (d + 2) % 3;
    u[d] = motion.translation[d] + motion.rotation[a] * y[b] - motion.rotation[b] * y[a];
  }
  return u;
}

std::string describe(RigidMotion const& motion) {
  Eigen::Vector3d const t = to_eigen(motion.translation);
  Eigen::Vector3d const w = to_eigen(motion.rotation);
  if (w.norm() == 0) return "translation along " + direction_name(t);
  // The axis is where the motion is along the axis itself.
  Eigen::Vector3d point = to_eigen(motion.center) + w.cross(t) / w.squaredNorm();
  point = (point.array().abs() < 1e-9 * to_eigen(motion.center).norm()).select(0.0, point);
  double const pitch = t.dot(w) / w.norm();
  std::ostringstream stream;
  stream.precision(4);
  stream << (std::abs(pitch) > 1e-9 * (t.norm() + 1e-300) && t.norm() > 0 && std::abs(pitch) > 1e-9 ? "screw"
                                                                                                    : "rotation")
         << " about the line along " << direction_name(w) << " through (" << point[0] << ", " << point[1] << ", "
         << point[2] << ")";
  return stream.str();
}

std::vector<RigidMotion> free_rigid_motions(BoxGrid const& grid,
                                            std::vector<std::pair<index_t, std::uint8_t>> const& constraints) {
  Vec3 center{};
  double size = 0;
  for (int axis = 0; axis < 3; ++axis) {
    center[axis] = grid.origin()[axis] + 0.5 * grid.lengths()[axis];
    size = std::max(size, grid.lengths()[axis]);
  }
  // Gram matrix of the constrained components of the six motions (rotation x, y, z, translation x, y, z), in units of
  // the box.
  Eigen::Matrix<double, 6, 6> gram = Eigen::Matrix<double, 6, 6>::Zero();
  for (auto const& [node, bits] : constraints) {
    Vec3 y = grid.node_position(node);
    for (int axis = 0; axis < 3; ++axis) y[axis] = (y[axis] - center[axis]) / size;
    for (int d = 0; d < 3; ++d) {
      if (!((bits >> d) & 1)) continue;
      int const a = (d + 1) % 3, b = (d + 2) % 3;
      Eigen::Matrix<double, 6, 1> row = Eigen::Matrix<double, 6, 1>::Zero();
      row(a) = y[b];
      row(b) = -y[a];
      row(3 + d) = 1;
      gram += row * row.transpose();
    }
  }
  Eigen::SelfAdjointEigenSolver<Eigen::Matrix<double, 6, 6>> const eigen(gram);
  double const threshold = 1e-12 * std::max(1.0, eigen.eigenvalues()(5));
  int free = 0;
  while (free < 6 && eigen.eigenvalues()(free) <= threshold) ++free;
  Eigen::MatrixXd rows = eigen.eigenvectors().leftCols(free).transpose();
  reduce(rows);
  std::vector<RigidMotion> motions;
  for (Eigen::Index r = rows.rows() - 1; r >= 0; --r) {  // translations first
    RigidMotion motion;
    motion.center = center;
    for (int d = 0; d < 3; ++d) {
      motion.rotation[d] = rows(r, d) / size;
      motion.translation[d] = rows(r, 3 + d);
    }
    motions.push_back(motion);
  }
  return motions;
}

}  // namespace brickwork
