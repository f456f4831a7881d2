// SPDX-License-Identifier: Apache-2.0
// The tables of a report of `convolume compare`, as columns of the figures in report.json.

#include <algorithm>
#include <cmath>
#include <functional>

#include "cli/compare/report.hpp"
#include "cli/doctor/machine.hpp"
#include "cli/text/quantity.hpp"
#include "convolume/error.hpp"
#include "convolume/options.hpp"

namespace convolume::cli {

namespace {

using Json = nlohmann::ordered_json;

constexpr const char* unknown = "–";

/// A column of a table: its title, and the text of its cell for the figures of a way.
struct Column {
    std::string title;
    std::function<std::string(const Json& way)> cell;

    Column(std::string column_title, std::function<std::string(const Json& way)> cell_of)
        : title(std::move(column_title)), cell(std::move(cell_of)) {}
    /// A column of the figure at a JSON pointer. Null figures are unknown.
    Column(std::string column_title, const char* figure, std::string (*text)(const Json& figure))
        : Column(std::move(column_title), [pointer = Json::json_pointer(figure), text](
                                              const Json& way) { return text(way.at(pointer)); }) {}
};

std::string word(const Json& figure) {
    return figure.get<std::string>();
}

/// Returns a time with three digits, in µs, ms or longer units.
std::string seconds(const Json& figure) {
    if (figure.is_null()) return unknown;
    const auto value = figure.get<double>();
    if (value >= 1) return format_duration(value);
    if (value >= 1e-3) return format_number(value * 1e3, 3) + " ms";
    return format_number(value * 1e6, 3) + " µs";
}

std::string bytes(const Json& figure) {
    return figure.is_null() ? unknown : format_bytes(figure.get<index_t>());
}

/// Returns the text of bytes of which 0 are unknown.
std::string declared_bytes(const Json& figure) {
    return figure == 0 ? unknown : bytes(figure);
}

/// Returns a percentage with two digits, or whole percents, never in powers of ten.
std::string percent(const Json& figure) {
    const double value = 100 * figure.get<double>();
    return (value < 10 ? format_number(value, 2) : message(std::lround(value))) + " %";
}

std::string millions(const Json& figure) {
    return figure.is_null() ? unknown : format_number(figure.get<double>() / 1e6, 4);
}

/// Returns a column of a figure of the errors, which are null if there is no reference.
Column error_column(const char* title, const char* name) {
    return {title, [name](const Json& way) {
                const Json& errors = way.at("errors");
                return errors.is_null() ? unknown : error_text(errors.at(name));
            }};
}

std::string psnr(const Json& errors) {
    if (errors.at("delta") == 0) return "no difference";
    const Json& decibels = errors.at("psnr_db");
    return decibels.is_null() ? unknown : format_number(decibels.get<double>(), 4) + " dB";
}

std::string worst(const Json& errors) {
    const Json& at = errors.at("worst_voxel");
    return errors.at("delta") == 0 ? unknown
                                   : message(at.at(0).get<index_t>(), ',', at.at(1).get<index_t>(),
                                             ',', at.at(2).get<index_t>());
}

bool has_errors(const Json& way) {
    return !way.at("errors").is_null();
}

bool has_transfers(const Json& way) {
    const Json& traffic = way.at("traffic");
    return traffic.at("to_gpu_bytes").get<index_t>() + traffic.at("from_gpu_bytes").get<index_t>() >
           0;
}

/// Returns a table with a row for each of `ways` that passes `filter`; its first column is the
/// name.
Table table_of(const char* title, const Json& ways, const std::vector<Column>& columns,
               std::string note = {}, bool (*filter)(const Json& way) = nullptr) {
    Table table{title, {"way"}, {}, std::move(note)};
    for (const Column& column : columns) table.header.push_back(column.title);
    for (const Json& way : ways) {
        if (filter != nullptr && !filter(way)) continue;
        std::vector<std::string>& row = table.rows.emplace_back();
        row.push_back(word(way.at("name")));
        for (const Column& column : columns) row.push_back(column.cell(way));
    }
    return table;
}

Table phase_table(const Json& ways) {
    std::vector<Column> columns;
    for (const Json& way : ways)
        for (const auto& [name, unused] : way.at("phases_s").items())
            if (std::none_of(columns.begin(), columns.end(),
                             [&name = name](const Column& column) { return column.title == name; }))
                columns.emplace_back(name, [name = name](const Json& figures) {
                    return seconds(figures.at("phases_s").value(name, Json()));
                });
    return table_of("Phases", ways, columns,
                    "Phases that overlap, or run on several engines, add up to more than the "
                    "time.");
}

Table pair_table(const Json& problem) {
    const Json &ways = problem.at("ways"), &pairs = problem.at("pairs");
    Table table{"Differences between ways (relative L2)", {"way"}, {}, problem.at("pairs_note")};
    if (pairs.empty() && table.note.empty()) return table;
    for (std::size_t i = 0; i < ways.size(); ++i) {
        table.header.push_back(message(i + 1));
        const Json& a = ways[i].at("name");
        std::vector<std::string> row{message(i + 1, ". ", word(a))};
        for (std::size_t k = 0; k < ways.size(); ++k) {
            const Json& b = ways[k].at("name");
            const auto pair = std::find_if(pairs.begin(), pairs.end(), [&](const Json& one) {
                return (one.at("a") == a && one.at("b") == b) ||
                       (one.at("a") == b && one.at("b") == a);
            });
            row.push_back(i == k                ? ""
                          : pair == pairs.end() ? unknown
                                                : error_text(pair->at("relative_l2")));
        }
        table.rows.push_back(row);
    }
    return table;
}

}  // namespace

std::string error_text(const Json& figure) {
    return figure.is_null() ? "infinite" : format_number(figure.get<double>(), 3);
}

Table summary_table(const Json& report, const Json& problem) {
    const auto repeats = report.at("repeats").get<std::size_t>();
    const Json& ways = problem.at("ways");
    Table table = table_of("Time and precision", ways,
                           {{"time", "/median_s", seconds},
                            {"spread", "/spread", percent},
                            {"M" + word(report.at("unit")) + "s/s", "/per_s", millions},
                            {"predicted", "/predicted_s", seconds},
                            {"host memory", "/memory_bytes/host_counted", bytes},
                            {"GPU memory", "/memory_bytes/gpu_declared", declared_bytes},
                            error_column("relative L∞", "relative_linf"),
                            error_column("relative L2", "relative_l2")});
    for (std::size_t i = 0; i < ways.size(); ++i)
        if (const std::size_t turns = ways[i].at("turns").size(); turns < repeats)
            table.rows[i][0] += message(" (", turns, " of ", repeats, " turns)");
    return table;
}

std::vector<Table> tables_of(const Json& report, const Json& problem) {
    const Json& ways = problem.at("ways");
    std::vector<Table> tables{
        summary_table(report, problem),
        table_of("Errors", ways,
                 {error_column("δ = max |A − B|", "delta"),
                  error_column("relative L∞", "relative_linf"),
                  error_column("relative L2", "relative_l2"),
                  {"PSNR", "/errors", psnr},
                  {"worst at z,y,x", "/errors", worst}},
                 "B is the reference: " + word(problem.at("reference")) +
                     ". Relative L∞ is δ / max |B|, relative L2 is ‖A − B‖ / ‖B‖, PSNR is "
                     "20 log10(max |B| / RMS(A − B)). Ways that compute as the reference does have "
                     "no error.",
                 has_errors),
        phase_table(ways),
        table_of("Memory", ways,
                 {{"host, declared", "/memory_bytes/host_declared", declared_bytes},
                  {"host, counted", "/memory_bytes/host_counted", bytes},
                  {"host, resident", "/memory_bytes/host_resident", bytes},
                  {"each GPU, declared", "/memory_bytes/gpu_declared", declared_bytes},
                  {"GPU, held", "/memory_bytes/gpu_held", bytes}},
                 "All with the input. Declared: by the plan. Counted: the most that convolume's "
                 "buffers took. Resident: the most that the process took (VmHWM), beyond what it "
                 "had before. Held: what an execution left less of the GPU's free memory."),
        table_of("Transfers between host and GPUs", ways,
                 {{"to GPUs", "/traffic/to_gpu_bytes", bytes},
                  {"from GPUs", "/traffic/from_gpu_bytes", bytes},
                  {"least time", "/traffic/least_s", seconds},
                  {"time", "/median_s", seconds}},
                 "Least time: of these bytes at the bandwidths measured with page-locked memory.",
                 has_transfers),
        table_of("Plans", ways,
                 {{"plan", "/plan", word},
                  {"making the plan", "/plan_s", seconds},
                  {"first execution", "/first_s", seconds}}),
        pair_table(problem),
        table_of("Left out", problem.at("left_out"), {{"reason", "/reason", word}})};
    std::erase_if(tables, [](const Table& table) { return table.rows.empty(); });
    return tables;
}

Table machine_table(const Json& report) {
    Table table{"Machine", {"", ""}, {}, {}};
    for (const char* name : {"date", "command"})
        table.rows.push_back({name, word(report.at(name))});
    for (const auto& [label, text] : machine_lines(report.at("machine")))
        table.rows.push_back({label, text});
    return table;
}

std::string aligned_text(const Table& table) {
    std::vector<std::size_t> widths(table.header.size());
    const auto widen = [&](const std::vector<std::string>& row) {
        for (std::size_t i = 0; i < row.size(); ++i)
            widths[i] = std::max(widths[i], count_characters(row[i]));
    };
    widen(table.header);
    for (const auto& row : table.rows) widen(row);
    std::string text;
    const auto add = [&](const std::vector<std::string>& row) {
        std::string line;
        for (std::size_t i = 0; i < row.size(); ++i) {
            const std::string space(widths[i] - count_characters(row[i]), ' ');
            // Names are aligned to the left, figures to the right.
            line += i == 0 ? row[i] + space : "  " + space + row[i];
        }
        while (line.ends_with(' ')) line.pop_back();
        text += line + '\n';
    };
    add(table.header);
    for (const auto& row : table.rows) add(row);
    return text;
}

}  // namespace convolume::cli
