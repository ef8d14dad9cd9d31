// SPDX-License-Identifier: BSD-3-Clause
#include "brickwork/design/strain_plan.hpp"

#include "brickwork/fem/unit_strain.hpp"

namespace brickwork {

StrainPlan strain_plan(TensorEntries const& entries, Vector6 const& direction, bool cubic) {
  StrainPlan plan;
  plan.cubic = cubic;
  if (direction != Vector6{}) {
    plan.single = true;
    plan.strains = {direction};
    return plan;
  }
  std::array<bool, 6> needed{};
  for (std::size_t i = 0; i < 6; ++i)
    for (std::size_t j = 0; j < 6; ++j)
      if (entries[i][j]) needed[i] = needed[j] = true;
  if (!cubic) {
    for (std::size_t s = 0; s < 6; ++s) {
      if (!needed[s]) continue;
      plan.unit[s] = {static_cast<int>(plan.strains.size()), 0};
      plan.strains.push_back(unit_strain(s));
    }
    return plan;
  }
  // xx -> yy -> zz and yz -> zx -> xy
  for (std::size_t first : {std::size_t(0), std::size_t(3)}) {
    if (!needed[first] && !needed[first + 1] && !needed[first + 2]) continue;
    int const solve = static_cast<int>(plan.strains.size());
    for (int turns = 0; turns < 3; ++turns) plan.unit[first + static_cast<std::size_t>(turns)] = {solve, turns};
    plan.strains.push_back(unit_strain(first));
  }
  return plan;
}

StrainPlan full_strain_plan(bool cubic) {
  TensorEntries all;
  for (auto& row : all) row.fill(true);
  return strain_plan(all, {}, cubic);
}

}  // namespace brickwork
