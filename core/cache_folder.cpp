// SPDX-License-Identifier: Apache-2.0
#include "core/cache_folder.hpp"

#include <fstream>
#include <string>
#include <system_error>

#include "convolume/error.hpp"
#include "core/system/system.hpp"

namespace convolume {

namespace fs = std::filesystem;

void replace_cache_file(const fs::path& file, std::string_view text) {
    std::error_code failed;
    fs::create_directories(file.parent_path(), failed);
    const fs::path partial = file.string() + "." + std::to_string(system::process_id());
    {
        std::ofstream stream(partial);
        stream << text << '\n';
        if (!stream.flush()) {
            fs::remove(partial, failed);
            throw IoError(message("cannot write ", partial.string(),
                                  ": set XDG_CACHE_HOME to a folder that can be written"));
        }
    }
    fs::rename(partial, file, failed);
    if (!failed) return;
    const std::string why = failed.message();
    fs::remove(partial, failed);
    throw IoError(message("cannot replace ", file.string(), ": ", why));
}

}  // namespace convolume
