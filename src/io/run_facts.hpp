// SPDX-License-Identifier: BSD-3-Clause
// What the summary.json of every driver holds. Private to src/io.
#pragma once

#include "brickwork/io/run_directory.hpp"
#include "format.hpp"

namespace brickwork::detail {

/// Adds everything but name and status, which stand first.
void add_facts(JsonObject& json, RunFacts const& facts);

}  // namespace brickwork::detail
