#include "cli/deconvolve/report.hpp"

#include <sstream>

#include "cli/files/metadata_json.hpp"
#include "cli/run/report.hpp"
#include "cli/text/format.hpp"
#include "cli/version.hpp"

namespace convolume::cli {

namespace {

const char* edges_name(const DeconvolveOptions& options) {
    return options.boundary ? to_string(*options.boundary) : "extend";
}

std::string method_text(const DeconvolveOptions& options) {
    std::ostringstream text;
    text << to_string(options.method) << ", ";
    if (options.method == DeconvolveMethod::wiener)
        text << "noise to signal " << format_number(options.noise_to_signal) << ", ";
    else if (options.acceleration != Acceleration::none)
        text << to_string(options.acceleration) << ", ";
    if (options.method == DeconvolveMethod::richardson_lucy_tv)
        text << "weight " << format_number(options.tv_weight) << ", ";
    text << "at most " << options.iterations << " iterations, background "
         << (options.background ? format_number(*options.background) : "auto") << ", edges "
         << edges_name(options);
    return text.str();
}

std::string plan_line(const DeconvolvePlan& plan) {
    std::ostringstream text;
    text << "object z,y,x " << to_string(plan.object) << " on " << plan.engines << ", ";
    if (plan.on_device)
        text << format_bytes(plan.device_bytes) << " of its memory";
    else if (plan.device_bytes > 0)
        text << format_bytes(plan.device_bytes) << " of each GPU";
    text << (plan.device_bytes > 0 ? ", " : "") << format_bytes(plan.host_bytes)
         << " of host memory";
    return text.str();
}

ExecutionReport sum_of(const std::vector<DeconvolveReport>& volumes) {
    ExecutionReport sum;
    for (const DeconvolveReport& volume : volumes) {
        sum.seconds += volume.executed.seconds;
        sum.clamped_low += volume.executed.clamped_low;
        sum.clamped_high += volume.executed.clamped_high;
    }
    return sum;
}

}  // namespace

std::string iteration_text(const Iteration& iteration, DeconvolveMethod method) {
    const bool linear = method == DeconvolveMethod::wiener;
    return message("iteration ", iteration.number, " of ", iteration.of,
                   linear ? ", residual " : ", log-likelihood ",
                   format_number(linear ? iteration.residual : iteration.likelihood));
}

void report_plan(const Console& console, const DeconvolveRequest& request,
                 const DeconvolveFacts& facts, const Deconvolver& deconvolver) {
    console.fact("image", message(request.image, ": ", one_line(facts.input)));
    report_kernel(console, facts.psf,
                  message(", sum ", format_number(deconvolver.psf_sum(), 9), ", made 1"));
    if (const index_t negative = deconvolver.negative_psf_samples(); negative > 0)
        console.warning(message(negative, " negative samples of the PSF were set to 0"));
    console.fact("method", method_text(request.options));
    if (request.report.dry_run || console.verbose())
        console.text(deconvolver.plan().to_string());
    else
        console.fact("plan", plan_line(deconvolver.plan()));
}

void report_end(const Console& console, const DeconvolveRequest& request,
                const DeconvolveFacts& facts, const Timeline& timeline) {
    index_t negative = 0;
    for (const DeconvolveReport& volume : facts.volumes) {
        negative += volume.negative_pixels;
        console.fact("result", message(iteration_text(volume.last, request.options.method),
                                       ", background ", format_number(volume.background)));
    }
    if (negative > 0)
        console.warning(message(negative, " negative pixels of the image were read as 0"));
    const ExecutionReport executed = sum_of(facts.volumes);
    if (executed.clamped_low > 0 || executed.clamped_high > 0)
        console.warning(message(executed.clamped_low, " values below and ", executed.clamped_high,
                                " above the range of ", name_of(facts.output.type),
                                " were clamped; choose a wider --output-type to keep them"));
    console.fact("time", times_text(facts.plan_s, timeline));
    console.fact("output", message(request.output, ": z,y,x ", to_string(facts.output.shape), ' ',
                                   name_of(facts.output.type)));
}

std::string to_json(const DeconvolveRequest& request, const DeconvolveFacts& facts,
                    const Deconvolver& deconvolver, const Timeline* timeline) {
    const DeconvolveOptions& options = request.options;
    const DeconvolvePlan& plan = deconvolver.plan();
    nlohmann::ordered_json json;
    json["convolume"] = version;
    json["input"] = to_json(request.image, facts.input);
    json["kernel"] = to_json(facts.psf);
    json["kernel"]["sum"] = deconvolver.psf_sum();
    json["kernel"]["negative_samples"] = deconvolver.negative_psf_samples();
    json["method"] = {{"name", to_string(options.method)},
                      {"acceleration", to_string(options.acceleration)},
                      {"iterations", options.iterations},
                      {"edges", edges_name(options)},
                      {"tv", options.tv_weight},
                      {"noise_to_signal", options.noise_to_signal},
                      {"stop", nullptr},
                      {"background", "auto"}};
    if (options.stop) json["method"]["stop"] = *options.stop;
    if (options.background) json["method"]["background"] = *options.background;
    json["plan"] = {{"engines", plan.engines},           {"on_device", plan.on_device},
                    {"object", shape_json(plan.object)}, {"grid", shape_json(plan.grid)},
                    {"array_bytes", plan.array_bytes},   {"device_bytes", plan.device_bytes},
                    {"host_bytes", plan.host_bytes}};
    if (timeline != nullptr) {
        json["report"] = report_json(facts.plan_s, sum_of(facts.volumes), *timeline);
        for (const DeconvolveReport& volume : facts.volumes)
            json["report"]["volumes"].push_back({{"iterations", volume.iterations},
                                                 {"likelihood", volume.last.likelihood},
                                                 {"residual", volume.last.residual},
                                                 {"restarts", volume.restarts},
                                                 {"background", volume.background},
                                                 {"negative_pixels", volume.negative_pixels}});
    }
    json["output"] = {{"file", nullptr},
                      {"shape", shape_json(facts.output.shape)},
                      {"type", name_of(facts.output.type)}};
    if (!request.output.empty()) json["output"]["file"] = request.output;
    return dump(json);
}

}  // namespace convolume::cli
