// SPDX-License-Identifier: BSD-3-Clause
#include "brickwork/core/revision.hpp"

#include "brickwork_revision.hpp"  // written by every build (cmake/BrickworkRevision.cmake)

namespace brickwork {

char const* revision() { return BRICKWORK_REVISION; }

}  // namespace brickwork
