// SPDX-License-Identifier: BSD-3-Clause
#include "brickwork/design/tensor_objective.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "brickwork/core/check.hpp"
#include "brickwork/design/detail/packed_tensor.hpp"

namespace brickwork {

namespace detail {

std::string packed_entry_name(int entry) {
  int i = 0;
  while (packed_entry(i, 5) < entry) ++i;
  return concatenate('C', i + 1, entry - packed_entry(i, i) + i + 1);
}

TensorObjective packed_objective(std::string const& name, TensorEntries const& entries, PackedFunction function) {
  TensorObjective objective;
  objective.name = name;
  for (int i = 0; i < 6; ++i)
    for (int j = i; j < 6; ++j) objective.entries[i][j] = entries[i][j] || entries[j][i];
  objective.evaluate = [name, read = objective.entries, function = std::move(function)](
                           Tensor6 const& tensor, int iteration, Tensor6* derivative) {
    BRICKWORK_REQUIRE(iteration >= 1, "objective ", name, ": iteration ", iteration, "; steps are counted from 1");
    PackedTensor c{}, slope{};
    for (int i = 0; i < 6; ++i)
      for (int j = i; j < 6; ++j) {
        if (!read[i][j]) continue;
        double const value = 0.5 * (tensor[i][j] + tensor[j][i]);
        BRICKWORK_REQUIRE(std::isfinite(value), "objective ", name, ": ", packed_entry_name(packed_entry(i, j)), " = ",
                          value, "; it must be finite");
        c[packed_entry(i, j)] = value;
      }
    double const value = function(c, iteration, derivative != nullptr ? &slope : nullptr);
    BRICKWORK_REQUIRE(std::isfinite(value), "objective ", name, ": value ", value, " at iteration ", iteration,
                      "; it must be finite");
    if (derivative == nullptr) return value;
    for (int i = 0; i < 6; ++i)
      for (int j = i; j < 6; ++j) {
        int const entry = packed_entry(i, j);
        BRICKWORK_REQUIRE(std::isfinite(slope[entry]), "objective ", name, ": derivative by ", packed_entry_name(entry),
                          " is ", slope[entry], " at iteration ", iteration, "; it must be finite");
        double const share = !read[i][j] ? 0 : i == j ? slope[entry] : 0.5 * slope[entry];
        (*derivative)[i][j] = (*derivative)[j][i] = share;
      }
    return value;
  };
  return objective;
}

}  // namespace detail

namespace {

using detail::packed_entry;
using detail::PackedFunction;
using detail::PackedTensor;

constexpr int stretch_entries[3] = {packed_entry(0, 0), packed_entry(1, 1), packed_entry(2, 2)};
constexpr int coupling_entries[3] = {packed_entry(0, 1), packed_entry(0, 2), packed_entry(1, 2)};
constexpr int shear_entries[3] = {packed_entry(3, 3), packed_entry(4, 4), packed_entry(5, 5)};

double sum(PackedTensor const& c, int const (&entries)[3]) { return c[entries[0]] + c[entries[1]] + c[entries[2]]; }

void add(PackedTensor* derivative, int const (&entries)[3], double slope) {
  if (derivative == nullptr) return;
  for (int entry : entries) (*derivative)[entry] += slope;
}

double bulk(PackedTensor const& c, int, PackedTensor* derivative) {
  add(derivative, stretch_entries, -1.0 / 9);
  add(derivative, coupling_entries, -2.0 / 9);
  return -(sum(c, stretch_entries) + 2 * sum(c, coupling_entries)) / 9;
}

double shear(PackedTensor const& c, int, PackedTensor* derivative) {
  add(derivative, shear_entries, -1.0 / 3);
  return -sum(c, shear_entries) / 3;
}

struct NegativeRatio {
  double beta;
  double operator()(PackedTensor const& c, int iteration, PackedTensor* derivative) const {
    double const weight = std::pow(beta, iteration);
    add(derivative, coupling_entries, 1);
    add(derivative, stretch_entries, -weight);
    return sum(c, coupling_entries) - weight * sum(c, stretch_entries);
  }
};

struct NegativeRatioLog {
  double eta, tau, gamma;
  double operator()(PackedTensor const& c, int, PackedTensor* derivative) const {
    double const coupling = sum(c, coupling_entries), stretch = sum(c, stretch_entries);
    BRICKWORK_REQUIRE(stretch > 0, "objective npr_log: C11 + C22 + C33 = ", stretch, "; it must be positive");
    double const ratio = coupling / stretch, argument = 1 + eta * ratio;
    BRICKWORK_REQUIRE(argument > 0, "objective npr_log: 1 + eta (C12 + C13 + C23) / (C11 + C22 + C33) = ", argument,
                      "; its logarithm needs a positive number");
    double const power = tau * std::pow(stretch, gamma);
    add(derivative, coupling_entries, eta / (argument * stretch));
    add(derivative, stretch_entries, (gamma * power - eta * ratio / argument) / stretch);
    return std::log(argument) + power;
  }
};

struct TargetDistance {
  PackedTensor target, weights;  ///< weights of both entries of a pair together
  double scale;                  ///< 1 / (weighted norm of the target)^2
  double operator()(PackedTensor const& c, int, PackedTensor* derivative) const {
    double value = 0;
    for (std::size_t k = 0; k < c.size(); ++k) {
      double const weighted = scale * weights[k] * (c[k] - target[k]);
      value += weighted * (c[k] - target[k]);
      if (derivative != nullptr) (*derivative)[k] += 2 * weighted;
    }
    return value;
  }
};

/// |C - nearest isotropic tensor|^2 / |C|^2.
struct IsotropyDistance {
  double weight;
  double operator()(PackedTensor const& c, int, PackedTensor* derivative) const {
    double const stretch = sum(c, stretch_entries);
    double const bulk3 = (stretch + 2 * sum(c, coupling_entries)) / 3;        // 3 K
    double const shear2 = (stretch + 2 * sum(c, shear_entries) - bulk3) / 5;  // 2 G
    PackedTensor difference = c;
    for (int entry : stretch_entries) difference[entry] -= (bulk3 + 2 * shear2) / 3;
    for (int entry : coupling_entries) difference[entry] -= (bulk3 - shear2) / 3;
    for (int entry : shear_entries) difference[entry] -= shear2 / 2;
    double norm2 = 0, distance2 = 0;
    PackedTensor count{};  // how often an entry counts in |C|^2
    for (int i = 0; i < 6; ++i)
      for (int j = i; j < 6; ++j) {
        int const k = packed_entry(i, j);
        count[k] = (i == j ? 1 : 2) * (i < 3 ? 1 : 2) * (j < 3 ? 1 : 2);
        norm2 += count[k] * c[k] * c[k];
        distance2 += count[k] * difference[k] * difference[k];
      }
    BRICKWORK_REQUIRE(norm2 > 0, "objective isotropy: the tensor is zero, it has no relative distance");
    double const value = distance2 / norm2;
    // The difference is orthogonal to isotropic tensors, so that the nearest one's change does not count.
    if (derivative != nullptr)
      for (std::size_t k = 0; k < c.size(); ++k)
        (*derivative)[k] += weight * 2 * count[k] * (difference[k] - value * c[k]) / norm2;
    return weight * value;
  }
};

TensorEntries entries_of(std::initializer_list<std::pair<int, int>> list) {
  TensorEntries entries{};
  for (auto const& [i, j] : list) entries[i][j] = true;
  return entries;
}

TensorEntries every_entry() {
  TensorEntries entries{};
  for (int i = 0; i < 6; ++i)
    for (int j = i; j < 6; ++j) entries[i][j] = true;
  return entries;
}

void require_symmetric(char const* name, Tensor6 const& tensor) {
  double largest = 0;
  for (auto const& row : tensor)
    for (double value : row) largest = std::max(largest, std::abs(value));
  for (int i = 0; i < 6; ++i)
    for (int j = 0; j < 6; ++j) {
      BRICKWORK_REQUIRE(std::isfinite(tensor[i][j]), "objective target: ", name, " ", i + 1, j + 1, " = ", tensor[i][j],
                        "; it must be finite");
      BRICKWORK_REQUIRE(std::abs(tensor[i][j] - tensor[j][i]) <= 1e-6 * largest, "objective target: ", name, " ", i + 1,
                        j + 1, " = ", tensor[i][j], " and ", name, " ", j + 1, i + 1, " = ", tensor[j][i],
                        " differ; it must be symmetric");
    }
}

TensorObjective target_objective(ObjectiveParameters const& parameters) {
  require_symmetric("target", parameters.target);
  require_symmetric("weight", parameters.weights);
  Tensor6 weights = parameters.weights;
  bool const all_alike = std::all_of(weights.begin(), weights.end(), [](auto const& row) {
    return std::all_of(row.begin(), row.end(), [](double w) { return w == 0; });
  });
  TensorEntries entries{};
  TargetDistance distance{};
  double norm2 = 0;
  for (int i = 0; i < 6; ++i)
    for (int j = i; j < 6; ++j) {
      double const weight = all_alike ? 1 : 0.5 * (weights[i][j] + weights[j][i]);
      BRICKWORK_REQUIRE(weight >= 0, "objective target: weight ", i + 1, j + 1, " = ", weight,
                        "; weights must not be negative");
      int const k = packed_entry(i, j);
      entries[i][j] = weight > 0;
      distance.weights[k] = i == j ? weight : 2 * weight;
      distance.target[k] = 0.5 * (parameters.target[i][j] + parameters.target[j][i]);
      norm2 += distance.weights[k] * distance.target[k] * distance.target[k];
    }
  BRICKWORK_REQUIRE(norm2 > 0 && std::isfinite(norm2), "objective target: weighted squared norm of the target ", norm2,
                    "; it must be positive: the distance is relative to it");
  distance.scale = 1 / norm2;
  return detail::packed_objective("target", entries, distance);
}

TensorObjective plain_objective(std::string const& name, ObjectiveParameters const& p) {
  TensorEntries const stretch = entries_of({{0, 0}, {1, 1}, {2, 2}, {0, 1}, {0, 2}, {1, 2}});
  if (name == "bulk") {
    TensorObjective objective = detail::packed_objective(name, stretch, bulk);
    objective.direction = {1, 1, 1, 0, 0, 0};
    return objective;
  }
  if (name == "shear") return detail::packed_objective(name, entries_of({{3, 3}, {4, 4}, {5, 5}}), shear);
  if (name == "npr") {
    BRICKWORK_REQUIRE(p.beta > 0 && p.beta <= 1, "objective npr: beta = ", p.beta, "; it must lie in (0, 1]");
    return detail::packed_objective(name, stretch, NegativeRatio{p.beta});
  }
  if (name == "npr_log") {
    BRICKWORK_REQUIRE(std::isfinite(p.eta) && p.eta > 0, "objective npr_log: eta = ", p.eta, "; it must be positive");
    BRICKWORK_REQUIRE(std::isfinite(p.gamma) && p.gamma > 0, "objective npr_log: gamma = ", p.gamma,
                      "; it must be positive");
    BRICKWORK_REQUIRE(std::isfinite(p.tau), "objective npr_log: tau = ", p.tau, "; it must be finite");
    BRICKWORK_REQUIRE(std::isfinite(p.young) && p.young > 0, "objective npr_log: young = ", p.young,
                      "; it must be positive");
    double const tau = p.tau != 0 ? p.tau : -std::pow(p.young, -p.gamma);
    return detail::packed_objective(name, stretch, NegativeRatioLog{p.eta, tau, p.gamma});
  }
  if (name == "target") return target_objective(p);
  if (name == "isotropy") return detail::packed_objective(name, every_entry(), IsotropyDistance{1});
  std::string known;
  for (auto const& other : tensor_objective_names()) known += (known.empty() ? "" : ", ") + other;
  throw InputError(detail::concatenate("unknown objective '", name, "'; known are ", known));
}

}  // namespace

std::vector<std::string> tensor_objective_names() { return {"bulk", "shear", "npr", "npr_log", "target", "isotropy"}; }

TensorObjective make_tensor_objective(std::string const& name, ObjectiveParameters const& parameters) {
  BRICKWORK_REQUIRE(std::isfinite(parameters.isotropy) && parameters.isotropy >= 0, "objective ", name,
                    ": isotropy = ", parameters.isotropy, "; it must not be negative");
  TensorObjective objective = plain_objective(name, parameters);
  if (parameters.isotropy == 0 || name == "isotropy") return objective;
  TensorObjective const penalty = detail::packed_objective(name, every_entry(), IsotropyDistance{parameters.isotropy});
  objective.entries = penalty.entries;
  objective.direction = {};
  objective.evaluate = [plain = objective.evaluate, penalty = penalty.evaluate](Tensor6 const& tensor, int iteration,
                                                                                Tensor6* derivative) {
    Tensor6 slope{};
    double const value =
        plain(tensor, iteration, derivative) + penalty(tensor, iteration, derivative != nullptr ? &slope : nullptr);
    if (derivative != nullptr)
      for (int i = 0; i < 6; ++i)
        for (int j = 0; j < 6; ++j) (*derivative)[i][j] += slope[i][j];
    return value;
  };
  return objective;
}

}  // namespace brickwork
