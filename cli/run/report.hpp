// SPDX-License-Identifier: Apache-2.0
#pragma once
// Messages and JSON that all runs have in common, and the metadata of images as JSON.

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "cli/run/common_options.hpp"
#include "cli/text/console.hpp"
#include "convolume/convolver.hpp"
#include "convolume/execution.hpp"
#include "convolume/image_file.hpp"
#include "operations/warnings/images.hpp"

namespace convolume::cli {

/// Times of a run that has committed its outputs.
struct RunTimes {
    double plan_s;
    const Timeline& timeline;
    double total_s;  ///< seconds from the start of the program to the end of the commit
};

/// Returns the value, or null if there is none.
template <class Value>
nlohmann::ordered_json or_null(const std::optional<Value>& value) {
    return value ? nlohmann::ordered_json(*value) : nlohmann::ordered_json();
}

/// Returns null for infinity and NaN, which JSON does not have.
nlohmann::ordered_json finite_or_null(double value);

/// Returns the object with which every --json begins: convolume's version.
nlohmann::ordered_json versioned_json();

/// Prints `all`, the whole plan, in a dry run and with -v, else `line`.
void report_plan(const Console& console, const RunOptions& options, const std::string& all,
                 const std::string& line);

/// Describes a plan in one line: method, grid, memory, and the predicted time.
std::string plan_line(const Plan& plan);

/// Prints the phases of a run: "start 0.010 s, open 0.001 s, …; total 1.20 s (0.30 s side by side),
/// peak memory 50.0 MiB".
void report_times(const Console& console, const RunTimes& run);

/// Returns the value of a line of /proc/self/status in bytes, such as "VmRSS:".
std::optional<index_t> process_status_bytes(std::string_view name);

/// Returns the peak of the resident memory of this program.
index_t peak_resident_bytes();

/// Adds the counts and seconds of one volume to those of a run over several.
ExecutionReport& operator+=(ExecutionReport& sum, const ExecutionReport& report);

/// Returns the "report" of --json.
nlohmann::ordered_json report_json(const ExecutionReport& executed, const RunTimes& run);

nlohmann::ordered_json shape_json(const Shape3& shape);
/// Returns {"scale", "offset"}, or null if the stored samples are the values.
nlohmann::ordered_json scaling_json(const io::ImageMetadata& metadata);
/// Returns the metadata of an image, with the path `file`.
nlohmann::ordered_json to_json(const std::string& file, const io::ImageMetadata& metadata);

/// Returns the text of an object of --json. Bytes that are no UTF-8 are replaced.
std::string dump(const nlohmann::ordered_json& json);

}  // namespace convolume::cli
