// SPDX-License-Identifier: BSD-3-Clause
#include "brickwork/core/revision.hpp"

#include <regex>
#include <string>

#include "support/catch.hpp"

TEST_CASE("the revision is a commit, or said to be unknown") {
  CAPTURE(brickwork::revision());
  CHECK(std::regex_match(brickwork::revision(), std::regex("unknown|[0-9a-f]{12,40}(-dirty)?")));
}
