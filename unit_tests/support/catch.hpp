// SPDX-License-Identifier: BSD-3-Clause
// Catch2 2.13 (one header) or 3 (a library), whichever CMake found.
#pragma once

#if __has_include(<catch2/catch_all.hpp>)
#include <catch2/catch_all.hpp>
using Catch::Approx;
#else
#include <catch2/catch.hpp>
#endif
