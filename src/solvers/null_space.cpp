// SPDX-License-Identifier: BSD-3-Clause
#include "brickwork/solvers/null_space.hpp"

#include <Eigen/Dense>

#include "brickwork/core/check.hpp"
#include "brickwork/core/for_each.hpp"
#include "brickwork/core/instantiate.hpp"
#include "brickwork/solvers/detail/cg_kernels.hpp"

namespace brickwork {

namespace {

detail::RigidModes rigid_modes(BoxGrid const& grid, Kokkos::Array<double, 54> const& values, int count) {
  detail::RigidModes modes{};
  modes.values = values;
  modes.count = count;
  for (int axis = 0; axis < 3; ++axis) {
    modes.spacing[axis] = grid.spacing()[axis];
    modes.origin[axis] = grid.origin()[axis];
  }
  modes.mx = grid.nodes()[0];
  modes.my = grid.nodes()[1];
  return modes;
}

}  // namespace

template <class ExecutionSpace>
NullSpace<ExecutionSpace>::NullSpace(ExecutionSpace const& space, BoxGrid const& grid, Communicator const& communicator)
    : grid_(grid),
      communicator_(communicator),
      sums_(allocate<Kokkos::View<double*, memory_space>>(space, "brickwork::NullSpace::sums", 6)),
      workspace_(space) {}

template <class ExecutionSpace>
void NullSpace<ExecutionSpace>::set(std::vector<RigidMotion> const& modes) {
  BRICKWORK_REQUIRE(modes.size() <= 6, "NullSpace::set: ", modes.size(), " modes; a body has 6");
  int const count = static_cast<int>(modes.size());
  count_ = count;
  translations_ = count == 3;
  for (auto const& mode : modes) translations_ = translations_ && mode.rotation == Vec3{};
  if (count == 0) return;
  // Coefficients about one centre, then orthonormal as nodal vectors by the Gram matrix over all nodes, which needs
  // only the moments of the node coordinates: it is summed axis by axis.
  Index3 const m = grid_.nodes();
  Vec3 center{}, moment{};
  double nodes = 1;
  for (int axis = 0; axis < 3; ++axis) {
    double const n = static_cast<double>(m[axis]);
    double const h = grid_.spacing()[axis];
    center[axis] = grid_.origin()[axis] + 0.5 * h * (n - 1);
    moment[axis] = h * h * (n * n - 1) / 12;  // mean of (x - center)^2
    nodes *= n;
  }
  Eigen::MatrixXd coefficients(6, count);
  for (int c = 0; c < count; ++c) {
    RigidMotion const& mode = modes[static_cast<std::size_t>(c)];
    Eigen::Vector3d const rotation(mode.rotation[0], mode.rotation[1], mode.rotation[2]);
    Eigen::Vector3d const shift(center[0] - mode.center[0], center[1] - mode.center[1], center[2] - mode.center[2]);
    Eigen::Vector3d const translation =
        Eigen::Vector3d(mode.translation[0], mode.translation[1], mode.translation[2]) + rotation.cross(shift);
    coefficients.col(c) << translation, rotation;
  }
  // About the centre translations and rotations are orthogonal: the Gram matrix of the six elementary motions is
  // diagonal.
  Eigen::VectorXd weight(6);
  weight << nodes, nodes, nodes, nodes * (moment[1] + moment[2]), nodes * (moment[0] + moment[2]),
      nodes * (moment[0] + moment[1]);
  Eigen::MatrixXd const gram = coefficients.transpose() * weight.asDiagonal() * coefficients;
  Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> const eigen(gram);
  BRICKWORK_REQUIRE(eigen.eigenvalues()(0) > 1e-12 * eigen.eigenvalues()(count - 1),
                    "NullSpace::set: the modes are linearly dependent");
  coefficients = coefficients * eigen.eigenvectors() * eigen.eigenvalues().cwiseSqrt().cwiseInverse().asDiagonal();
  for (int c = 0; c < count; ++c) {
    for (int d = 0; d < 6; ++d) values_[9 * c + d] = coefficients(d, c);
    for (int d = 0; d < 3; ++d) values_[9 * c + 6 + d] = center[d];
  }
}

template <class ExecutionSpace>
template <class Scalar>
void NullSpace<ExecutionSpace>::remove(ExecutionSpace const& space, NodalVector<Scalar, memory_space> const& v) const {
  if (count_ == 0) return;
  index_t const nodes = grid_.node_count();
  auto const stride = static_cast<index_t>(v.stride(1));
  if (translations_) {
    sum_each<3>("brickwork::NullSpace::remove::means", space, nodes, detail::TranslationSums<Scalar>{v.data(), stride},
                workspace_, StoreSums<3>{sums_.data()});
    communicator_.sum(space, sums_);
    for_each("brickwork::NullSpace::remove::translations", space, nodes,
             detail::TranslationRemove<Scalar>{v.data(), stride, sums_.data(), 1 / static_cast<double>(nodes)});
    return;
  }
  auto const modes = rigid_modes(grid_, values_, count_);
  auto const sums = detail::sums_at<ExecutionSpace>(sums_, 0, count_);
  Kokkos::parallel_reduce("brickwork::NullSpace::remove::sums", range(space, nodes),
                          detail::ModeSums<Scalar>{static_cast<unsigned>(count_), modes, v.data(), stride}, sums);
  communicator_.sum(space, sums);
  Kokkos::parallel_for("brickwork::NullSpace::remove", range(space, nodes),
                       detail::ModeRemove<Scalar>{modes, v.data(), stride, sums_.data()});
}

#define BRICKWORK_INSTANTIATE(SPACE)                                                                          \
  template class NullSpace<SPACE>;                                                                            \
  template void NullSpace<SPACE>::remove<float>(SPACE const&, NodalVector<float, memory_space> const&) const; \
  template void NullSpace<SPACE>::remove<double>(SPACE const&, NodalVector<double, memory_space> const&) const;
BRICKWORK_FOR_EACH_EXECUTION_SPACE(BRICKWORK_INSTANTIATE)
#undef BRICKWORK_INSTANTIATE

}  // namespace brickwork
