#include "convolve_report.hpp"

#include <sys/resource.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <sstream>

#include "format.hpp"
#include "metadata_json.hpp"
#include "version.hpp"

namespace convolume::cli {

namespace {

constexpr Phase phases[] = {
    Phase::read,           Phase::pad,      Phase::decompose,      Phase::allocate,
    Phase::host_to_device, Phase::convolve, Phase::device_to_host, Phase::compose,
    Phase::write};

const char* normalization_words(KernelNormalization normalization) {
    switch (normalization) {
        case KernelNormalization::sum:
            return "normalised to sum 1";
        case KernelNormalization::peak:
            return "normalised to peak 1";
        case KernelNormalization::none:
            break;
    }
    return "not normalised";
}

std::string plan_line(const Plan& plan, index_t volumes) {
    const Candidate& chosen = plan.chosen;
    std::ostringstream text;
    text << to_string(chosen.method);
    if (chosen.algorithm == Algorithm::separable)
        text << " (" << to_string(chosen.algorithm) << ')';
    if (chosen.method == Method::dif) text << ", " << chosen.parts << " parts";
    if (chosen.method == Method::tiled) text << ", z,y,x " << to_string(chosen.tiles) << " tiles";
    if (chosen.slab_planes > 0) text << ", slabs of " << chosen.slab_planes << " planes";
    if (chosen.tasks_in_flight > 1) text << ", " << chosen.tasks_in_flight << " in flight";
    text << ", grid z,y,x " << to_string(chosen.grid) << " on";
    for (const std::string& engine : plan.engines) text << ' ' << engine;
    if (chosen.on_gpu) text << ", " << format_bytes(chosen.engine_bytes) << " of each GPU";
    text << ", " << format_bytes(chosen.host_bytes) << " of host memory, predicted "
         << format_duration(chosen.seconds * static_cast<double>(volumes));
    return text.str();
}

index_t peak_resident_bytes() {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    return index_t{usage.ru_maxrss} * 1024;
}

nlohmann::ordered_json report_json(const ConvolveFacts& facts, const Timeline& timeline) {
    nlohmann::ordered_json seconds;
    seconds["plan"] = facts.plan_s;
    for (const Phase phase : phases) seconds[to_string(phase)] = timeline.total_s(phase);
    seconds["execute"] = facts.executed.seconds;
    seconds["total"] = timeline.now_s();
    return {{"seconds", seconds},
            {"clamped_low", facts.executed.clamped_low},
            {"clamped_high", facts.executed.clamped_high},
            {"nonfinite_inputs", facts.executed.nonfinite_inputs},
            {"peak_buffer_bytes", memory_use().peak_bytes},
            {"peak_resident_bytes", peak_resident_bytes()}};
}

}  // namespace

void ConvolveFacts::add(const ExecutionReport& report) {
    executed.seconds += report.seconds;
    executed.clamped_low += report.clamped_low;
    executed.clamped_high += report.clamped_high;
    executed.nonfinite_inputs += report.nonfinite_inputs;
}

std::string voxel_size_mismatch(const io::ImageMetadata& image, const io::ImageMetadata& kernel) {
    bool differs = false;
    for (std::size_t axis = 0; axis < 3; ++axis) {
        const auto& a = image.voxel_size_um[axis];
        const auto& b = kernel.voxel_size_um[axis];
        if (a && b && std::abs(*a - *b) > 0.01 * std::abs(*a)) differs = true;
    }
    if (!differs) return {};
    return message("voxel sizes differ: the image has ", format_voxel_size(image.voxel_size_um),
                   ", the kernel ", format_voxel_size(kernel.voxel_size_um),
                   "; resample the kernel to the image's voxel size, or correct its metadata");
}

void report_plan(const Console& console, const ConvolveRequest& request, const ConvolveFacts& facts,
                 const Plan& plan) {
    console.fact("image", message(request.image, ": ", one_line(facts.input)));
    console.fact("kernel", message(request.kernel, ": ", one_line(facts.kernel), ", sum ",
                                   format_number(facts.kernel_sum, 9), ", ",
                                   normalization_words(request.options.normalization)));
    if (const std::string mismatch = voxel_size_mismatch(facts.input, facts.kernel);
        !mismatch.empty())
        console.warning(mismatch);
    if (request.dry_run || console.verbose())
        console.text(plan.to_string() + "\n");
    else
        console.fact("plan", plan_line(plan, facts.volumes()));
}

void report_end(const Console& console, const ConvolveRequest& request, const ConvolveFacts& facts,
                const Timeline& timeline) {
    const ExecutionReport& executed = facts.executed;
    if (executed.clamped_low > 0 || executed.clamped_high > 0)
        console.warning(message(executed.clamped_low, " values below and ", executed.clamped_high,
                                " above the range of ", name_of(facts.output.type),
                                " were clamped; choose a wider --output-type to keep them"));
    if (executed.nonfinite_inputs > 0)
        console.warning(message(executed.nonfinite_inputs,
                                " NaN or infinite values of the image were read as 0"));
    std::ostringstream times;
    times << "plan " << format_duration(facts.plan_s);
    for (const Phase phase : phases)
        if (const double seconds = timeline.total_s(phase); seconds > 0)
            times << ", " << to_string(phase) << ' ' << format_duration(seconds);
    times << "; total " << format_duration(timeline.now_s()) << ", peak memory "
          << format_bytes(peak_resident_bytes());
    console.fact("time", times.str());
    console.fact("output", message(request.output, ": z,y,x ", to_string(facts.output.shape), ' ',
                                   name_of(facts.output.type)));
}

std::string to_json(const ConvolveRequest& request, const ConvolveFacts& facts, const Plan& plan,
                    const Timeline* timeline) {
    nlohmann::ordered_json json;
    json["convolume"] = version;
    json["input"] = to_json(request.image, facts.input);
    json["kernel"] = to_json(request.kernel, facts.kernel);
    json["kernel"]["sum"] = facts.kernel_sum;
    json["kernel"]["normalize"] = to_string(request.options.normalization);
    json["plan"] = nlohmann::ordered_json::parse(plan.to_json());
    if (timeline != nullptr) json["report"] = report_json(facts, *timeline);
    json["output"] = {{"file", nullptr},
                      {"shape", shape_json(facts.output.shape)},
                      {"type", name_of(facts.output.type)}};
    if (!request.output.empty()) json["output"]["file"] = request.output;
    return dump(json);
}

}  // namespace convolume::cli
