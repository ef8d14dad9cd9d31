// SPDX-License-Identifier: BSD-3-Clause
// What reading any TOML configuration needs: tables that know their keys, overrides from the command line, and where in
// the file a value came from. Private to src/io, since it shows toml++.
#pragma once

#include <toml++/toml.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "brickwork/core/check.hpp"
#include "brickwork/core/types.hpp"
#include "format.hpp"

namespace brickwork::detail {

/// "file:12: ", or the option that a value came from.
std::string where(toml::source_region const& source);

/// The known word that is most like `key`, by edit distance and by names that other codes use for our keys.
std::string nearest(std::string const& key, std::vector<std::string> const& known);

/// "a, b, c".
std::string join(std::vector<std::string> const& words);

/// "a table", "an integer", ...
std::string type_name(toml::node const& node);

/// A table of the configuration that knows its keys. Getters leave the value alone where the key is absent.
class Section {
 public:
  Section(toml::table const& table, std::string label, std::vector<std::string> const& known)
      : table_(table), label_(std::move(label)) {
    for (auto const& [key, node] : table_) {
      std::string const name(key.str());
      if (std::find(known.begin(), known.end(), name) != known.end()) continue;
      // A key inserted by --set carries its own source; one without falls back to its value's.
      toml::source_region const& source = key.source().begin.line != 0 ? key.source() : node.source();
      throw InputError(where(source) + "unknown key '" + name + "' in " + label_ + "; did you mean '" +
                       nearest(name, known) + "'? Known: " + join(known));
    }
  }

  std::string const& label() const { return label_; }
  toml::node const* find(std::string const& key) const { return table_.get(key); }
  bool has(std::string const& key) const { return find(key) != nullptr; }
  std::string location() const { return where(table_.source()); }
  std::string location(std::string const& key) const { return has(key) ? where(find(key)->source()) : location(); }

  [[noreturn]] void fail(std::string const& key, std::string const& problem) const {
    throw InputError(location(key) + "'" + key + "' in " + label_ + " " + problem);
  }
  [[noreturn]] void wrong_type(std::string const& key, std::string const& expected) const {
    fail(key, "must be " + expected + ", not " + type_name(*find(key)));
  }
  void require(std::string const& key, std::string const& expected) const {
    if (!has(key)) throw InputError(location() + label_ + " needs the key '" + key + "' (" + expected + ")");
  }

  bool get(std::string const& key, double& value) const {
    toml::node const* node = find(key);
    if (node == nullptr) return false;
    value = number(key, *node, "a number");
    return true;
  }
  template <class Integer>
  bool get_integer(std::string const& key, Integer& value) const {
    toml::node const* node = find(key);
    if (node == nullptr) return false;
    value = integer<Integer>(key, *node, "an integer");
    return true;
  }
  bool get(std::string const& key, bool& value) const {
    toml::node const* node = find(key);
    if (node == nullptr) return false;
    if (!node->is_boolean()) wrong_type(key, "true or false");
    value = **node->as_boolean();
    return true;
  }
  bool get(std::string const& key, std::string& value) const {
    toml::node const* node = find(key);
    if (node == nullptr) return false;
    if (!node->is_string()) wrong_type(key, "a string");
    value = **node->as_string();
    return true;
  }
  bool get(std::string const& key, Vec3& value) const {
    toml::array const* list = triple(key, "a list of three numbers [x, y, z]");
    if (list == nullptr) return false;
    for (std::size_t i = 0; i < 3; ++i) value[i] = number(key, (*list)[i], "a list of three numbers [x, y, z]");
    return true;
  }
  bool get(std::string const& key, Index3& value) const {
    toml::array const* list = triple(key, "a list of three integers [x, y, z]");
    if (list == nullptr) return false;
    for (std::size_t i = 0; i < 3; ++i) {
      value[i] = integer<index_t>(key, (*list)[i], "a list of three integers [x, y, z]");
    }
    return true;
  }
  bool get(std::string const& key, std::vector<double>& value) const {
    toml::node const* node = find(key);
    if (node == nullptr) return false;
    if (!node->is_array()) wrong_type(key, "a list of numbers");
    value.clear();
    for (toml::node const& item : *node->as_array()) value.push_back(number(key, item, "a list of numbers"));
    return true;
  }
  bool get(std::string const& key, std::vector<index_t>& value) const {
    toml::node const* node = find(key);
    if (node == nullptr) return false;
    if (!node->is_array()) wrong_type(key, "a list of integers");
    value.clear();
    for (toml::node const& item : *node->as_array()) {
      value.push_back(integer<index_t>(key, item, "a list of integers"));
    }
    return true;
  }
  bool get(std::string const& key, std::vector<std::vector<double>>& value) const {
    toml::node const* node = find(key);
    if (node == nullptr) return false;
    std::string const expected = "a list of lists of numbers";
    if (!node->is_array()) wrong_type(key, expected);
    value.clear();
    for (toml::node const& row : *node->as_array()) {
      if (!row.is_array()) fail(key, "must be " + expected + ", but holds " + type_name(row));
      value.emplace_back();
      for (toml::node const& item : *row.as_array()) value.back().push_back(number(key, item, expected));
    }
    return true;
  }
  template <class Value>
  bool choose(std::string const& key, std::vector<std::pair<std::string, Value>> const& choices, Value& value) const {
    std::string word;
    if (!get(key, word)) return false;
    std::vector<std::string> names;
    for (auto const& choice : choices) {
      if (choice.first == word) {
        value = choice.second;
        return true;
      }
      names.push_back(choice.first);
    }
    fail(key, "is \"" + word + "\"; did you mean \"" + nearest(word, names) + "\"? Known: " + join(names));
  }
  toml::table const* table(std::string const& key) const {
    toml::node const* node = find(key);
    if (node == nullptr) return nullptr;
    if (!node->is_table()) wrong_type(key, "a table");
    return node->as_table();
  }
  /// The tables of a list [[key]].
  std::vector<toml::table const*> tables(std::string const& key) const {
    std::vector<toml::table const*> list;
    toml::node const* node = find(key);
    if (node == nullptr) return list;
    if (!node->is_array()) wrong_type(key, "a list of tables (write [[" + key + "]])");
    for (toml::node const& item : *node->as_array()) {
      if (!item.is_table()) fail(key, "must be a list of tables (write [[" + key + "]])");
      list.push_back(item.as_table());
    }
    return list;
  }

