// SPDX-License-Identifier: Apache-2.0
#include "cli/run/output_path.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <iostream>

#include "convolume/error.hpp"
#include "convolume/image_format.hpp"
#include "core/text.hpp"

namespace convolume::cli {

namespace fs = std::filesystem;

std::string folder_of(const std::string& path) {
    if (path.empty()) return {};
    const fs::path parent = fs::path(io::parse_path(path).file).parent_path();
    return parent.empty() ? "." : parent.string();
}

void check_output_path(const std::string& path, bool overwrite) {
    const std::string file = io::parse_path(path).file;
    std::error_code unreadable;  // if set, a check below fails, and access() gives the reason
    if (is_url(file)) return;    // its format checks it
    if (fs::is_directory(file, unreadable) && !is_image_folder(file))
        throw CannotCreate(
            message("cannot write \"", file, "\": it is a folder; name a file in it"));
    const std::string folder = folder_of(file);
    if (!fs::is_directory(folder, unreadable))
        throw CannotCreate(message("cannot write \"", file, "\": the folder \"", folder,
                                   "\" does not exist; create it first"));
    if (!overwrite && io::output_exists(path))
        throw OutputExists(sentence("\"", path, "\" exists already; give ", OptionName{"overwrite"},
                                    " to replace it"));
    if (access(folder.c_str(), W_OK | X_OK) != 0)
        throw CannotCreate(message("cannot write \"", file, "\": the folder \"", folder,
                                   "\" is not writable (", std::strerror(errno),
                                   "); choose another"));
}

void check_outputs(const RunFiles& files) {
    std::vector<std::string> seen;
    for (const std::string& path : files.outputs) {
        if (path.empty()) continue;
        const std::string output = io::parse_path(path).file;
        for (const std::string& input : files.inputs) check_not_input(path, input);
        for (const std::string& other : seen)
            if (is_same_file(other, output))
                throw InvalidArgument(message("two outputs would be the file \"", output,
                                              "\"; name another file for one of them"));
        check_output_path(path, files.overwrite);
        seen.push_back(output);
    }
}

void write_stdout(const std::string& text) {
    errno = 0;
    std::cout << text << std::flush;
    if (std::cout) return;
    if (errno == EPIPE) throw PipeClosed("the reader closed standard output");
    throw IoError(message("could not write to standard output (", std::strerror(errno),
                          "); free some space or write elsewhere"));
}

}  // namespace convolume::cli
