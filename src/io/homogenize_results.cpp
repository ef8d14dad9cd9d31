// SPDX-License-Identifier: BSD-3-Clause
#include "brickwork/io/homogenize_results.hpp"

#include <array>
#include <cmath>
#include <limits>
#include <optional>

#include "brickwork/core/check.hpp"
#include "format.hpp"
#include "run_facts.hpp"

namespace brickwork {

using detail::format;
using detail::format_double;
using detail::json_list;
using detail::json_number;
using detail::json_string;

namespace {

constexpr double none = std::numeric_limits<double>::quiet_NaN();

// The entries of an orthotropic tensor; the others are in C.csv.
constexpr std::array<std::pair<int, int>, 9> history_entries = {
    {{0, 0}, {0, 1}, {0, 2}, {1, 1}, {1, 2}, {2, 2}, {3, 3}, {4, 4}, {5, 5}}};

std::optional<EngineeringConstants> constants_of(Tensor6 const& tensor) {
  try {
    return engineering_constants(tensor);
  } catch (InputError const&) {
    return std::nullopt;
  }
}

// NaN where there are none.
IsotropicBounds bounds_of(CellSummary const& s) {
  if (!s.phases.empty()) return hashin_shtrikman_bounds(s.phases);
  if (!(s.volume >= 0 && s.volume <= 1)) return {none, none, none, none};
  return {0, hashin_shtrikman_bulk(s.young, s.poisson, s.volume), 0,
          hashin_shtrikman_shear(s.young, s.poisson, s.volume)};
}

}  // namespace

std::string cell_history_header() {
  std::string header = "step,objective,volume,grayness,change,constraint,bulk";
  for (auto const& [i, j] : history_entries) header += ",C" + std::to_string(i + 1) + std::to_string(j + 1);
  return header +
         ",iterations,true_residual,capped,penalization,beta,move,radius,seconds_filter,seconds_solve,"
         "seconds_sensitivity,seconds_update,seconds\n";
}

std::string to_csv(CellHistoryRow const& row) {
  std::string line = std::to_string(row.step);
  auto const add = [&](double value) { line += "," + format_double(value); };
  for (double value : {row.objective, row.volume, row.grayness, row.change, row.constraint, row.bulk}) add(value);
  for (auto const& [i, j] : history_entries) {
    auto const r = static_cast<std::size_t>(i), c = static_cast<std::size_t>(j);
    add(row.known[r][c] ? row.tensor[r][c] : none);
  }
  line += "," + std::to_string(row.iterations) + "," + format_double(row.true_residual) + (row.capped ? ",1" : ",0");
  for (double value : {row.penalization, row.beta, row.move, row.radius, row.seconds_filter, row.seconds_solve,
                       row.seconds_sensitivity, row.seconds_update, row.seconds}) {
    add(value);
  }
  return line + "\n";
}

std::string cell_step_titles() {
  return format("%4s  %13s  %8s  %9s  %8s  %13s  %10s  %9s  %9s", "step", "objective", "volume", "grayness", "change",
                "bulk", "iterations", "residual", "seconds");
}

std::string cell_step_line(CellHistoryRow const& row) {
  return format("%4d  %13.7g  %8.5f  %9.2e  %8.4f  %13.7g  %10lld  %9.2e  %9.3f", row.step, row.objective, row.volume,
                row.grayness, row.change, row.bulk, static_cast<long long>(row.iterations), row.true_residual,
                row.seconds) +
         (row.capped ? "  capped" : "");
}

std::string tensor_csv(Tensor6 const& tensor) {
  struct Order {
    char const* name;
    std::array<std::size_t, 6> entry;  // in Brickwork's order
  };
  static constexpr std::array<char const*, 6> names = {"xx", "yy", "zz", "yz", "xz", "xy"};
  static constexpr Order orders[] = {{"Voigt's", {0, 1, 2, 3, 4, 5}}, {"that of ANSYS", {0, 1, 2, 5, 3, 4}}};
  std::string csv;
  for (Order const& order : orders) {
    std::string list;
    for (std::size_t i : order.entry) list += std::string(",") + names[i];
    csv += "# order " + list.substr(1) + " (" + order.name +
           "): rows are stresses, columns strains with engineering shear\nstress" + list + "\n";
    for (std::size_t i : order.entry) {
      csv += names[i];
      for (std::size_t j : order.entry) csv += "," + format_double(tensor[i][j]);
      csv += "\n";
    }
  }
  return csv;
}

std::string to_json(CellSummary const& s) {
  auto const numbers = [](auto const& list) { return json_list(list, '[', ']', json_number); };
  auto const rows = [&](auto const& list) { return json_list(list, '[', ']', numbers); };
  detail::JsonObject json;
  json.add("name", json_string(s.name));
  json.add("status", json_string(s.status));
  if (!s.objective_name.empty()) {
    json.add("objective", json_string(s.objective_name));
    json.add("objective_value", json_number(s.objective));
    json.add("constraint", json_number(s.constraint));
    json.add("grayness", json_number(s.grayness));
    json.add("steps", std::to_string(s.steps));
    json.add("stopped_by", json_string(s.stopped_by));
    json.add("symmetry", json_string(s.symmetry));
    json.add("start", json_string(s.start));
    json.add("seed", std::to_string(s.seed));
  }
  json.add("volume", json_number(s.volume));
  json.add("tensor_order", json_string("xx,yy,zz,yz,xz,xy"));
  json.add("tensor", rows(s.tensor));
  std::optional<EngineeringConstants> const e = constants_of(s.tensor);
  json.add("young", e ? numbers(e->young) : "null");
  json.add("shear", e ? numbers(e->shear) : "null");
  json.add("poisson", e ? rows(e->poisson) : "null");
  json.add("bulk_voigt", json_number(bulk_modulus(s.tensor)));
  json.add("bulk_reuss", json_number(e ? e->bulk_reuss : none));
  json.add("shear_voigt", json_number(e ? e->shear_voigt : none));
  json.add("shear_reuss", json_number(e ? e->shear_reuss : none));
  json.add("zener", json_number(e ? e->zener : none));
  IsotropicBounds const bounds = bounds_of(s);
  json.add("hashin_shtrikman_bulk", json_number(bounds.bulk_upper));
  json.add("hashin_shtrikman_shear", json_number(bounds.shear_upper));
  if (!s.phases.empty()) {
    json.add("hashin_shtrikman_bulk_lower", json_number(bounds.bulk_lower));
    json.add("hashin_shtrikman_shear_lower", json_number(bounds.shear_lower));
    json.add("materials", json_list(s.phases, '[', ']', [](PhaseShare const& phase) {
               return "{\"young\": " + json_number(phase.young) + ", \"poisson\": " + json_number(phase.poisson) +
                      ", \"share\": " + json_number(phase.share) + "}";
             }));
  }
  json.add("lengths", numbers(s.lengths));
  json.add("method", json_string(s.method));
  json.add("storage", json_string(s.storage));
  detail::add_facts(json, s);
  return json.text();
}

std::string describe(CellSummary const& s) {
  static constexpr char const* names[] = {"xx", "yy", "zz", "yz", "xz", "xy"};
  double largest = 0;
  for (auto const& row : s.tensor) {
    for (double value : row) largest = std::max(largest, std::abs(value));
  }
  std::string text = "   C ";
  for (char const* name : names) text += format("  %11s", name);
  text += "\n";
  for (std::size_t i = 0; i < 6; ++i) {
    text += std::string("  ") + names[i] + " ";
    // What is rounding beside the largest entry reads better as 0.
    for (double value : s.tensor[i]) text += format("  %11.5g", std::abs(value) < 1e-9 * largest ? 0 : value);
    text += "\n";
  }
  if (auto const e = constants_of(s.tensor)) {
    text += format("  Young's modulus    x %.5g, y %.5g, z %.5g\n", e->young[0], e->young[1], e->young[2]);
    text += format("  shear modulus      yz %.5g, xz %.5g, xy %.5g\n", e->shear[0], e->shear[1], e->shear[2]);
    text += format("  Poisson's ratio    xy %.4f, xz %.4f, yx %.4f, yz %.4f, zx %.4f, zy %.4f\n", e->poisson[0][1],
                   e->poisson[0][2], e->poisson[1][0], e->poisson[1][2], e->poisson[2][0], e->poisson[2][1]);
    text += format("  Zener ratio        %.5g\n", e->zener);
  } else {
    text += "  the tensor has no compliance: some strain meets no resistance\n";
  }
  text += format("  bulk modulus       %.6g", bulk_modulus(s.tensor));
  IsotropicBounds const bounds = bounds_of(s);
  if (!s.phases.empty()) {
    text += format(", Hashin-Shtrikman bounds %.6g and %.6g", bounds.bulk_lower, bounds.bulk_upper);
  } else if (bounds.bulk_upper > 0) {
    text += format(", %.1f%% of the Hashin-Shtrikman bound %.6g at volume %.4f",
                   100 * bulk_modulus(s.tensor) / bounds.bulk_upper, bounds.bulk_upper, s.volume);
  }
  return text + "\n";
}

}  // namespace brickwork
