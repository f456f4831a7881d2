// SPDX-License-Identifier: Apache-2.0
#pragma once
// The cache folder: files in it make later runs faster.

#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string_view>

namespace convolume {

/// Returns $XDG_CACHE_HOME/convolume or ~/.cache/convolume, or nothing if neither variable is set.
/// The folder need not exist.
inline std::optional<std::filesystem::path> cache_folder() {
    namespace fs = std::filesystem;
    if (const char* cache = std::getenv("XDG_CACHE_HOME"); cache && *cache)
        return fs::path(cache) / "convolume";
    if (const char* home = std::getenv("HOME"); home && *home)
        return fs::path(home) / ".cache" / "convolume";
    return {};
}

/// Writes `text` to a temporary file and renames it to `file`, whose folder is made if it is
/// missing. Throws IoError.
void replace_cache_file(const std::filesystem::path& file, std::string_view text);

}  // namespace convolume
