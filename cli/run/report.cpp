// SPDX-License-Identifier: Apache-2.0
#include "cli/run/report.hpp"

#include <sys/resource.h>

#include <cmath>
#include <fstream>

#include "cli/app.hpp"
#include "cli/text/quantity.hpp"
#include "convolume/error.hpp"
#include "convolume/options.hpp"
#include "convolume/volume.hpp"

namespace convolume::cli {

namespace {

// Least share of overlapping phases that is reported.
constexpr double least_overlap = 0.02;

double total_of_phases_s(const Timeline& timeline) {
    double total = 0;
    for (const Phase phase : all_phases) total += timeline.total_s(phase);
    return total;
}

}  // namespace

std::optional<index_t> process_status_bytes(std::string_view name) {
    std::ifstream status("/proc/self/status");
    for (std::string word; status >> word;)
        if (index_t kib = 0; word == name && status >> kib) return kib * 1024;
    return std::nullopt;
}

/// getrusage() is only the fallback: it also counts the memory of the process before exec().
index_t peak_resident_bytes() {
    if (const auto bytes = process_status_bytes("VmHWM:")) return *bytes;
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    return index_t{usage.ru_maxrss} * 1024;
}

nlohmann::ordered_json finite_or_null(double value) {
    return std::isfinite(value) ? nlohmann::ordered_json(value) : nlohmann::ordered_json();
}

nlohmann::ordered_json versioned_json() {
    return {{"convolume", version}};
}

void report_plan(const Console& console, const RunOptions& options, const std::string& all,
                 const std::string& line) {
    if (options.dry_run || console.verbose())
        console.text(all);
    else
        console.fact("plan", line);
}

std::string plan_line(const Plan& plan) {
    const PlanCandidate& chosen = plan.chosen;
    TextStream text;
    text << to_string(chosen.method);
    if (chosen.algorithm == Algorithm::separable)
        text << " (" << to_string(chosen.algorithm) << ')';
    if (chosen.method == Method::dif) text << ", " << chosen.parts << " parts";
    if (chosen.method == Method::tiled) text << ", z,y,x " << to_string(chosen.tiles) << " tiles";
    if (chosen.slab_planes > 0) text << ", slabs of " << chosen.slab_planes << " planes";
    if (chosen.gpus_per_block > 1) text << ", spread over " << chosen.gpus_per_block << " GPUs";
    if (chosen.tasks_in_flight > 1) text << ", " << chosen.tasks_in_flight << " in flight";
    text << ", grid z,y,x " << to_string(chosen.grid) << " on";
    for (const std::string& engine : plan.engines) text << ' ' << engine;
    if (chosen.on_gpu) text << ", " << format_bytes(chosen.engine_bytes) << " of each GPU";
    text << ", " << format_bytes(chosen.host_bytes) << " of host memory";
    if (chosen.scratch_file_bytes > 0)
        text << ", scratch files of " << format_bytes(chosen.scratch_file_bytes);
    text << ", predicted " << format_duration(chosen.seconds);
    return text.str();
}

void report_times(const Console& console, const RunTimes& run) {
    const Timeline& timeline = run.timeline;
    TextStream times;
    const char* separator = "";
    for (const Phase phase : all_phases)
        if (const double seconds = timeline.total_s(phase); seconds > 0) {
            times << separator << to_string(phase) << ' ' << format_duration(seconds);
            separator = ", ";
        }
    times << "; total " << format_duration(run.total_s);
    const double overlap_s = total_of_phases_s(timeline) - timeline.covered_s();
    if (overlap_s > least_overlap * run.total_s)
        times << " (" << format_duration(overlap_s) << " side by side)";
    times << ", peak memory " << format_bytes(peak_resident_bytes());
    console.fact("time", times.str());
}

ExecutionReport& operator+=(ExecutionReport& sum, const ExecutionReport& report) {
    sum.seconds += report.seconds;
    sum.clamped_low += report.clamped_low;
    sum.clamped_high += report.clamped_high;
    sum.nonfinite_inputs += report.nonfinite_inputs;
    return sum;
}

nlohmann::ordered_json report_json(const ExecutionReport& executed, const RunTimes& run) {
    const Timeline& timeline = run.timeline;
    nlohmann::ordered_json seconds;
    for (const Phase phase : all_phases) seconds[to_string(phase)] = timeline.total_s(phase);
    seconds["execute"] = executed.seconds;
    seconds["total"] = run.total_s;
    seconds["accounted"] = timeline.covered_s();
    seconds["side_by_side"] = total_of_phases_s(timeline) - timeline.covered_s();
    return {{"seconds", seconds},
            {"clamped_low", executed.clamped_low},
            {"clamped_high", executed.clamped_high},
            {"nonfinite_inputs", executed.nonfinite_inputs},
            {"peak_buffer_bytes", memory_use().peak_bytes},
            {"peak_resident_bytes", peak_resident_bytes()}};
}

using nlohmann::ordered_json;

ordered_json shape_json(const Shape3& shape) {
    return ordered_json::array({shape.z, shape.y, shape.x});
}

ordered_json scaling_json(const io::ImageMetadata& metadata) {
    if (!metadata.scaling) return nullptr;
    return {{"scale", metadata.scaling->scale}, {"offset", metadata.scaling->offset}};
}

ordered_json to_json(const std::string& file, const io::ImageMetadata& metadata) {
    ordered_json voxel_size = ordered_json::array();
    for (const auto& size : metadata.voxel_size_um) voxel_size.push_back(or_null(size));
    ordered_json json;
    json["file"] = file;
    json["format"] = metadata.format;
    json["axes"] = metadata.axes;
    json["frames"] = metadata.frames;
    json["channels"] = metadata.channels;
    json["shape"] = shape_json(metadata.shape);
    json["type"] = to_string(metadata.type);
    json["voxel_size_um"] = voxel_size;
    json["unit"] = metadata.unit;
    json["frame_interval_s"] = or_null(metadata.frame_interval_s);
    if (metadata.images > 1) {
        json["images_in_file"] = metadata.images;
        json["image"] = {{"number", metadata.image}, {"name", metadata.image_name}};
    }
    if (!metadata.notes.empty()) json["notes"] = metadata.notes;
    json["channel_names"] = metadata.channel_names;
    json["value_scaling"] = scaling_json(metadata);
    json["bytes"] = metadata.bytes();
    return json;
}

std::string dump(const ordered_json& json) {
    return json.dump(2, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace convolume::cli
