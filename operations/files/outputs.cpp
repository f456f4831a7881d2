// SPDX-License-Identifier: Apache-2.0
#include "operations/files/outputs.hpp"

#include <algorithm>
#include <filesystem>
#include <string_view>
#include <vector>

#include "convolume/error.hpp"
#include "convolume/image_file.hpp"
#include "convolume/image_format.hpp"
#include "core/text.hpp"

namespace convolume {

namespace fs = std::filesystem;

namespace {

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
void check_not_nested(const std::string& output, const std::string& input,
                      const IsImage& is_image) {
    const std::string to = canonical_path(output), from = canonical_path(input);
    if (lies_in(from, to) && is_image(output))
        throw InvalidArgument(message("the output \"", output, "\" contains the input \"", input,
                                      "\"; name another file"));
    if (lies_in(to, from) && is_image(input))
        throw InvalidArgument(message("the output \"", output, "\" lies inside the input \"", input,
                                      "\"; name another file"));
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
    constexpr std::string_view scheme = "file://";
    std::error_code unreadable;
    const fs::path given = file.starts_with(scheme) ? file.substr(scheme.size()) : file;
    std::string path = fs::weakly_canonical(fs::absolute(given, unreadable), unreadable).string();
    while (path.size() > 1 && path.ends_with('/')) path.pop_back();
    return path;
}

bool is_same_file(const std::string& a, const std::string& b) {
    std::error_code missing;
    if (fs::equivalent(a, b, missing)) return true;
    // Files that do not exist yet have only names to compare.
    return !a.empty() && !b.empty() && canonical_path(a) == canonical_path(b);
}

void check_not_input(const std::string& output_path, const std::string& input_path,
                     const IsImage& is_image) {
    const io::PathSpec output = io::parse_path(output_path), input = io::parse_path(input_path);
    check_not_nested(output.file, input.file, is_image);
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

}  // namespace convolume
