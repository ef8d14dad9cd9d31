// SPDX-License-Identifier: BSD-3-Clause
#include "brickwork/solvers/smoother.hpp"

#include <utility>

#include "brickwork/core/check.hpp"

namespace brickwork {

namespace {

std::pair<Smoother, char const*> const names[] = {{Smoother::chebyshev, "chebyshev"},
                                                  {Smoother::block_jacobi, "block_jacobi"},
                                                  {Smoother::gauss_seidel, "gauss_seidel"},
                                                  {Smoother::bf16, "bf16"}};

}  // namespace

std::vector<Smoother> smoothers() {
  std::vector<Smoother> all;
  for (auto const& entry : names) all.push_back(entry.first);
  return all;
}

std::string to_string(Smoother smoother) {
  for (auto const& [known, name] : names) {
    if (known == smoother) return name;
  }
  return "unknown";
}

Smoother smoother_from_string(std::string const& name) {
  std::string list;
  for (auto const& [smoother, known] : names) {
    if (name == known) return smoother;
    list += (list.empty() ? "" : ", ") + std::string(known);
  }
  throw InputError("smoother '" + name + "' is unknown; known are " + list);
}

}  // namespace brickwork
