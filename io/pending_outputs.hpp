// SPDX-License-Identifier: Apache-2.0
#pragma once
// The outputs that are not complete yet, in a table that a signal handler may walk.

#include <string>

namespace convolume::io {

/// Remembers `path`; the slot is -1 when the table is full or the path too long: such a file is
/// only removed by its owner.
int register_pending(const std::string& path) noexcept;
void unregister_pending(int slot) noexcept;

}  // namespace convolume::io
