// SPDX-License-Identifier: Apache-2.0
#include "cli/compare/report_pages.hpp"

#include <algorithm>

#include "cli/compare/table.hpp"
#include "convolume/error.hpp"

namespace convolume::cli {

namespace {

constexpr const char* title = "Comparison by convolume";

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
    std::string text = table.words ? "<table class=\"text\">\n" : "<table>\n";
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

// Wide tables scroll by themselves; figures stand under each other.
constexpr const char* page_style =
    "body{font-family:sans-serif;max-width:70em;margin:2em auto;padding:0 1em;color:#222;"
    "background:#fff}\n"
    "table{border-collapse:collapse;font-size:.85em;display:block;overflow-x:auto}\n"
    "th,td{padding:.25em .7em;border-bottom:1px solid #ddd;text-align:right;white-space:nowrap}\n"
    "th:first-child,td:first-child,table.text td{text-align:left}\n"
    ".text td{white-space:normal}\n"
    ".note{font-size:.85em;color:#555}\n"
    "svg{max-width:100%;height:auto}\n";

}  // namespace

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

std::string markdown_page(const Comparison& comparison, const std::vector<NamedDrawing>& charts) {
    std::string text = message("# ", title, "\n\n");
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
        title, "</title>\n<style>\n", page_style, "</style>\n</head>\n<body>\n<h1>", title,
        "</h1>\n");
    for (const std::string& line : introduction(comparison))
        text += "<p>" + escaped_xml(line) + "</p>\n";
    for (const NamedDrawing& chart : charts) text += "<p>" + chart.drawing.svg + "</p>\n";
    for (const ComparedProblem& problem : comparison.problems) {
        text += message("<h2>", escaped_xml(problem.name), "</h2>\n");
        for (const Table& table : tables_of(problem, comparison.unit, comparison.repeats))
            text += message("<h3>", escaped_xml(table.title), "</h3>\n", html_table(table));
    }
    text += "<h2>Machine</h2>\n" + html_table(machine_table(comparison));
    return text + "</body>\n</html>\n";
}

}  // namespace convolume::cli
