// SPDX-License-Identifier: Apache-2.0
#include "cli/compare/command.hpp"

#include <algorithm>
#include <fstream>
#include <iostream>
#include <iterator>

#include "cli/app.hpp"
#include "cli/compare/inputs.hpp"
#include "cli/compare/report_folder.hpp"
#include "cli/compare/report_json.hpp"
#include "cli/compare/runner.hpp"
#include "cli/compare/table.hpp"
#include "cli/files/metadata_json.hpp"
#include "cli/run/errors.hpp"
#include "cli/run/output_path.hpp"
#include "cli/run/process_end.hpp"
#include "cli/text/quantity.hpp"

namespace convolume::cli {

namespace {

/// The command line as it was typed, but for quotes.
std::string command_line() {
    std::ifstream in("/proc/self/cmdline", std::ios::binary);
    std::string text(std::istreambuf_iterator<char>(in), {});
    if (text.ends_with('\0')) text.pop_back();
    std::replace(text.begin(), text.end(), '\0', ' ');
    // Where the program lies is nothing that a report needs.
    const std::size_t end = text.find(' ');
    return end == std::string::npos ? "convolume" : "convolume" + text.substr(end);
}

/// The CPU; every GPU; all GPUs together where there are several.
std::vector<std::string> devices_here() {
    std::vector<std::string> devices{"cpu"};
    EngineChoice any;
    const std::vector<int> gpus = gpus_of(any);
    std::string together = "gpu:";
    for (const int gpu : gpus) {
        devices.push_back(message("gpu:", gpu));
        together += message(gpu == gpus.front() ? "" : "+", gpu);
    }
    if (gpus.size() > 1) devices.push_back(together);
    return devices;
}

nlohmann::ordered_json options_json(const CompareRequest& request, const WayLists& lists) {
    return {{"devices", lists.devices},
            {"methods", lists.methods},
            {"parts", lists.parts},
            {"segments", lists.segments},
            {"precision", lists.precisions},
            {"threads", lists.threads},
            {"repeats", request.repeats},
            {"time-limit", request.time_limit_s},
            {"reference", to_string(request.reference)},
            {"max-host-mem", request.max_host_bytes.value_or(0)}};
}

/// Facts of how far it is: a line that updates on a terminal, else a line for each problem.
RunnerEvents events_of(const Console& console, const CompareRequest& request,
                       const ReportFolder& folder, const Comparison& comparison) {
    const bool updating = stderr_is_terminal() && !console.quiet();
    const char* const clear = "\r\033[K";
    RunnerEvents events;
    events.problem_begins = [&console, updating, clear](const ComparedProblem& problem) {
        if (updating) console.out() << clear;
        console.fact("problem", problem.name);
    };
    events.turn_begins = [&console, &request, updating, clear](const Way& way, int turn) {
        const std::string text = message("turn ", turn, " of ", request.repeats, ", ", way.name());
        if (updating)
            console.out() << clear << text << std::flush;
        else if (console.verbose())
            console.text(text + '\n');
    };
    events.round_ends = [&console, &folder, &comparison, updating, clear] {
        if (updating) console.out() << clear << std::flush;
        for (const ComparedProblem& problem : comparison.problems)
            if (!problem.measured.empty()) return folder.save_data(comparison);
    };
    return events;
}

void print(const CompareRequest& request, const Comparison& comparison) {
    if (request.run.json) return write_stdout(dump(to_json(comparison)));
    if (request.run.verbosity == Verbosity::quiet) return;
    std::string text;
    for (const ComparedProblem& problem : comparison.problems) {
        text += message('\n', problem.name, "; reference: ", problem.reference, '\n');
        const Table table = summary_table(problem, comparison.unit, comparison.repeats);
        if (!table.rows.empty()) text += aligned(table);
        for (const LeftOut& entry : problem.left_out)
            text += message("left out: ", entry.way.name(), ": ", entry.reason, '\n');
    }
    write_stdout(text);
}

[[noreturn]] void end_interrupted(const ReportFolder& folder, const Comparison& comparison) {
    const bool any =
        std::any_of(comparison.problems.begin(), comparison.problems.end(),
                    [](const ComparedProblem& problem) { return !problem.measured.empty(); });
    if (!any) throw Cancelled("interrupted; nothing was written");
    folder.save_all(comparison);
    const int finished = comparison.finished_ways();
    throw Interrupted(message(
        "interrupted; \"", folder.path(), "\" has a report of what was measured (", finished,
        finished == 1 ? " way" : " ways", " finished), and --resume goes on with it"));
}

/// Throws where the comparison is none, or not as precise as was asked for.
void judge(const CompareRequest& request, const ReportFolder& folder,
           const Comparison& comparison) {
    const Measurement* worst = nullptr;
    bool any = false;
    for (const ComparedProblem& problem : comparison.problems)
        for (const Measurement& way : problem.measured) {
            any = true;
            if (!request.most_error) continue;
            if (!way.errors)
                throw OutOfMemory(sentence(
                    "errors of ", problem.name, " are unknown (reference: ", problem.reference,
                    "), so that ", OptionName{"--fail-if-error-above"}, " cannot be answered"));
            if (worst == nullptr || way.errors->relative_largest > worst->errors->relative_largest)
                worst = &way;
        }
    if (!any)
        throw Unavailable(message("no way could be measured; \"", folder.path(),
                                  "\" has the reasons, and --devices and --methods choose others"));
    if (worst != nullptr && worst->errors->relative_largest > *request.most_error)
        throw ErrorTooLarge(message("the relative L∞ error of ", worst->way.name(), " is ",
                                    format_number(worst->errors->relative_largest, 3),
                                    ", above the ", format_number(*request.most_error),
                                    " of --fail-if-error-above; \"", folder.path(),
                                    "\" has the report"));
}

template <class Request>
void compare_ways(const Request& request, const char* kind, const char* unit) {
    const Console console(std::cerr, request.run.verbosity, stderr_wants_colors());
    const InterruptGuard interrupt;
    const ReportFolder folder(request.output, request.overwrite, request.resume);
    const index_t limit_bytes = host_limit_bytes(request.max_host_bytes);
    CompareInputs inputs = inputs_of(request, limit_bytes);
    for (const std::string& warning : inputs.warnings) console.warning(warning);
    WayLists lists = request.lists;
    if (lists.devices.empty()) lists.devices = devices_here();
    const bool use_gpus = lists.devices != std::vector<std::string>{"cpu"};
    const MachineContext machine = machine_context(use_gpus);

    Comparison comparison;
    comparison.identity = {{"version", version},
                           {"kind", kind},
                           {"processor", machine.json.at("processor")},
                           {"threads", machine.json.at("threads")}};
    comparison.identity.update(inputs.identity);
    comparison.identity["options"] = options_json(request, lists);
    if (auto before = folder.to_resume(comparison.identity)) {
        comparison = std::move(*before);
        console.fact("resume", message(comparison.finished_ways(), " ways are finished in \"",
                                       folder.path(), '"'));
    } else {
        comparison.software = software_name();
        comparison.date = utc_now();
        comparison.command = command_line();
        comparison.unit = unit;
        comparison.repeats = request.repeats;
        comparison.machine = machine.json;
    }
    const RunnerSettings settings{combinations(lists), request.repeats, request.time_limit_s,
                                  limit_bytes, request.reference};
    const RunnerEvents events = events_of(console, request, folder, comparison);
    try {
        run_comparison(inputs.subjects, settings, machine.links, comparison, events,
                       interrupt.stop());
    } catch (const Cancelled&) {
        if (stderr_is_terminal() && !console.quiet()) console.out() << "\r\033[K";
        end_interrupted(folder, comparison);
    }
    folder.save_all(comparison);
    print(request, comparison);
    console.fact("report", folder.path() + "/report.html, report.md, report.json");
    judge(request, folder, comparison);
}

}  // namespace

void compare(const ImageCompareRequest& request) {
    compare_ways(request, "images", "voxel");
}

void compare(const SignalCompareRequest& request) {
    compare_ways(request, "signals", "sample");
}

}  // namespace convolume::cli
