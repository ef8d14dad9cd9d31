// SPDX-License-Identifier: BSD-3-Clause
#include "brickwork/mesh/regions.hpp"

#include "brickwork/core/check.hpp"

namespace brickwork {

namespace {

char axis_name(int axis) { return axis >= 0 && axis < 3 ? static_cast<char>('x' + axis) : '?'; }

std::string triple(Vec3 const& v) { return detail::concatenate("(", v[0], ", ", v[1], ", ", v[2], ")"); }

struct Describe {
  std::string operator()(BoxRegion const& r) const { return "box from " + triple(r.lower) + " to " + triple(r.upper); }
  std::string operator()(SphereRegion const& r) const {
    return detail::concatenate("sphere of radius ", r.radius, " about ", triple(r.center));
  }
  std::string operator()(CylinderRegion const& r) const {
    return detail::concatenate("cylinder of radius ", r.radius, " about ", triple(r.center), " along ",
                               axis_name(r.axis), " from ", r.lower, " to ", r.upper);
  }
  std::string operator()(PlaneRegion const& r) const {
    return detail::concatenate("plane ", axis_name(r.axis), " = ", r.position);
  }
  std::string operator()(PointRegion const& r) const { return "point " + triple(r.position); }
};

}  // namespace

std::string describe(Region const& region) { return std::visit(Describe{}, region); }

}  // namespace brickwork