 private:
  double number(std::string const& key, toml::node const& node, std::string const& expected) const {
    double value = 0;
    if (node.is_floating_point()) {
      value = **node.as_floating_point();
    } else if (node.is_integer()) {
      value = static_cast<double>(**node.as_integer());
    } else if (&node == find(key)) {
      wrong_type(key, expected);
    } else {
      fail(key, "must be " + expected + ", but holds " + type_name(node));
    }
    if (!std::isfinite(value)) fail(key, "is " + format_double(value) + ", but must be finite");
    return value;
  }
  template <class Integer>
  Integer integer(std::string const& key, toml::node const& node, std::string const& expected) const {
    if (!node.is_integer()) {
      if (&node == find(key)) wrong_type(key, expected);
      fail(key, "must be " + expected + ", but holds " + type_name(node));
    }
    std::int64_t const value = **node.as_integer();
    if (value < std::numeric_limits<Integer>::min() || value > std::numeric_limits<Integer>::max()) {
      fail(key, "is " + std::to_string(value) + "; it must lie in [" +
                    std::to_string(std::numeric_limits<Integer>::min()) + ", " +
                    std::to_string(std::numeric_limits<Integer>::max()) + "]");
    }
    return static_cast<Integer>(value);
  }
  toml::array const* triple(std::string const& key, std::string const& expected) const {
    toml::node const* node = find(key);
    if (node == nullptr) return nullptr;
    if (!node->is_array()) wrong_type(key, expected);
    std::size_t const size = node->as_array()->size();
    if (size != 3) fail(key, "must be " + expected + ", not a list of " + std::to_string(size));
    return node->as_array();
  }

  toml::table const& table_;
  std::string label_;
};
/// Where each subject of a validate()'s messages was stated.
using Locations = std::vector<std::pair<std::string, std::string>>;

/// Adds a location for every key of a section and one for the section, so that messages of validate() that begin with
/// "prefix.key" find their line.
void remember(Locations& locations, Section const& section, std::string const& prefix,
              std::vector<std::string> const& keys);

/// Calls validate(), and puts before the message of its InputError where its subject was stated, else `name`.
template <class Validate>
auto validate_with_locations(Locations const& locations, std::string const& name, Validate const& validate) {
  try {
    return validate();
  } catch (InputError const& error) {
    std::string const message = error.what();
    for (auto const& [subject, location] : locations) {
      if (!location.empty() && message.rfind(subject, 0) == 0) throw InputError(location + message);
    }
    throw InputError(name + ": " + message);
  }
}

/// The tables of TOML text, changed by assignments "section.key=value" (a value that is a bare word is a string).
/// \param name stands for the file in messages
/// \throws InputError with file, line and column, or the assignment
toml::table parse_toml(std::string const& text, std::string const& name, std::vector<std::string> const& assignments);

/// The text of a configuration file. \throws InputError where it cannot be read
std::string read_config_text(std::string const& path);

// How values are spelt in TOML.
std::string toml_real(double value);  ///< with a point or an exponent, as a TOML float needs
std::string toml_list(Vec3 const& v);
std::string toml_list(Index3 const& v);
std::string toml_boolean(bool value);

}  // namespace brickwork::detail
