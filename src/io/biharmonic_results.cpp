// SPDX-License-Identifier: BSD-3-Clause
#include "brickwork/io/biharmonic_results.hpp"

#include <cmath>
#include <utility>

#include "format.hpp"
#include "run_facts.hpp"

namespace brickwork {

using detail::format;
using detail::format_double;
using detail::json_list;
using detail::json_number;
using detail::json_string;

namespace {

/// Every column once: its name and its text, empty for what does not apply.
std::vector<std::pair<std::string, std::string>> columns(MeshRow const& row) {
  auto const real = [](double value) { return std::isnan(value) ? std::string() : format_double(value); };
  auto const whole = [](index_t value) { return std::to_string(value); };
  return {{"refinements", whole(row.refinements)},
          {"depth", whole(row.depth)},
          {"levels", whole(row.levels)},
          {"cells", whole(row.cells)},
          {"unknowns", whole(row.unknowns)},
          {"marked", whole(row.marked)},
          {"balanced", whole(row.balanced)},
          {"largest_spacing", real(row.largest_spacing)},
          {"smallest_spacing", real(row.smallest_spacing)},
          {"error_l2", real(row.error_l2)},
          {"error_h1", real(row.error_h1)},
          {"error_h2", real(row.error_h2)},
          {"order_l2", real(row.order_l2)},
          {"order_h1", real(row.order_h1)},
          {"order_h2", real(row.order_h2)},
          {"estimate", real(row.estimate)},
          {"work", real(row.work)},
          {"value", real(row.value)},
          {"value_jump", real(row.value_jump)},
          {"slope_jump", real(row.slope_jump)},
          {"iterations", whole(row.iterations)},
          {"contraction", real(row.contraction)},
          {"true_residual", real(row.true_residual)},
          {"status", row.status},
          {"seconds_setup", real(row.seconds_setup)},
          {"seconds_solve", real(row.seconds_solve)},
          {"rate", real(row.rate)}};
}

std::string to_json_row(MeshRow const& row) {
  return json_list(columns(row), '{', '}', [](auto const& column) {
    return json_string(column.first) + ": " +
           (column.first == "status" ? json_string(column.second)
            : column.second.empty()  ? "null"
                                     : column.second);
  });
}

std::string coordinates(Vec3 const& x, int dimension) {
  std::string text;
  for (int d = 0; d < dimension; ++d) text += format(d > 0 ? ", %g" : "%g", x[static_cast<std::size_t>(d)]);
  return "(" + text + ")";
}

}  // namespace

void set_orders(MeshRow& row, MeshRow const& before, int dimension) {
  if (row.cells == before.cells) return;
  double const finer = std::log(static_cast<double>(row.cells) / static_cast<double>(before.cells)) / dimension;
  auto const order = [&](double now, double then) { return std::log(then / now) / finer; };
  row.order_l2 = order(row.error_l2, before.error_l2);
  row.order_h1 = order(row.error_h1, before.error_h1);
  row.order_h2 = order(row.error_h2, before.error_h2);
}

std::string mesh_header() {
  std::string header;
  for (auto const& column : columns({})) header += (header.empty() ? "" : ",") + column.first;
  return header + "\n";
}

std::string to_csv(MeshRow const& row) {
  std::string line;
  for (auto const& column : columns(row)) line += (line.empty() ? "" : ",") + column.second;
  return line + "\n";
}

std::string residual_header() { return "mesh,iteration,residual,relative_residual\n"; }

std::string residual_line(int mesh, int iteration, double residual, double first) {
  return std::to_string(mesh) + "," + std::to_string(iteration) + "," + format_double(residual) + "," +
         format_double(residual / first) + "\n";
}

std::string mesh_titles() {
  return format("%6s  %10s  %11s  %10s  %6s  %10s  %13s  %10s  %11s  %9s", "levels", "cells", "unknowns", "L2 error",
                "order", "estimate", "value", "iterations", "contraction", "seconds");
}

std::string mesh_line(MeshRow const& row) {
  auto const real = [](char const* pattern, char const* blank, double value) {
    return std::isnan(value) ? format(blank, "-") : format(pattern, value);
  };
  return format("%6d  %10lld  %11lld", row.levels, static_cast<long long>(row.cells),
                static_cast<long long>(row.unknowns)) +
         real("  %10.3e", "  %10s", row.error_l2) + real("  %6.2f", "  %6s", row.order_l2) +
         real("  %10.3e", "  %10s", row.estimate) + format("  %13.7g  %10d", row.value, row.iterations) +
         real("  %11.3f", "  %11s", row.contraction) + format("  %9.3f", row.seconds_setup + row.seconds_solve) +
         (row.status == "converged" ? "" : "  " + row.status);
}

std::string to_json(BiharmonicSummary const& s) {
  auto const numbers = [](auto const& list) { return json_list(list, '[', ']', json_number); };
  detail::JsonObject json;
  json.add("name", json_string(s.name));
  json.add("status", json_string(s.status));
  json.add("dimension", std::to_string(s.dimension));
  json.add("lengths", numbers(s.lengths));
  json.add("load", json_string(s.load));
  json.add("region", json_string(s.region));
  json.add("method", json_string(s.method));
  json.add("smoother", json_string(s.smoother));
  json.add("points", json_list(s.points, '[', ']', [&](PointValue const& p) {
             return "{\"position\": " + numbers(p.position) + ", \"value\": " + json_number(p.value) +
                    ", \"gradient\": " + numbers(p.gradient) + "}";
           }));
  json.add("meshes", json_list(s.meshes, '[', ']', to_json_row));
  detail::add_facts(json, s);
  return json.text();
}

std::string describe(BiharmonicSummary const& s) {
  std::string text;
  for (PointValue const& p : s.points) {
    text += format("  u = %.8g, gradient ", p.value) + coordinates(p.gradient, s.dimension) + " at " +
            coordinates(p.position, s.dimension) + "\n";
  }
  if (s.meshes.empty()) return text;
  MeshRow const& last = s.meshes.back();
  text += format("  work of the load %.8g, largest jumps: value %.1e, slope %.1e\n", last.work, last.value_jump,
                 last.slope_jump);
  if (!std::isnan(last.error_l2)) {
    text += format("  errors: L2 %.3e, H1 %.3e, H2 %.3e\n", last.error_l2, last.error_h1, last.error_h2);
  }
  text += format("  rate %.4g cells/s\n", last.rate);
  return text;
}

}  // namespace brickwork
