// SPDX-License-Identifier: Apache-2.0
#include "io/file_stack.hpp"

#include <glob.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <map>
#include <optional>
#include <regex>
#include <set>

#include "convolume/error.hpp"
#include "core/text.hpp"
#include "io/image_format.hpp"
#include "io/units.hpp"

namespace convolume::io {
namespace {

namespace fs = std::filesystem;

constexpr std::array<std::string_view, 3> fields{"{t}", "{c}", "{z}"};

/// Removes the digits at the beginning of `text`, and returns them without leading zeros.
std::string_view take_number(std::string_view& text) {
    const auto end = std::min(text.find_first_not_of("0123456789"), text.size());
    std::string_view digits = text.substr(0, end);
    text.remove_prefix(end);
    while (digits.size() > 1 && digits.front() == '0') digits.remove_prefix(1);
    return digits;
}

/// Compares names in their natural order, in which z2 comes before z10.
bool is_before(std::string_view a, std::string_view b) {
    while (!a.empty() && !b.empty()) {
        const std::string_view left = take_number(a), right = take_number(b);
        if (left.size() != right.size()) {
            if (left.empty()) return a.front() < '0';
            if (right.empty()) return b.front() >= '0';
            return left.size() < right.size();
        }
        if (left != right) return left < right;
        if (!left.empty() || a.empty() || b.empty()) continue;
        if (a.front() != b.front()) return a.front() < b.front();
        a.remove_prefix(1);
        b.remove_prefix(1);
    }
    return a.size() < b.size();
}

void sort_naturally(std::vector<std::string>& names) {
    std::sort(names.begin(), names.end());
    std::stable_sort(names.begin(), names.end(), is_before);
}

bool exists(const std::string& file) {
    std::error_code unreadable;
    return fs::exists(file, unreadable);
}

bool is_folder(const std::string& path) {
    std::error_code unreadable;
    return fs::is_directory(path, unreadable);
}

/// Returns the files that match a pattern of the shell, in their natural order.
std::vector<std::string> expand_pattern(const std::string& pattern, const std::string& named) {
    glob_t found{};
    const int error = glob(pattern.c_str(), GLOB_NOSORT, nullptr, &found);
    const std::unique_ptr<glob_t, void (*)(glob_t*)> freed(&found, globfree);
    if (error == GLOB_NOSPACE) throw OutOfMemory(message("no memory to expand \"", named, "\""));
    std::vector<std::string> files;
    for (std::size_t i = 0; error == 0 && i < found.gl_pathc; ++i)
        files.emplace_back(found.gl_pathv[i]);
    if (files.empty())
        throw InputNotFound(message("no file matches \"", named, "\"; correct the pattern"));
    sort_naturally(files);
    return files;
}

/// Returns the image files in a folder, in their natural order. Other files are ignored.
std::vector<std::string> files_in(const std::string& folder) {
    std::vector<std::string> files;
    std::set<std::string> extensions;
    for (const auto& entry : fs::directory_iterator(folder)) {
        const std::string extension = lower_case(entry.path().extension().string());
        const std::string name = entry.path().filename().string();
        if (name.starts_with('.') || !image_ending(name) || !entry.is_regular_file()) continue;
        files.push_back(entry.path().string());
        extensions.insert(extension);
    }
    if (files.empty())
        throw InputNotFound(message("the folder \"", folder,
                                    "\" has no image files (.tif, .npy, .h5, …); check the path"));
    if (extensions.size() > 1)
        throw InvalidArgument(message("the folder \"", folder, "\" has files that end in ",
                                      *extensions.begin(), " and in ", *extensions.rbegin(),
                                      "; name those of the stack by a pattern, such as \"",
                                      (fs::path(folder) / "*").string(), *extensions.begin(), '"'));
    sort_naturally(files);
    return files;
}

bool is_number(std::string_view text) {
    return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

/// Returns the first number that is missing in an ascending sequence of equal steps.
std::optional<index_t> first_missing(const std::vector<std::string>& ascending) {
    std::vector<index_t> numbers;
    for (const std::string& text : ascending) {
        const auto number = number_in<index_t>(text);
        if (!number) return std::nullopt;
        numbers.push_back(*number);
    }
    index_t step = 0;
    for (std::size_t i = 1; i < numbers.size(); ++i) {
        const index_t difference = numbers[i] - numbers[i - 1];
        if (step == 0 || difference < step) step = difference;
    }
    for (std::size_t i = 1; i < numbers.size(); ++i)
        if (numbers[i] - numbers[i - 1] != step) return numbers[i - 1] + step;
    return std::nullopt;
}

/// Notes a number that the names skip, if they are equal except for one number.
void note_skipped_number(const std::vector<std::string>& paths, std::vector<std::string>& notes) {
    const std::string& first = paths.front();
    std::size_t begin = first.size(), end = first.size();
    for (const std::string& path : paths) {
        const auto most = std::min(first.size(), path.size());
        std::size_t same = 0, same_end = 0;
        while (same < most && first[same] == path[same]) ++same;
        while (same_end < most &&
               first[first.size() - 1 - same_end] == path[path.size() - 1 - same_end])
            ++same_end;
        begin = std::min(begin, same);
        end = std::min(end, same_end);
    }
    // All digits of the number are compared, also those that are equal in all names.
    while (begin > 0 && is_number(first.substr(begin - 1, 1))) --begin;
    while (end > 0 && is_number(first.substr(first.size() - end, 1))) --end;
    std::vector<std::string> numbers;
    for (const std::string& path : paths)
        if (path.size() > begin + end)
            numbers.push_back(path.substr(begin, path.size() - begin - end));
    if (numbers.size() < paths.size()) return;
    if (const auto missing = first_missing(numbers))
        notes.push_back(
            message("the numbers in the names of the files skip ", *missing,
                    "; if that file is missing, the distances of the others are wrong"));
}

/// A template of names as a regular expression, and the group of each field in it.
struct NameTemplate {
    std::string expression;
    std::array<int, 3> groups{};  ///< number of the group of {t}, {c}, {z}; 0 for none
    std::string pattern;          ///< the template as a pattern of the shell
};

NameTemplate parse_template(const std::string& path) {
    NameTemplate parsed;
    int groups = 0;
    for (std::size_t at = 0; at < path.size();) {
        const auto field = std::find_if(fields.begin(), fields.end(), [&](std::string_view one) {
            return lower_case(path.substr(at, 3)) == one;
        });
        if (field != fields.end()) {
            int& group = parsed.groups[static_cast<std::size_t>(field - fields.begin())];
            if (group > 0) {  // the same text again
                parsed.expression += message("(?:\\", group, ')');
            } else {
                group = ++groups;
                parsed.expression += *field == "{c}" ? "([^/]+?)" : "([0-9]+)";
            }
            parsed.pattern += '*';
            at += 3;
            continue;
        }
        const auto bracket = path[at] == '[' ? path.find(']', at) : std::string::npos;
        if (bracket != std::string::npos) {  // the pattern of the shell is strict enough
            parsed.expression += "[^/]";
            parsed.pattern += path.substr(at, bracket + 1 - at);
            at = bracket + 1;
            continue;
        }
        const char letter = path[at++];
        parsed.pattern += letter;
        if (letter == '*')
            parsed.expression += "[^/]*";
        else if (letter == '?')
            parsed.expression += "[^/]";
        else if (std::string_view(".[]{}()+^$|\\").find(letter) != std::string_view::npos)
            parsed.expression += message('\\', letter);
        else
            parsed.expression += letter;
    }
    return parsed;
}

/// Returns the texts of a field, each once, in their natural order.
std::vector<std::string> sorted_texts(const std::set<std::string>& texts) {
    std::vector<std::string> sorted(texts.begin(), texts.end());
    sort_naturally(sorted);
    return sorted;
}

/// Orders files by the texts of their fields t, c, z.
FileStack arrange(const std::map<std::array<std::string, 3>, std::string>& files,
                  const std::string& path) {
    std::array<std::set<std::string>, 3> texts;
    for (const auto& [key, file] : files)
        for (std::size_t a = 0; a < 3; ++a) texts[a].insert(key[a]);
    std::array<std::vector<std::string>, 3> sorted;
    FileStack stack;
    for (std::size_t a = 0; a < 3; ++a) {
        sorted[a] = sorted_texts(texts[a]);
        if (fields[a] == "{c}") continue;
        if (const auto missing = first_missing(sorted[a]))
            stack.notes.push_back(message("the numbers in place of ", fields[a], " skip ", *missing,
                                          "; if these files are missing, the distances of the "
                                          "others are wrong"));
    }
    for (const std::string& t : sorted[0])
        for (const std::string& c : sorted[1])
            for (const std::string& z : sorted[2]) {
                const auto file = files.find({t, c, z});
                if (file == files.end()) {
                    std::string place;
                    for (const auto& [name, text] : {std::pair{"t ", t}, {"c ", c}, {"z ", z}})
                        if (!text.empty()) place += message(place.empty() ? "" : ", ", name, text);
                    throw BadData(message("no file that matches \"", path, "\" is ", place,
                                          ", which other files make part of the image; add it, or "
                                          "name fewer files"));
                }
                stack.paths.push_back(file->second);
            }
    stack.frames = static_cast<index_t>(sorted[0].size());
    stack.channels = static_cast<index_t>(sorted[1].size());
    stack.planes = static_cast<index_t>(sorted[2].size());
    if (!std::all_of(sorted[1].begin(), sorted[1].end(),
                     [](const std::string& text) { return text.empty() || is_number(text); }))
        stack.channel_names = sorted[1];
    return stack;
}

FileStack find_by_template(const std::string& path) {
    const PathSpec spec = parse_path(path);
    const NameTemplate name = parse_template(spec.file);
    const std::regex expression(name.expression);
    std::map<std::array<std::string, 3>, std::string> files;
    for (const std::string& file : expand_pattern(name.pattern, path)) {
        std::smatch match;
        if (!std::regex_match(file, match, expression)) continue;
        std::array<std::string, 3> key;
        for (std::size_t a = 0; a < 3; ++a) {
            if (name.groups[a] == 0) continue;
            key[a] = match[static_cast<std::size_t>(name.groups[a])].str();
            std::string_view rest = key[a];
            const std::string number(take_number(rest));
            if (rest.empty()) key[a] = number;
        }
        const std::string full = spec.dataset.empty() ? file : file + ':' + spec.dataset;
        const auto [other, is_new] = files.emplace(key, full);
        if (!is_new)
            throw InvalidArgument(message("\"", other->second, "\" and \"", full,
                                          "\" have the same place in the stack; make the template "
                                          "\"",
                                          path, "\" match one of them only"));
    }
    if (files.empty())
        throw InputNotFound(message("no file matches \"", path,
                                    "\", with a number in place of {t} and {z}; correct the "
                                    "template"));
    return arrange(files, path);
}

}  // namespace

bool is_name_template(const std::string& path) {
    const std::string file = parse_path(path).file;
    const std::string lower = lower_case(file);
    return std::any_of(
               fields.begin(), fields.end(),
               [&](std::string_view field) { return lower.find(field) != std::string::npos; }) &&
           !exists(file);
}

std::vector<std::string> matching_files(const std::string& pattern) {
    const PathSpec spec = parse_path(pattern);
    if (spec.file.find_first_of("*?[") == std::string::npos || exists(spec.file)) return {pattern};
    std::vector<std::string> files = expand_pattern(spec.file, pattern);
    for (std::string& file : files)
        if (!spec.dataset.empty()) file += ':' + spec.dataset;
    return files;
}

std::vector<std::string> image_files(const std::string& path, const OpenOptions& options) {
    if (is_file_stack(path, options)) return find_file_stack(path, options).paths;
    return {path};
}

bool is_file_stack(const std::string& path, const OpenOptions& options) {
    return !options.stack.empty() || !options.stack_files.empty() || is_name_template(path);
}

FileStack find_file_stack(const std::string& path, const OpenOptions& options) {
    if (is_name_template(path)) {
        if (!options.stack.empty())
            throw InvalidArgument(sentence("the template \"", path,
                                           "\" says what its files are; "
                                           "leave out ",
                                           OptionName{"stack"}, ", or write * for its fields"));
        return find_by_template(path);
    }
    const std::string axis = upper_case(options.stack);
    if (axis != "T" && axis != "C" && axis != "Z")
        throw InvalidArgument(sentence(OptionName{"stack"}, " is t, c or z, not \"", options.stack,
                                       "\"; for several axes give a template of the names, such as "
                                       "img_t{t}_c{c}_z{z}.tif"));
    FileStack stack;
    if (!options.stack_files.empty()) {
        for (const std::string& file : options.stack_files)
            for (std::string& one : is_folder(file) ? files_in(file) : matching_files(file))
                stack.paths.push_back(std::move(one));
    } else {
        stack.paths = is_folder(path) ? files_in(path) : matching_files(path);
        note_skipped_number(stack.paths, stack.notes);
    }
    const auto count = static_cast<index_t>(stack.paths.size());
    (axis == "T" ? stack.frames : axis == "C" ? stack.channels : stack.planes) = count;
    return stack;
}

}  // namespace convolume::io
