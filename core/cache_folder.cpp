// SPDX-License-Identifier: Apache-2.0
#include "core/cache_folder.hpp"

#include <cstdlib>

namespace convolume {

std::optional<std::filesystem::path> cache_folder() {
    namespace fs = std::filesystem;
    if (const char* cache = std::getenv("XDG_CACHE_HOME"); cache && *cache)
        return fs::path(cache) / "convolume";
    if (const char* home = std::getenv("HOME"); home && *home)
        return fs::path(home) / ".cache" / "convolume";
    return {};
}

}  // namespace convolume
