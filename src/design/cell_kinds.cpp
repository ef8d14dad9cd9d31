// SPDX-License-Identifier: BSD-3-Clause
#include "brickwork/design/cell_kinds.hpp"

#include "brickwork/core/check.hpp"

namespace brickwork {

namespace {

// The kinds' names stand in the order of their enumeration.
template <class Kind>
Kind from_names(char const* what, std::vector<std::string> const& names, std::string const& name) {
  std::string known;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (names[i] == name) return static_cast<Kind>(i);
    known += (i == 0 ? "" : ", ") + names[i];
  }
  throw InputError(detail::concatenate("unknown ", what, " '", name, "'; known are ", known));
}

}  // namespace

std::vector<std::string> cell_symmetry_names() { return {"none", "reflect3", "rotate3", "reflect6"}; }

std::string to_string(CellSymmetry symmetry) { return cell_symmetry_names()[static_cast<std::size_t>(symmetry)]; }

CellSymmetry cell_symmetry_from_string(std::string const& name) {
  return from_names<CellSymmetry>("symmetry", cell_symmetry_names(), name);
}

std::vector<std::string> start_density_names() {
  return {"randc", "random", "gyroid", "schwarz_p", "diamond", "iwp", "uniform"};
}

std::string to_string(StartDensity kind) { return start_density_names()[static_cast<std::size_t>(kind)]; }

StartDensity start_density_from_string(std::string const& name) {
  return from_names<StartDensity>("start", start_density_names(), name);
}

}  // namespace brickwork
