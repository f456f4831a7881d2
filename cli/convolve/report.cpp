#include "cli/convolve/report.hpp"

#include <nlohmann/json.hpp>
#include <sstream>

#include "cli/files/metadata_json.hpp"
#include "cli/run/report.hpp"
#include "cli/text/format.hpp"
#include "cli/version.hpp"

namespace convolume::cli {

namespace {

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

}  // namespace

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

void ConvolveFacts::add(const ExecutionReport& report) {
    executed.seconds += report.seconds;
    executed.clamped_low += report.clamped_low;
    executed.clamped_high += report.clamped_high;
    executed.nonfinite_inputs += report.nonfinite_inputs;
}

void report_plan(const Console& console, const ConvolveRequest& request, const ConvolveFacts& facts,
                 const Plan& plan) {
    console.fact("image", message(request.image, ": ", one_line(facts.input)));
    report_kernel(console, facts.kernel,
                  message(", sum ", format_number(facts.kernel_sum, 9), ", ",
                          normalization_words(request.options.normalization)));
    if (request.report.dry_run || console.verbose())
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
    console.fact("time", times_text(facts.plan_s, timeline));
    console.fact("output", message(request.output, ": z,y,x ", to_string(facts.output.shape), ' ',
                                   name_of(facts.output.type)));
}

std::string to_json(const ConvolveRequest& request, const ConvolveFacts& facts, const Plan& plan,
                    const Timeline* timeline) {
    nlohmann::ordered_json json;
    json["convolume"] = version;
    json["input"] = to_json(request.image, facts.input);
    json["kernel"] = to_json(facts.kernel);
    json["kernel"]["sum"] = facts.kernel_sum;
    json["kernel"]["normalize"] = to_string(request.options.normalization);
    json["plan"] = nlohmann::ordered_json::parse(plan.to_json());
    if (timeline != nullptr) json["report"] = report_json(facts.plan_s, facts.executed, *timeline);
    json["output"] = {{"file", nullptr},
                      {"shape", shape_json(facts.output.shape)},
                      {"type", name_of(facts.output.type)}};
    if (!request.output.empty()) json["output"]["file"] = request.output;
    return dump(json);
}

}  // namespace convolume::cli
