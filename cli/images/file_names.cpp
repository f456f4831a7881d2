// SPDX-License-Identifier: Apache-2.0
#include "cli/images/file_names.hpp"

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <string_view>

#include "cli/run/output_path.hpp"
#include "convolume/error.hpp"
#include "convolume/image_format.hpp"

namespace convolume::cli {

namespace {

namespace fs = std::filesystem;

constexpr std::string_view utf8_mark = "\xEF\xBB\xBF";

std::string_view without_blanks(std::string_view line) {
    constexpr const char* blanks = " \t";
    const auto begin = line.find_first_not_of(blanks);
    if (begin == std::string_view::npos) return {};
    return line.substr(begin, line.find_last_not_of(blanks) + 1 - begin);
}

/// Removes the quotes around a path, unless there is a file with them in its name.
std::string_view unquoted(std::string_view path) {
    const bool quoted = path.size() > 2 && path.front() == path.back() &&
                        (path.front() == '"' || path.front() == '\'');
    std::error_code unreadable;
    if (!quoted || fs::exists(path, unreadable)) return path;
    return path.substr(1, path.size() - 2);
}

void add_path(std::string_view line, std::vector<std::string>& paths) {
    line = without_blanks(line);
    if (!line.empty() && line.front() != '#') paths.emplace_back(unquoted(line));
}

[[noreturn]] void refuse_encoding(const std::string& name) {
    throw BadData(message("the list \"", name,
                          "\" is not text in UTF-8 (as UTF-16 is not); save it as UTF-8, one path "
                          "a line"));
}

std::vector<std::string> paths_of(std::istream& lines, const std::string& name) {
    std::vector<std::string> paths;
    bool first = true;
    for (std::string line; std::getline(lines, line); first = false) {
        std::string_view text = line;
        if (first && text.starts_with(utf8_mark)) text.remove_prefix(utf8_mark.size());
        const bool utf16 = first && (text.starts_with("\xFF\xFE") || text.starts_with("\xFE\xFF"));
        if (utf16 || text.find('\0') != std::string_view::npos) refuse_encoding(name);
        // Windows ends lines by "\r\n", old programs of the Mac by "\r".
        for (auto end = text.find('\r'); end != std::string_view::npos; end = text.find('\r')) {
            add_path(text.substr(0, end), paths);
            text.remove_prefix(end + 1);
        }
        add_path(text, paths);
    }
    if (lines.bad())
        throw IoError(message("reading the list \"", name, "\" failed (", std::strerror(errno),
                              "); check the disk it is on"));
    return paths;
}

struct OutputNameFields {
    std::string name;
    std::string stem;
    std::string extension;  ///< extension of the result, if the pattern has none
    std::string dataset;
};

OutputNameFields fields_of(const std::string& image) {
    const io::PathSpec spec = io::parse_path(image);
    OutputNameFields fields;
    fields.name = std::filesystem::path(spec.file).filename().string();
    if (io::is_name_template(spec.file))
        for (const char* field : {"{t}", "{c}", "{z}"})
            if (const auto at = fields.name.find(field); at != std::string::npos)
                fields.name.erase(at, 3);
    fields.dataset = spec.dataset;
    fields.dataset.erase(0, fields.dataset.find_first_not_of('/'));
    std::replace(fields.dataset.begin(), fields.dataset.end(), '/', '_');
    const auto ending = io::image_ending(fields.name);
    fields.stem = ending ? fields.name.substr(0, fields.name.size() - ending->size)
                         : std::filesystem::path(fields.name).stem().string();
    if (ending) fields.extension = ending->output;
    if (fields.extension.empty()) fields.extension = fields.dataset.empty() ? ".tif" : ".h5";
    return fields;
}

/// Returns `pattern` with every {field} replaced by value(field).
template <class Value>
std::string fill_pattern(std::string_view pattern, const Value& value) {
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

/// Whether the files that a pattern names have an extension: that of a format, or letters after a
/// dot, which may be meant as one.
bool has_extension(std::string_view pattern) {
    const std::string file = io::parse_path(std::string(pattern)).file;
    if (file.ends_with("{name}")) return true;
    if (io::image_ending(file)) return true;
    const auto dot = file.find_last_of("./}");
    const auto is_letter = [](unsigned char c) { return std::isalpha(c) != 0; };
    return dot != std::string::npos && file[dot] == '.' && dot + 1 < file.size() &&
           std::all_of(file.begin() + static_cast<std::ptrdiff_t>(dot) + 1, file.end(), is_letter);
}

}  // namespace

bool is_pattern(const std::string& path) {
    const std::string file = io::parse_path(path).file;
    std::error_code unreadable;
    return file.find_first_of("*?[") != std::string::npos && !fs::exists(file, unreadable) &&
           !io::is_name_template(path);
}

std::vector<std::string> read_file_list(const std::string& path) {
    if (path == "-") return paths_of(std::cin, "standard input");
    std::error_code unreadable;
    if (fs::is_directory(path, unreadable))
        throw InvalidArgument(message("--list names the folder \"", path,
                                      "\"; give a file of one path a line, or a pattern such as \"",
                                      (fs::path(path) / "*.tif").string(), "\" as the image"));
    std::ifstream lines(path, std::ios::binary);
    if (!lines)
        throw InputNotFound(message("cannot open the list \"", path, "\" (", std::strerror(errno),
                                    "); check its path"));
    return paths_of(lines, path);
}

void check_kernel_path(const std::string& path) {
    std::error_code unreadable;
    if (is_pattern(path))
        throw InvalidArgument(message("the kernel \"", path,
                                      "\" is a pattern; name one file, which is the last argument "
                                      "after the images"));
    if (fs::is_directory(path, unreadable) && !is_image_folder(path))
        throw InvalidArgument(message("the kernel \"", path, "\" is a folder; name a file in it"));
}

std::string output_name(std::string_view pattern, const NumberedImage& file) {
    const OutputNameFields fields = fields_of(file.image);
    std::string index = std::to_string(file.index);
    index.insert(0, std::to_string(file.count - 1).size() - index.size(), '0');
    return fill_pattern(pattern,
                        [&](std::string_view field) {
                            if (field == "stem") return fields.stem;
                            if (field == "name") return fields.name;
                            if (field == "index") return index;
                            return fields.dataset;
                        }) +
           (has_extension(pattern) ? "" : fields.extension);
}

std::string marked_name(const std::string& path, std::string_view mark) {
    const io::PathSpec spec = io::parse_path(path);
    const std::string_view dataset = std::string_view(path).substr(spec.file.size());
    const auto ending = io::image_ending(spec.file);
    const std::size_t stem = spec.file.size() - (ending ? ending->size : 0);
    return message(spec.file.substr(0, stem), mark, spec.file.substr(stem), dataset);
}

std::string parse_output_name(std::string_view option, const std::string& text) {
    constexpr const char* cure = "the fields are {stem}, {name}, {index} and {dataset}";
    if (text.empty()) throw InvalidArgument(message(option, " is empty; ", cure));
    const std::string rest = fill_pattern(text, [&](std::string_view field) {
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
