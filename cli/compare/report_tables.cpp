// SPDX-License-Identifier: Apache-2.0
// The tables of a report of `convolume compare`.

#include <algorithm>
#include <cmath>

#include "cli/compare/report.hpp"
#include "cli/text/quantity.hpp"
#include "convolume/error.hpp"
#include "convolume/options.hpp"

namespace convolume::cli {

namespace {

constexpr const char* unknown = "–";

/// Returns a time with three digits, in µs, ms or longer units.
std::string seconds_text(double seconds) {
    if (seconds >= 1) return format_duration(seconds);
    if (seconds >= 1e-3) return format_number(seconds * 1e3, 3) + " ms";
    return format_number(seconds * 1e6, 3) + " µs";
}

std::string bytes_text(index_t bytes) {
    return bytes > 0 ? format_bytes(bytes) : unknown;
}

std::string bytes_text(const std::optional<index_t>& bytes) {
    return bytes ? format_bytes(*bytes) : unknown;
}

/// Returns a percentage with two digits, or whole percents, never in powers of ten.
std::string percent_text(double fraction) {
    const double percent = 100 * fraction;
    return (percent < 10 ? format_number(percent, 2) : message(std::lround(percent))) + " %";
}

std::string error_text(double value) {
    return std::isfinite(value) ? format_number(value, 3) : "infinite";
}

using Json = nlohmann::ordered_json;

std::string gigabytes_per_s(const Json& bytes_per_s) {
    return format_number(bytes_per_s.get<double>() / 1e9, 3) + " GB/s";
}

std::string gpu_text(const Json& device) {
    std::string text = message(device.value("name", ""), ", ",
                               format_bytes(device.value("memory_bytes", index_t{0})));
    if (device.contains("bytes_per_s")) {
        const Json& rates = device["bytes_per_s"];
        text += message("; to it ", gigabytes_per_s(rates["host_to_device"]), ", from it ",
                        gigabytes_per_s(rates["device_to_host"]), ", both at once ",
                        gigabytes_per_s(rates["both"]));
    }
    return text;
}

Table plan_table(const ComparedProblem& problem) {
    Table table{"Plans", {"way", "plan", "making the plan", "first execution"}, {}, {}};
    for (const Measurement& way : problem.measured) {
        std::vector<double> plan_s;
        for (const TurnTimes& turn : way.turns) plan_s.push_back(turn.plan_s);
        table.rows.push_back(
            {way.way.name(), way.plan, seconds_text(median(plan_s)), seconds_text(way.first_s())});
    }
    return table;
}

Table phase_table(const ComparedProblem& problem) {
    Table table{"Phases",
                {"way"},
                {},
                "Phases that overlap, or run on several engines, add up to "
                "more than the time."};
    for (const std::string& name : problem.phase_names()) table.header.push_back(name);
    for (const Measurement& way : problem.measured) {
        std::vector<std::string> row(table.header.size(), unknown);
        row[0] = way.way.name();
        for (const auto& [name, seconds] : way.phases()) {
            const auto place = std::find(table.header.begin(), table.header.end(), name);
            row[static_cast<std::size_t>(place - table.header.begin())] = seconds_text(seconds);
        }
        table.rows.push_back(row);
    }
    return table;
}

Table memory_table(const ComparedProblem& problem) {
    Table table{
        "Memory",
        {"way", "host, declared", "host, counted", "host, resident", "each GPU, declared",
         "GPU, held"},
        {},
        "All with the input. Declared: by the plan. Counted: the most that convolume's "
        "buffers took. Resident: the most that the process took (VmHWM), beyond what it had "
        "before. Held: what an execution left less of the GPU's free memory."};
    for (const Measurement& way : problem.measured)
        table.rows.push_back(
            {way.way.name(), bytes_text(way.memory.declared_host),
             format_bytes(way.memory.counted_host), bytes_text(way.memory.resident_host),
             bytes_text(way.memory.declared_gpu), bytes_text(way.memory.held_gpu)});
    return table;
}

Table traffic_table(const ComparedProblem& problem) {
    Table table{"Transfers between host and GPUs",
                {"way", "to GPUs", "from GPUs", "least time", "time"},
                {},
                "Least time: of these bytes at the bandwidths measured with page-locked memory."};
    for (const Measurement& way : problem.measured) {
        const Traffic& traffic = way.traffic;
        if (traffic.to_gpu_bytes + traffic.from_gpu_bytes == 0) continue;
        table.rows.push_back({way.way.name(), format_bytes(traffic.to_gpu_bytes),
                              format_bytes(traffic.from_gpu_bytes),
                              traffic.least_s ? seconds_text(*traffic.least_s) : unknown,
                              seconds_text(way.median_s())});
    }
    return table;
}

Table error_table(const ComparedProblem& problem) {
    Table table{"Errors",
                {"way", "δ = max |A − B|", "relative L∞", "relative L2", "PSNR", "worst at z,y,x"},
                {},
                "B is the reference: " + problem.reference +
                    ". Relative L∞ is δ / max |B|, relative L2 is ‖A − B‖ / ‖B‖, PSNR is "
                    "20 log10(max |B| / RMS(A − B)). Ways that compute as the reference does have "
                    "no error."};
    for (const Measurement& way : problem.measured) {
        if (!way.errors) continue;
        const ResultErrors& errors = *way.errors;
        const Index3& worst = errors.worst;
        const bool equal = errors.largest == 0;
        table.rows.push_back({way.way.name(), error_text(errors.largest),
                              error_text(errors.relative_largest), error_text(errors.relative_l2),
                              equal ? "no difference" : format_number(errors.psnr_db, 4) + " dB",
                              equal ? unknown : message(worst.z, ',', worst.y, ',', worst.x)});
    }
    return table;
}

Table pair_table(const ComparedProblem& problem) {
    Table table{"Differences between ways (relative L2)", {"way"}, {}, problem.pairs_note};
    if (problem.pairs.empty() && problem.pairs_note.empty()) return table;
    std::size_t number = 0;
    for (std::size_t i = 0; i < problem.measured.size(); ++i)
        table.header.push_back(message(i + 1));
    for (const Measurement& a : problem.measured) {
        std::vector<std::string> row{message(++number, ". ", a.way.name())};
        for (const Measurement& b : problem.measured) {
            const auto difference = problem.difference(a.way.name(), b.way.name());
            row.push_back(&a == &b ? "" : difference ? error_text(*difference) : unknown);
        }
        table.rows.push_back(row);
    }
    return table;
}

Table left_out_table(const ComparedProblem& problem) {
    Table table{"Left out", {"way", "reason"}, {}, {}};
    for (const SkippedWay& entry : problem.left_out)
        table.rows.push_back({entry.way.name(), entry.reason});
    return table;
}

}  // namespace

Table summary_table(const ComparedProblem& problem, const std::string& unit, int repeats) {
    Table table{"Time and precision",
                {"way", "time", "spread", "M" + unit + "s/s", "predicted", "host memory",
                 "GPU memory", "relative L∞", "relative L2"},
                {},
                {}};
    for (const Measurement& way : problem.measured) {
        const auto turns = static_cast<int>(way.turns.size());
        const std::optional<double> rate = problem.rate(way);
        const std::string name =
            turns < repeats ? message(way.way.name(), " (", turns, " of ", repeats, " turns)")
                            : way.way.name();
        table.rows.push_back({name, seconds_text(way.median_s()), percent_text(way.spread()),
                              rate ? format_number(*rate / 1e6, 4) : unknown,
                              way.predicted_s ? seconds_text(*way.predicted_s) : unknown,
                              format_bytes(way.memory.counted_host),
                              bytes_text(way.memory.declared_gpu),
                              way.errors ? error_text(way.errors->relative_largest) : unknown,
                              way.errors ? error_text(way.errors->relative_l2) : unknown});
    }
    return table;
}

std::vector<Table> tables_of(const ComparedProblem& problem, const std::string& unit, int repeats) {
    std::vector<Table> tables{summary_table(problem, unit, repeats),
                              error_table(problem),
                              phase_table(problem),
                              memory_table(problem),
                              traffic_table(problem),
                              plan_table(problem),
                              pair_table(problem),
                              left_out_table(problem)};
    std::erase_if(tables, [](const Table& table) { return table.rows.empty(); });
    return tables;
}

Table machine_table(const Comparison& comparison) {
    const Json& machine = comparison.machine;
    Table table{"Machine", {"", ""}, {}, {}};
    const auto add = [&table](const std::string& label, const std::string& text) {
        table.rows.push_back({label, text});
    };
    add("software", comparison.software + ", " + machine.value("compiler", ""));
    add("date", comparison.date);
    add("command", comparison.command);
    add("processor", message(machine.value("processor", ""), ", ", machine.value("processors", 0),
                             " processors, ", machine.value("threads", 0), " threads by default"));
    add("memory", message(format_bytes(machine.value("memory_bytes", index_t{0})), ", ",
                          format_bytes(machine.value("memory_available_bytes", index_t{0})),
                          " available; copied at ",
                          format_number(machine.value("memory_copy_bytes_per_s", 0.0) / 1e9, 3),
                          " GB/s, read plus written"));
    if (machine.contains("features"))
        for (const auto& [name, state] : machine["features"].items())
            add(name, state.get<std::string>());
    if (!machine.contains("gpus")) return table;
    for (const Json& device : machine["gpus"].value("devices", Json::array()))
        add(message("gpu:", device.value("number", 0)), gpu_text(device));
    const Json driver = machine["gpus"].value("driver", Json());
    if (driver.is_string()) add("CUDA driver", driver.get<std::string>());
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
