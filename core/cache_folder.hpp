// SPDX-License-Identifier: Apache-2.0
#pragma once
// Where things are kept that spare later runs time.

#include <filesystem>
#include <optional>

namespace convolume {

/// $XDG_CACHE_HOME/convolume or ~/.cache/convolume; nothing where neither variable is set. It need
/// not exist.
std::optional<std::filesystem::path> cache_folder();

}  // namespace convolume
