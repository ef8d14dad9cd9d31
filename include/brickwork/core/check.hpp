// SPDX-License-Identifier: BSD-3-Clause
// Errors and checks. Free of Kokkos.
//
// BRICKWORK_REQUIRE stands at public boundaries and always throws; its message names the offending value and the
// allowed range. BRICKWORK_ASSERT is for internal invariants in debug builds.
#pragma once

#include <cassert>
#include <sstream>
#include <stdexcept>
#include <string>

namespace brickwork {

/// Any failure that Brickwork reports. Drivers exit with code 1.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// The caller's input is wrong (a configuration, an argument, an extent). Drivers exit with code 2.
class InputError : public Error {
 public:
  using Error::Error;
};

/// The problem needs more memory than there is. Thrown before anything is allocated. Drivers exit with code 4.
class OutOfMemory : public Error {
 public:
  using Error::Error;
};

namespace detail {
template <class... Parts>
std::string concatenate(Parts const&... parts) {
  std::ostringstream stream;
  stream.precision(10);
  (stream << ... << parts);
  return stream.str();
}
}  // namespace detail

}  // namespace brickwork

/// Throws brickwork::InputError with the streamed message parts where `condition` is false.
#define BRICKWORK_REQUIRE(condition, ...)                                           \
  do {                                                                              \
    if (!(condition)) {                                                             \
      throw ::brickwork::InputError(::brickwork::detail::concatenate(__VA_ARGS__)); \
    }                                                                               \
  } while (false)

/// Internal invariant, checked in debug builds only.
#define BRICKWORK_ASSERT(condition) assert(condition)
