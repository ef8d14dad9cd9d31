// SPDX-License-Identifier: BSD-3-Clause
#include "brickwork/operators/hermite_evaluation.hpp"

#include <utility>

#include "brickwork/core/check.hpp"

namespace brickwork {

namespace {

std::pair<HermiteEvaluation, char const*> const names[] = {{HermiteEvaluation::automatic, "automatic"},
                                                           {HermiteEvaluation::assembled, "assembled"},
                                                           {HermiteEvaluation::dense, "dense"},
                                                           {HermiteEvaluation::even_odd_1, "even_odd_1"},
                                                           {HermiteEvaluation::even_odd_2, "even_odd_2"},
                                                           {HermiteEvaluation::even_odd_3, "even_odd_3"},
                                                           {HermiteEvaluation::fdm, "fdm"},
                                                           {HermiteEvaluation::tensor_core, "tensor_core"},
                                                           {HermiteEvaluation::tensor_core_2, "tensor_core_2"}};

int split_axes(unsigned axes) {
  int count = 0;
  for (; axes != 0; axes >>= 1) count += static_cast<int>(axes & 1);
  return count;
}

}  // namespace

std::string to_string(HermiteEvaluation evaluation) {
  for (auto const& [known, name] : names)
    if (known == evaluation) return name;
  return "unknown";
}

HermiteEvaluation hermite_evaluation_from_string(std::string const& name) {
  std::string list;
  for (auto const& [evaluation, known] : names) {
    if (name == known) return evaluation;
    list += (list.empty() ? "" : ", ") + std::string(known);
  }
  throw InputError("evaluation '" + name + "' is unknown; known are " + list);
}

std::vector<HermiteEvaluation> hermite_evaluations() {
  std::vector<HermiteEvaluation> evaluations;
  for (auto const& entry : names)
    if (entry.first != HermiteEvaluation::automatic) evaluations.push_back(entry.first);
  return evaluations;
}

HermiteEvaluation select_hermite_evaluation(HermiteEvaluation requested, int dim, bool tensor_cores) {
  switch (requested) {
    case HermiteEvaluation::automatic:
      if (tensor_cores) return HermiteEvaluation::tensor_core;
      return dim == 3 ? HermiteEvaluation::even_odd_3 : HermiteEvaluation::even_odd_2;
    case HermiteEvaluation::even_odd_3:
      BRICKWORK_REQUIRE(dim == 3, "evaluation even_odd_3 cannot run in ", dim,
                        " dimensions: it splits three axes; use even_odd_2");
      break;
    case HermiteEvaluation::tensor_core_2:
      BRICKWORK_REQUIRE(dim == 3, "evaluation tensor_core_2 cannot run in ", dim,
                        " dimensions: its sectors are those of three; use tensor_core");
      [[fallthrough]];
    case HermiteEvaluation::tensor_core:
      BRICKWORK_REQUIRE(tensor_cores, "evaluation ", to_string(requested),
                        " cannot run: it multiplies on FP64 tensor cores, which need the "
                        "execution space Cuda in a build for compute capability 8.0 or above; use even_odd_2");
      break;
    default:
      break;
  }
  return requested;
}

unsigned hermite_evaluation_axes(HermiteEvaluation evaluation, int dim) {
  switch (evaluation) {
    case HermiteEvaluation::even_odd_1:
      return 1;
    case HermiteEvaluation::even_odd_2:
    case HermiteEvaluation::tensor_core_2:
      return 3;
    case HermiteEvaluation::even_odd_3:
      return 7;
    case HermiteEvaluation::tensor_core:
      return dim == 3 ? 7 : 1;  // sectors of eight unknowns
    default:
      return 0;
  }
}

HermiteOperations hermite_operations(HermiteEvaluation evaluation, int dim) {
  double const unknowns = 1 << 2 * dim;
  HermiteOperations operations;
  operations.on_tensor_cores =
      evaluation == HermiteEvaluation::tensor_core || evaluation == HermiteEvaluation::tensor_core_2;
  if (evaluation == HermiteEvaluation::fdm) {
    // Per part and axis a contraction forward and one back, of 4 multiply-adds per unknown; and the diagonal.
    operations.products = 2 * (dim * 2 * 2 * 4 * unknowns + unknowns);
    return operations;
  }
  int const split = split_axes(hermite_evaluation_axes(evaluation, dim));
  operations.products = 2 * unknowns * unknowns / (1 << split);
  operations.butterflies = 2 * split * unknowns;
  return operations;
}

}  // namespace brickwork
