// SPDX-License-Identifier: BSD-3-Clause
// How numbers and strings are spelt in the files that Brickwork writes. Private to src/io.
#pragma once

#include <string>

namespace brickwork::detail {

/// The shortest decimal that reads back as the same double ("0.1", "1e-09", "nan", "inf"), with the C locale's point.
std::string format_double(double value);

/// A double as JSON: null where it is not finite.
std::string json_number(double value);

/// A quoted JSON string. TOML basic strings have the same escapes.
std::string json_string(std::string const& text);

}  // namespace brickwork::detail
