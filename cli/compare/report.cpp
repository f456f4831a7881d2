// SPDX-License-Identifier: Apache-2.0
#include "cli/compare/report.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <utility>

#include "cli/files/metadata_json.hpp"
#include "convolume/error.hpp"
#include "convolume/image_file.hpp"

namespace convolume::cli {

namespace fs = std::filesystem;

namespace {

/// JSON whose comparison, unlike that of ordered_json, ignores the order of names.
using UnorderedJson = nlohmann::json;

/// Returns the path of the first name whose values differ, such as "options, methods".
std::string difference(const UnorderedJson& a, const UnorderedJson& b) {
    for (const UnorderedJson* json : {&a, &b})
        for (const auto& [name, unused] : json->items()) {
            const UnorderedJson value_a = a.value(name, UnorderedJson());
            const UnorderedJson value_b = b.value(name, UnorderedJson());
            if (value_a == value_b) continue;
            if (value_a.is_object() && value_b.is_object())
                return name + ", " + difference(value_a, value_b);
            return name;
        }
    return {};
}

constexpr const char* page_title = "Comparison by convolume";

std::string markdown_cell(const std::string& text) {
    std::string cell;
    for (const char c : text) {
        if (c == '|' || c == '*') cell += '\\';
        cell += c == '\n' ? ' ' : c;
    }
    return cell;
}

std::string markdown_table(const Table& table) {
    std::string text;
    const auto add = [&text](const std::vector<std::string>& row) {
        for (const std::string& cell : row) text += "| " + markdown_cell(cell) + ' ';
        text += "|\n";
    };
    add(table.header);
    for (std::size_t i = 0; i < table.header.size(); ++i) text += "|---";
    text += "|\n";
    for (const auto& row : table.rows) add(row);
    if (!table.note.empty()) text += '\n' + markdown_cell(table.note) + '\n';
    return text + '\n';
}

/// Returns the sentences with which the page begins: what was compared and how.
std::vector<std::string> introduction(const Comparison& comparison) {
    std::vector<std::string> lines{message(
        "A way is one combination of device, method, precision and the other lists that were "
        "named. Every way solves the same problems, from memory to memory, in turns: each way "
        "once, then each way again, ",
        comparison.repeats, comparison.repeats == 1 ? " turn in all. " : " turns in all. ",
        "A turn makes the plan, executes it once without measuring, and executes it again. "
        "Times are medians of the last; the spread is (slowest − fastest) / median.")};
    if (!comparison.finished)
        lines.push_back("This comparison was interrupted: what follows is what was finished.");
    return lines;
}

}  // namespace

ReportFolder::ReportFolder(std::string path, bool overwrite, bool resume)
    : path_(std::move(path)), resume_(resume) {
    while (path_.size() > 1 && path_.ends_with('/')) path_.pop_back();
    std::error_code error;
    const bool exists = fs::exists(path_, error);
    if (exists && !fs::is_directory(path_, error))
        throw CannotCreate(
            message("cannot write a report to \"", path_, "\": it is a file; name a folder"));
    if (exists && !overwrite && !resume)
        throw OutputExists(sentence("\"", path_, "\" exists already; give ",
                                    OptionName{"overwrite"},
                                    " to replace the report in it, or --resume to go on with it"));
    const fs::path parent = fs::path(path_).parent_path();
    if (!exists && !parent.empty() && !fs::is_directory(parent, error))
        throw CannotCreate(message("cannot write a report to \"", path_, "\": the folder \"",
                                   parent.string(), "\" does not exist; create it first"));
}

std::optional<Comparison> ReportFolder::comparison_to_resume(
    const nlohmann::ordered_json& identity) const {
    std::error_code error;
    if (!resume_ || !fs::exists(path_, error)) return std::nullopt;
    std::ifstream in(file("report.json"), std::ios::binary);
    if (!in)
        throw InputNotFound(message("\"", path_,
                                    "\" has no report.json to go on with; give "
                                    "--overwrite to start anew"));
    const std::string text(std::istreambuf_iterator<char>(in), {});
    Comparison comparison = comparison_of(text, file("report.json"));
    const std::string differs =
        difference(UnorderedJson(comparison.identity), UnorderedJson(identity));
    if (!differs.empty())
        throw InvalidArgument(message("the comparison in \"", path_, "\" is another one (", differs,
                                      "); repeat its options, or give --overwrite to start anew"));
    comparison.finished = false;
    return comparison;
}

void ReportFolder::save_data(const Comparison& comparison) const {
    std::error_code error;
    fs::create_directory(path_, error);
    if (error)
        throw CannotCreate(message("cannot create the folder \"", path_, "\" (", error.message(),
                                   "); choose another"));
    io::write_whole_file(file("report.json"), dump(to_json(comparison)));
}

void ReportFolder::save_all(const Comparison& comparison) const {
    save_data(comparison);
    io::write_whole_file(file("report.md"), markdown_page(comparison));
}

std::string markdown_page(const Comparison& comparison) {
    std::string text = message("# ", page_title, "\n\n");
    for (const std::string& line : introduction(comparison)) text += line + "\n\n";
    for (const ComparedProblem& problem : comparison.problems) {
        text += message("## ", markdown_cell(problem.name), "\n\n");
        for (const Table& table : tables_of(problem, comparison.unit, comparison.repeats))
            text += message("### ", table.title, "\n\n", markdown_table(table));
    }
    text += "## Machine\n\n" + markdown_table(machine_table(comparison));
    text.pop_back();
    return text;
}

}  // namespace convolume::cli
