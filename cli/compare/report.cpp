// SPDX-License-Identifier: Apache-2.0
#include "cli/compare/report.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <utility>

#include "cli/compare/measurement.hpp"
#include "cli/run/report.hpp"
#include "convolume/error.hpp"
#include "convolume/image_file.hpp"

namespace convolume::cli {

namespace fs = std::filesystem;

namespace {

using Json = nlohmann::ordered_json;

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
std::string introduction(const Json& report) {
    const int repeats = report.at("repeats");
    std::string text = message(
        "# Comparison by convolume\n\nA way is one combination of device, method, precision and "
        "the "
        "other lists that were named. Every way solves the same problems, from memory to memory, "
        "in turns: each way once, then each way again, ",
        repeats, repeats == 1 ? " turn in all. " : " turns in all. ",
        "A turn makes the plan, executes it once without measuring, and executes it again. Times "
        "are medians of the last; the spread is (slowest − fastest) / median.\n\n");
    if (!report.at("finished").get<bool>())
        text += "This comparison was interrupted: what follows is what was finished.\n\n";
    return text;
}

}  // namespace

bool has_measurements(const Json& report) {
    const Json& problems = report.at("problems");
    return std::any_of(problems.begin(), problems.end(),
                       [](const Json& problem) { return !problem.at("ways").empty(); });
}

int finished_ways(const Json& report) {
    int count = 0;
    for (const Json& problem : report.at("problems"))
        for (const Json& way : problem.at("ways")) count += way.at("finished").get<bool>();
    return count;
}

std::string markdown_page(const Json& report) {
    std::string text = introduction(report);
    for (const Json& problem : report.at("problems")) {
        text += message("## ", markdown_cell(problem.at("name")), "\n\n");
        for (const Table& table : tables_of(report, problem))
            text += message("### ", table.title, "\n\n", markdown_table(table));
    }
    text += "## Machine\n\n" + markdown_table(machine_table(report));
    text.pop_back();
    return text;
}

Json parse_report(const std::string& text, const std::string& file) {
    try {
        Json report = Json::parse(text);
        if (report.at("format") != comparison_format || !report.at("identity").is_object())
            throw BadData(message('"', file, "\" has another format"));
        // Edited turns change medians. Reading all figures finds those that are damaged.
        for (Json& problem : report.at("problems"))
            for (Json& way : problem.at("ways"))
                summarize(way, problem.at("work"), report.at("repeats"));
        static_cast<void>(markdown_page(report));
        return report;
    } catch (const Json::exception&) {
        throw BadData(message("\"", file,
                              "\" is not a report of convolume compare, or is damaged; "
                              "give --overwrite to start anew"));
    }
}

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

std::optional<Json> ReportFolder::report_to_resume(const Json& identity) const {
    std::error_code error;
    if (!resume_ || !fs::exists(path_, error)) return std::nullopt;
    std::ifstream in(file("report.json"), std::ios::binary);
    if (!in)
        throw InputNotFound(message("\"", path_,
                                    "\" has no report.json to go on with; give "
                                    "--overwrite to start anew"));
    Json report =
        parse_report(std::string(std::istreambuf_iterator<char>(in), {}), file("report.json"));
    const std::string differs =
        difference(UnorderedJson(report.at("identity")), UnorderedJson(identity));
    if (!differs.empty())
        throw InvalidArgument(message("the comparison in \"", path_, "\" is another one (", differs,
                                      "); repeat its options, or give --overwrite to start anew"));
    report["finished"] = false;
    return report;
}

void ReportFolder::save_data(const Json& report) const {
    std::error_code error;
    fs::create_directory(path_, error);
    if (error)
        throw CannotCreate(message("cannot create the folder \"", path_, "\" (", error.message(),
                                   "); choose another"));
    io::write_whole_file(file("report.json"), dump(report));
}

void ReportFolder::save_all(const Json& report) const {
    save_data(report);
    io::write_whole_file(file("report.md"), markdown_page(report));
}

}  // namespace convolume::cli
