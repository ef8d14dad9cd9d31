// SPDX-License-Identifier: BSD-3-Clause
#include "toml_section.hpp"

#include <cctype>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

namespace brickwork::detail {

namespace {

std::string single_line(std::string text) {
  for (char& c : text) {
    if (c == '\n' || c == '\r') c = ' ';
  }
  return text;
}

std::size_t edit_distance(std::string const& a, std::string const& b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      std::size_t const substituted = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, substituted});
    }
  }
  return row[b.size()];
}

// Names that other codes use for our keys; edit distance alone would not find them.
std::string synonym(std::string const& key) {
  static std::map<std::string, std::string> const names = {{"volfrac", "volume_fraction"},
                                                           {"vol", "volume_fraction"},
                                                           {"rmin", "radius"},
                                                           {"filter_radius", "radius"},
                                                           {"penal", "penalization"},
                                                           {"p", "penalization"},
                                                           {"nu", "poisson"},
                                                           {"e", "young"},
                                                           {"e0", "young"},
                                                           {"emin", "young_min_ratio"},
                                                           {"maxiter", "max_iterations"},
                                                           {"maxitr", "max_iterations"},
                                                           {"maxloop", "steps"},
                                                           {"tol", "tolerance"},
                                                           {"nel", "cells"},
                                                           {"size", "lengths"},
                                                           {"boundary", "support"},
                                                           {"constraint", "support"},
                                                           {"dir", "directory"},
                                                           {"workdir", "directory"},
                                                           {"move_limit", "move"},
                                                           {"center", "center"},
                                                           {"centre", "center"},
                                                           {"supports", "support"},
                                                           {"loads", "load"},
                                                           {"obstacle", "passive"},
                                                           {"dofs", "fix"},
                                                           {"grid", "cell"},
                                                           {"cell", "grid"}};
  std::string lower;
  for (char c : key) lower += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  auto const found = names.find(lower);
  return found == names.end() ? lower : found->second;
}

std::string parse_failure(toml::parse_error const& error) {
  std::string text;
  if (error.source().path) text += *error.source().path + ":";
  text += std::to_string(error.source().begin.line) + ":" + std::to_string(error.source().begin.column) + ": ";
  return single_line(text + std::string(error.description()));
}

// Moves every value of `patch` into `target`, table by table. Moving keeps the values' sources (copying loses them).
void merge(toml::table& target, toml::table& patch, std::string const& option) {
  for (auto&& [key, node] : patch) {
    toml::node* existing = target.get(key.str());
    if (existing != nullptr && node.is_table()) {
      if (!existing->is_table()) {
        throw InputError(option + ": '" + std::string(key.str()) +
                         "' is not a table; give the whole value, or edit the file");
      }
      merge(*existing->as_table(), *node.as_table(), option);
    } else {
      node.visit([&, k = key](auto& value) { target.insert_or_assign(k, std::move(value)); });
    }
  }
}

void apply_set(toml::table& root, std::string const& assignment) {
  std::string const option = "--set " + assignment;
  std::size_t const equals = assignment.find('=');
  if (equals == std::string::npos || equals == 0) {
    throw InputError(option + ": must have the form section.key=value");
  }
  std::string const key = assignment.substr(0, equals);
  std::string const value = assignment.substr(equals + 1);
  for (char c : key) {
    if (std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '_' && c != '.' && c != '-') {
      throw InputError(option + ": '" + key + "' is not a key; it must have the form section.key=value");
    }
  }
  if (value.empty()) throw InputError(option + ": the value is empty");
  toml::table patch;
  try {
    patch = toml::parse(key + " = " + value, option);
  } catch (toml::parse_error const&) {
    // A word that is not TOML is a string: --set solver.kernel=parity. Brackets and quotes cannot have been meant as
    // one.
    if (value.find_first_of("[]{}\"'\n") != std::string::npos) {
      throw InputError(option + ": '" + single_line(value) + "' is not a TOML value");
    }
    if (value.find_first_not_of("+-.0123456789") == std::string::npos) {
      throw InputError(option + ": '" + value + "' is not a TOML number (beyond 2^63, a zero or a point in front?)");
    }
    try {
      patch = toml::parse(key + " = " + json_string(value), option);
    } catch (toml::parse_error const& error) {
      throw InputError(single_line(option + ": " + std::string(error.description())));
    }
  }
  merge(root, patch, option);
}

}  // namespace

std::string where(toml::source_region const& source) {
  std::string const path = source.path ? *source.path : std::string();
  if (path.rfind("--", 0) == 0) return path + ": ";
  if (source.begin.line == 0) return path.empty() ? std::string() : path + ": ";
  return path + ":" + std::to_string(source.begin.line) + ": ";
}

std::string nearest(std::string const& key, std::vector<std::string> const& known) {
  std::string const alias = synonym(key);
  std::string best;
  std::size_t best_distance = std::numeric_limits<std::size_t>::max();
  for (std::string const& candidate : known) {
    std::size_t distance = std::min(edit_distance(key, candidate), edit_distance(alias, candidate));
    // "iterations" for "max_iterations": a key that is part of a known one is near it.
    if (key.size() >= 3 && candidate.find(key) != std::string::npos) distance = std::min<std::size_t>(distance, 2);
    if (distance < best_distance) {
      best_distance = distance;
      best = candidate;
    }
  }
  return best;
}

std::string join(std::vector<std::string> const& words) {
  std::string text;
  for (std::string const& word : words) text += (text.empty() ? "" : ", ") + word;
  return text;
}

std::string type_name(toml::node const& node) {
  switch (node.type()) {
    case toml::node_type::table:
      return "a table";
    case toml::node_type::array:
      return "a list";
    case toml::node_type::string:
      return "a string";
    case toml::node_type::integer:
      return "an integer";
    case toml::node_type::floating_point:
      return "a real number";
    case toml::node_type::boolean:
      return "a boolean";
    default:
      return "a date or time";
  }
}

void remember(Locations& locations, Section const& section, std::string const& prefix,
              std::vector<std::string> const& keys) {
  for (std::string const& key : keys) {
    if (section.has(key)) locations.emplace_back(prefix + "." + key, section.location(key));
  }
  locations.emplace_back(prefix + ".", section.location());
}

toml::table parse_toml(std::string const& text, std::string const& name, std::vector<std::string> const& assignments) {
  toml::table table;
  try {
    table = toml::parse(text, name);
  } catch (toml::parse_error const& error) {
    throw InputError(parse_failure(error));
  }
  for (std::string const& assignment : assignments) apply_set(table, assignment);
  return table;
}

std::string read_config_text(std::string const& path) {
  std::error_code error;
  BRICKWORK_REQUIRE(!std::filesystem::is_directory(path, error), "cannot read '", path, "': it is a directory");
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  BRICKWORK_REQUIRE(file.is_open(), "cannot read '", path, "': ", std::strerror(errno));
  std::ostringstream text;
  text << file.rdbuf();
  BRICKWORK_REQUIRE(!file.bad(), "cannot read '", path, "'");
  return text.str();
}

std::string toml_real(double value) {
  std::string text = format_double(value);
  return text.find_first_of(".en") == std::string::npos ? text + ".0" : text;
}

std::string toml_list(Vec3 const& v) {
  return "[" + toml_real(v[0]) + ", " + toml_real(v[1]) + ", " + toml_real(v[2]) + "]";
}

std::string toml_list(Index3 const& v) {
  return "[" + std::to_string(v[0]) + ", " + std::to_string(v[1]) + ", " + std::to_string(v[2]) + "]";
}

std::string toml_boolean(bool value) { return value ? "true" : "false"; }

}  // namespace brickwork::detail
