// SPDX-License-Identifier: Apache-2.0
#pragma once
// The folder for files that make later runs faster.

#include <cstdlib>
#include <filesystem>
#include <optional>

namespace convolume {

/// $XDG_CACHE_HOME/convolume or ~/.cache/convolume; nothing where neither variable is set. It need
/// not exist.
inline std::optional<std::filesystem::path> cache_folder() {
    namespace fs = std::filesystem;
    if (const char* cache = std::getenv("XDG_CACHE_HOME"); cache && *cache)
        return fs::path(cache) / "convolume";
    if (const char* home = std::getenv("HOME"); home && *home)
        return fs::path(home) / ".cache" / "convolume";
    return {};
}

}  // namespace convolume
