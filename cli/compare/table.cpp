// SPDX-License-Identifier: Apache-2.0
#include "cli/compare/table.hpp"

#include <algorithm>
#include <cmath>

#include "cli/text/quantity.hpp"
#include "convolume/error.hpp"
#include "convolume/options.hpp"

namespace convolume::cli {

namespace {

using Json = nlohmann::ordered_json;

constexpr const char* unknown = "–";

/// Returns a time with three digits, in µs, ms or longer units.
std::string seconds(const Json& figure) {
    if (figure.is_null()) return unknown;
    const auto value = figure.get<double>();
    if (value >= 1) return format_duration(value);
    if (value >= 1e-3) return format_number(value * 1e3, 3) + " ms";
    return format_number(value * 1e6, 3) + " µs";
}

/// Returns the text of a size in bytes; unknown for null and 0.
std::string bytes(const Json& figure) {
    return figure.is_null() || figure == 0 ? unknown : format_bytes(figure.get<index_t>());
}

/// Returns a percentage with two digits, or whole percents, never in powers of ten.
std::string percent(const Json& figure) {
    const double value = 100 * figure.get<double>();
    return (value < 10 ? format_number(value, 2) : message(std::lround(value))) + " %";
}

std::string millions(const Json& figure) {
    return figure.is_null() ? unknown : format_number(figure.get<double>() / 1e6, 4);
}

/// Returns the text of a figure of the errors, which are null if there is no reference. A figure of
/// null stands for infinity.
std::string error_text(const Json& errors, const char* name) {
    if (errors.is_null()) return unknown;
    const Json& figure = errors.at(name);
    return figure.is_null() ? "infinite" : format_number(figure.get<double>(), 3);
}

}  // namespace

Table summary_table(const Json& report, const Json& problem) {
    const auto repeats = report.at("repeats").get<std::size_t>();
    Table table{{"way", "time", "spread", message("M", report.at("unit").get<std::string>(), "s/s"),
                 "predicted", "host memory", "GPU memory", "relative L∞", "relative L2"},
                {}};
    for (const Json& way : problem.at("ways")) {
        std::string name = way.at("name");
        if (const std::size_t turns = way.at("turns").size(); turns < repeats)
            name += message(" (", turns, " of ", repeats, " turns)");
        const Json &memory = way.at("memory_bytes"), &errors = way.at("errors");
        table.rows.push_back({name, seconds(way.at("median_s")), percent(way.at("spread")),
                              millions(way.at("per_s")), seconds(way.at("predicted_s")),
                              bytes(memory.at("host_counted")), bytes(memory.at("gpu_declared")),
                              error_text(errors, "relative_linf"),
                              error_text(errors, "relative_l2")});
    }
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
