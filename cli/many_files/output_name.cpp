// SPDX-License-Identifier: Apache-2.0
#include "cli/many_files/output_name.hpp"

#include <algorithm>
#include <array>
#include <filesystem>

#include "convolume/error.hpp"
#include "convolume/image_file.hpp"

namespace convolume::cli {

namespace {

/// What io::create_image() takes; the longest that fits a name is its extension.
constexpr std::array<std::string_view, 13> extensions{
    ".ome.tiff", ".ome.tif", ".ome.tf2", ".ome.tf8", ".ome.btf", ".tiff", ".tif",
    ".tf2",      ".tf8",     ".btf",     ".hdf5",    ".h5",      ".npy"};

struct NameParts {
    std::string name;
    std::string stem;
    std::string extension;  ///< of the result
    std::string dataset;
};

NameParts parts_of(const std::string& image) {
    const io::PathSpec spec = io::parse_path(image);
    NameParts parts;
    parts.name = std::filesystem::path(spec.file).filename().string();
    parts.dataset = spec.dataset;
    parts.dataset.erase(0, parts.dataset.find_first_not_of('/'));
    std::replace(parts.dataset.begin(), parts.dataset.end(), '/', '_');
    for (const std::string_view extension : extensions)
        if (parts.name.size() > extension.size() && parts.name.ends_with(extension)) {
            parts.stem = parts.name.substr(0, parts.name.size() - extension.size());
            parts.extension = extension;
            return parts;
        }
    const std::filesystem::path name(parts.name);
    const std::string found = name.extension().string();
    parts.stem = name.stem().string();
    const bool hdf5 = !parts.dataset.empty() || found == ".ims" || found == ".hdf";
    parts.extension = hdf5 ? ".h5" : ".tif";
    return parts;
}

/// `pattern` with every {field} replaced by `value(field)`.
template <class Value>
std::string filled(std::string_view pattern, const Value& value) {
    std::string text;
    while (true) {
        const auto open = pattern.find('{');
        const auto close = pattern.find('}', open);
        text += pattern.substr(0, open);
        if (close == std::string_view::npos) break;
        text += value(pattern.substr(open + 1, close - open - 1));
        pattern.remove_prefix(close + 1);
    }
    return text;
}

}  // namespace

std::string output_name(std::string_view pattern, const NamedFile& file) {
    const NameParts parts = parts_of(file.image);
    std::string index = std::to_string(file.index);
    index.insert(0, std::to_string(file.count - 1).size() - index.size(), '0');
    const std::string fixed = filled(pattern, [](std::string_view) { return ""; });
    const bool extended = fixed.find('.') != std::string::npos || pattern.ends_with("{name}");
    return filled(pattern,
                  [&](std::string_view field) {
                      if (field == "stem") return parts.stem;
                      if (field == "name") return parts.name;
                      if (field == "index") return index;
                      return parts.dataset;
                  }) +
           (extended ? "" : parts.extension);
}

std::string marked_name(const std::string& path, std::string_view mark) {
    const io::PathSpec spec = io::parse_path(path);
    const std::string_view dataset = std::string_view(path).substr(spec.file.size());
    std::string_view extension;
    for (const std::string_view known : extensions)
        if (extension.empty() && spec.file.ends_with(known)) extension = known;
    return message(spec.file.substr(0, spec.file.size() - extension.size()), mark, extension,
                   dataset);
}

std::string parse_output_name(std::string_view option, const std::string& text) {
    constexpr const char* cure = "the fields are {stem}, {name}, {index} and {dataset}";
    if (text.empty()) throw InvalidArgument(message(option, " is empty; ", cure));
    const std::string rest = filled(text, [&](std::string_view field) {
        for (const char* known : {"stem", "name", "index", "dataset"})
            if (field == known) return "";
        throw InvalidArgument(
            message(option, " is \"", text, "\", but {", field, "} is not a field; ", cure));
    });
    if (rest.find_first_of("{}") != std::string::npos ||
        std::count(text.begin(), text.end(), '{') != std::count(text.begin(), text.end(), '}'))
        throw InvalidArgument(
            message(option, " is \"", text, "\", where a brace lacks its partner; ", cure));
    return text;
}

}  // namespace convolume::cli
