// SPDX-License-Identifier: BSD-3-Clause
// How numbers and strings are spelt in the files that Brickwork writes. Private to src/io.
#pragma once

#include <cstdio>
#include <string>

namespace brickwork::detail {

/// Text of at most 255 characters by a pattern of printf.
template <class... Values>
std::string format(char const* pattern, Values... values) {
  char buffer[256];
  std::snprintf(buffer, sizeof(buffer), pattern, values...);
  return buffer;
}

/// The shortest decimal that reads back as the same double ("0.1", "1e-09", "nan", "inf"), with the C locale's point.
std::string format_double(double value);

/// A double as JSON: null where it is not finite.
std::string json_number(double value);

/// A quoted JSON string. TOML basic strings have the same escapes.
std::string json_string(std::string const& text);

/// "[a, b, c]" or "{...}" of items that `spell` makes JSON of.
template <class Items, class Spell>
std::string json_list(Items const& items, char open, char close, Spell const& spell) {
  std::string text(1, open);
  for (auto const& item : items) text += (text.size() > 1 ? ", " : "") + spell(item);
  return text + close;
}

/// A JSON object of one line per key.
class JsonObject {
 public:
  /// \param json the value as JSON
  void add(char const* key, std::string const& json) {
    text_ += (text_.empty() ? "  " : ",\n  ") + json_string(key) + ": " + json;
  }
  std::string text() const { return "{\n" + text_ + "\n}\n"; }

 private:
  std::string text_;
};

}  // namespace brickwork::detail
