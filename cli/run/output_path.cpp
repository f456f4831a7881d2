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

namespace {

bool is_same_file(const std::string& a, const std::string& b) {
    std::error_code missing;
    if (fs::equivalent(a, b, missing)) return true;
    // Files that do not exist yet have only names to compare.
    return !a.empty() && !b.empty() && canonical_path(a) == canonical_path(b);
}

/// Returns the components of a dataset's name: for HDF5, "//a/./b/" is "/a/b".
std::vector<std::string> dataset_parts(const std::string& name) {
    std::vector<std::string> parts = pieces_of(name, '/');
    std::erase_if(parts, [](const std::string& part) { return part.empty() || part == "."; });
    return parts;
}

bool lies_in(const std::string& path, const std::string& folder) {
    return path.size() > folder.size() && path.starts_with(folder) && path[folder.size()] == '/';
}

/// Throws InvalidArgument if output or input is a folder that contains the other one.
void check_not_nested(const std::string& output, const std::string& input) {
    const std::string to = canonical_path(output), from = canonical_path(input);
    if (lies_in(from, to) && is_image_folder(output))
        throw InvalidArgument(message("the output \"", output, "\" contains the input \"", input,
                                      "\"; name another file"));
    if (lies_in(to, from) && is_image_folder(input))
        throw InvalidArgument(message("the output \"", output, "\" lies inside the input \"", input,
                                      "\"; name another file"));
}

/// Throws InvalidArgument if the output would overwrite the input. The output may be another
/// dataset of the same file. The rest of the file is then kept, in a copy that replaces the file at
/// the end.
void check_not_input(const io::PathSpec& output, const io::PathSpec& input) {
    check_not_nested(output.file, input.file);
    if (!is_same_file(input.file, output.file)) return;
    if (output.dataset.empty())
        throw InvalidArgument(
            message("the output \"", output.file, "\" is one of the inputs; name another file"));
    if (input.dataset.empty())
        throw InvalidArgument(message("the output goes into the input \"", output.file,
                                      "\", but the input's dataset is not named; give it as ",
                                      input.file, ":/NAME, or name another file for the output"));
    if (dataset_parts(output.dataset) == dataset_parts(input.dataset))
        throw InvalidArgument(message("the output \"", output.file, ":", output.dataset,
                                      "\" is one of the inputs; name another dataset or file"));
}

}  // namespace

bool is_url(const std::string& path) {
    return path.find("://") != std::string::npos;
}

bool is_image_folder(const std::string& path) {
    std::error_code unreadable;
    if (!fs::is_directory(path, unreadable)) return false;
    const std::vector<io::ImageFormat> formats = io::image_formats();
    return std::any_of(formats.begin(), formats.end(), [&](const io::ImageFormat& format) {
        return format.recognizes && format.recognizes(path, {});
    });
}

std::string canonical_path(const std::string& file) {
    std::error_code unreadable;
    std::string path = fs::weakly_canonical(fs::absolute(file, unreadable), unreadable).string();
    while (path.size() > 1 && path.ends_with('/')) path.pop_back();
    return path;
}

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
        const io::PathSpec spec = io::parse_path(path);
        const std::string& output = spec.file;
        for (const std::string& input : files.inputs) check_not_input(spec, io::parse_path(input));
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
