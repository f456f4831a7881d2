// SPDX-License-Identifier: Apache-2.0
#pragma once
// Unfinished files of processes that were killed, and of a machine that lost power.

#include <string>

namespace convolume::io {

/// A name beside `target` that no other output of any process uses, and by which others see when
/// its process is gone.
std::string unfinished_name(const std::string& target);

/// Removes unfinished files from a folder whose processes ran on this machine and are gone. Once a
/// folder and process; what cannot be looked at or removed stays.
void remove_leftovers(const std::string& folder) noexcept;

}  // namespace convolume::io
