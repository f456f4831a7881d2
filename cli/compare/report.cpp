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

/// Number of pixels for each unit of a chart in a PNG file.
constexpr double chart_scale = 2;

std::string escaped_xml(std::string_view text) {
    std::string escaped;
    for (const char c : text) switch (c) {
            case '&':
                escaped += "&amp;";
                break;
            case '<':
                escaped += "&lt;";
                break;
            case '>':
                escaped += "&gt;";
                break;
            case '"':
                escaped += "&quot;";
                break;
            default:
                escaped += c;
        }
    return escaped;
}

/// Returns an <img> element that holds the chart as SVG. As a document of its own, its names cannot
/// be those of another chart.
std::string html_image(const NamedDrawing& chart) {
    constexpr const char* digits = "0123456789ABCDEF";
    std::string text =
        message("<img alt=\"", escaped_xml(chart.title), "\" src=\"data:image/svg+xml,");
    for (const char c : chart.drawing.svg()) {
        if (std::string_view("%#<>\"\n").find(c) == std::string_view::npos)
            text += c;
        else
            text += {'%', digits[static_cast<unsigned char>(c) / 16],
                     digits[static_cast<unsigned char>(c) % 16]};
    }
    return text + "\">";
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

std::string html_table(const Table& table) {
    std::string text = table.is_text ? "<table class=\"text\">\n" : "<table>\n";
    const auto add = [&text](const std::vector<std::string>& row, const char* tag) {
        text += "<tr>";
        for (const std::string& cell : row)
            text += message('<', tag, '>', escaped_xml(cell), "</", tag, '>');
        text += "</tr>\n";
    };
    const bool named = std::any_of(table.header.begin(), table.header.end(),
                                   [](const std::string& cell) { return !cell.empty(); });
    if (named) add(table.header, "th");
    for (const auto& row : table.rows) add(row, "td");
    text += "</table>\n";
    if (!table.note.empty()) text += "<p class=\"note\">" + escaped_xml(table.note) + "</p>\n";
    return text;
}

// Style sheet of the HTML page: wide tables scroll by themselves, and figures are right-aligned.
constexpr const char* page_style =
    "body{font-family:sans-serif;max-width:70em;margin:2em auto;padding:0 1em;color:#222;"
    "background:#fff}\n"
    "table{border-collapse:collapse;font-size:.85em;display:block;overflow-x:auto}\n"
    "th,td{padding:.25em .7em;border-bottom:1px solid #ddd;text-align:right;white-space:nowrap}\n"
    "th:first-child,td:first-child,table.text td{text-align:left}\n"
    ".text td{white-space:normal}\n"
    ".note{font-size:.85em;color:#555}\n"
    "img{max-width:100%;height:auto}\n";

/// Returns the sentences with which both pages begin: what was compared and how.
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
    const std::vector<NamedDrawing> charts = charts_of(comparison);
    for (const NamedDrawing& chart : charts)
        io::write_whole_file(file(chart.name + ".png"), chart.drawing.png(chart_scale));
    // Remove charts of a replaced report that the new one does not have.
    for (const char* name : {"time", "rate", "error", "phases"}) {
        bool drawn = false;
        for (const NamedDrawing& chart : charts) drawn = drawn || chart.name == name;
        std::error_code none;
        if (!drawn) fs::remove(file(std::string(name) + ".png"), none);
    }
    io::write_whole_file(file("report.md"), markdown_page(comparison, charts));
    io::write_whole_file(file("report.html"), html_page(comparison, charts));
}

std::string markdown_page(const Comparison& comparison, const std::vector<NamedDrawing>& charts) {
    std::string text = message("# ", page_title, "\n\n");
    for (const std::string& line : introduction(comparison)) text += line + "\n\n";
    for (const NamedDrawing& chart : charts)
        text += message("![", markdown_cell(chart.title), "](", chart.name, ".png)\n\n");
    for (const ComparedProblem& problem : comparison.problems) {
        text += message("## ", markdown_cell(problem.name), "\n\n");
        for (const Table& table : tables_of(problem, comparison.unit, comparison.repeats))
            text += message("### ", table.title, "\n\n", markdown_table(table));
    }
    text += "## Machine\n\n" + markdown_table(machine_table(comparison));
    text.pop_back();
    return text;
}

std::string html_page(const Comparison& comparison, const std::vector<NamedDrawing>& charts) {
    std::string text = message(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">"
        "\n<title>",
        page_title, "</title>\n<style>\n", page_style, "</style>\n</head>\n<body>\n<h1>",
        page_title, "</h1>\n");
    for (const std::string& line : introduction(comparison))
        text += "<p>" + escaped_xml(line) + "</p>\n";
    for (const NamedDrawing& chart : charts) text += "<p>" + html_image(chart) + "</p>\n";
    for (const ComparedProblem& problem : comparison.problems) {
        text += message("<h2>", escaped_xml(problem.name), "</h2>\n");
        for (const Table& table : tables_of(problem, comparison.unit, comparison.repeats))
            text += message("<h3>", escaped_xml(table.title), "</h3>\n", html_table(table));
    }
    text += "<h2>Machine</h2>\n" + html_table(machine_table(comparison));
    return text + "</body>\n</html>\n";
}

}  // namespace convolume::cli
