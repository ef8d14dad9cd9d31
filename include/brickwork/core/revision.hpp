// SPDX-License-Identifier: BSD-3-Clause
// Which sources this library was built from. Free of Kokkos.
#pragma once

namespace brickwork {

/// The commit that the sources were at when the library was last built: 12 digits of its hash, with "-dirty" behind
/// them where tracked files had changed; "unknown" where the sources were no git checkout.
char const* revision();

}  // namespace brickwork
