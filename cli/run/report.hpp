// SPDX-License-Identifier: Apache-2.0
#pragma once
// What runs print and what --json holds of every run.

#include <nlohmann/json.hpp>
#include <string>

#include "cli/run/common_options.hpp"
#include "cli/text/console.hpp"
#include "convolume/convolver.hpp"
#include "convolume/execution.hpp"
#include "convolume/image_file.hpp"

namespace convolume::cli {

/// Times of a run that has executed.
struct RunTimes {
    double plan_s;
    const Timeline& timeline;
};

/// The object that every --json begins with: convolume's version.
nlohmann::ordered_json versioned_json();

/// Says what reading a file assumed or left out.
void warn_of_notes(const Console& console, const std::string& path, const io::ImageMetadata& image);

/// Says the same, and what is not read of an input: how it scales its values.
void warn_of_input(const Console& console, const std::string& path, const io::ImageMetadata& image);

/// "value = stored * 0.01 + 3"
std::string scaling_text(const io::ValueScaling& scaling);

/// `all` in a dry run and with -v, else `line`.
void report_plan(const Console& console, const RunOptions& options, const std::string& all,
                 const std::string& line);

/// The method, its grid and memory, and the time predicted for `executions` times what the plan
/// predicts: 1 where it was told how many images there are.
std::string plan_line(const Plan& plan, index_t executions = 1);

/// "start 0.010 s, open 0.001 s, …; total 1.20 s (0.30 s side by side), peak memory 50.0 MiB": the
/// phases there were.
void report_times(const Console& console, const RunTimes& run);

/// The most memory that this program has held.
index_t peak_resident_bytes();

/// Adds what a run over several volumes counts of each.
ExecutionReport& operator+=(ExecutionReport& sum, const ExecutionReport& report);

/// The "report" of --json.
nlohmann::ordered_json report_json(const ExecutionReport& executed, const RunTimes& run);

}  // namespace convolume::cli
