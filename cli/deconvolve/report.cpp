// SPDX-License-Identifier: Apache-2.0
// Reports of `convolume deconvolve`: sentences for people, JSON for programs.

#include "cli/run/report.hpp"

#include <algorithm>

#include "cli/deconvolve/command.hpp"
#include "cli/run/errors.hpp"
#include "cli/text/quantity.hpp"
#include "convolume/error.hpp"
#include "deconvolve/report_table.hpp"
#include "operations/warnings/psf.hpp"
#include "operations/warnings/restoration.hpp"

namespace convolume::cli {

namespace {

std::string boundary_name(const DeconvolveOptions& options) {
    return options.boundary ? to_string(*options.boundary) : "extend";
}

std::string method_text(const DeconvolveOptions& options) {
    TextStream text;
    text << to_string(options.method) << ", ";
    const auto uses = [&](const char* option) { return uses_option(options.method, option); };
    if (uses("acceleration") && options.acceleration != Acceleration::none)
        text << (uses("tv_weight")   ? "heavy ball"
                 : uses("roughness") ? "momentum"
                                     : to_string(options.acceleration))
             << ", ";
    if (uses("tv_weight"))
        text << "weight " << (options.tv_weight ? format_number(*options.tv_weight) : "auto")
             << ", ";
    if (uses("roughness"))
        text << "roughness " << (options.roughness ? format_number(*options.roughness) : "auto")
             << ", ";
    if (uses("unmatched")) text << options.unmatched << " of them unmatched, ";
    if (uses("noise_to_signal"))
        text << "noise to signal " << format_number(options.noise_to_signal) << ", ";
    text << "at most " << *options.iterations << " iterations, background "
         << (options.background               ? format_number(*options.background)
             : options.has_varying_background ? "smooth"
                                              : "auto")
         << (options.offset ? message(", offset ", format_number(*options.offset)) : "")
         << ", edges " << boundary_name(options);
    if (options.hold_out) text << ", as many as two halves of the photons agree on";
    if (*options.coarse_start > 0)
        text << ", after " << (options.hold_out ? "a start" : std::to_string(*options.coarse_start))
             << " on coarser images";
    return text.str();
}

/// Returns ", background 102.9 ± 1.5", or the background alone if it was given.
std::string background_text(const DeconvolveReport& volume) {
    std::string text = message(", background ", format_number(volume.background));
    if (volume.background_error) text += message(" ± ", format_number(*volume.background_error, 2));
    if (volume.background_range)
        text += message(" that varies by ", format_number(*volume.background_range, 2));
    return text;
}

/// Returns ", misfit 1.08 of 1 for noise alone"; nothing if the noise tells no photons.
std::string misfit_text(const DeconvolveReport& volume) {
    if (!volume.misfit) return "";
    return message(", misfit ", format_number(*volume.misfit, 3), " of 1 for noise alone");
}

/// Returns ", offset 98.2 ± 0.4 seen from the noise" or the like; nothing if the offset does not
/// matter to the method.
std::string offset_text(const DeconvolveReport& volume, const DeconvolveOptions& options) {
    if (!has_likelihood(options.method)) return "";
    const std::string offset = format_number(volume.photons.offset);
    if (options.offset || (options.background && *options.background <= 0))
        return message(", offset ", offset);
    if (!volume.offset_error)
        return message(", offset ", offset, volume.photons.offset < 0 ? " by rounding" : "",
                       ", since the noise tells none");
    return message(", offset ", offset, " ± ", format_number(*volume.offset_error, 2),
                   " seen from the noise");
}

/// Reports the PSFs of greater depths, and the depths of all.
void report_depths(const Console& console, const KernelFile& psf) {
    if (psf.deeper.empty()) return;
    TextStream depths;
    depths << format_number(psf.depth_um);
    for (const KernelFile& deeper : psf.deeper) {
        report_kernel(console, deeper, ", normalized to 1");
        depths << ", " << format_number(deeper.depth_um);
    }
    console.fact("depths", message("the PSFs are of planes ", depths.str(),
                                   " µm from the first one; others are interpolated"));
}

std::string line_of_plan(const DeconvolvePlan& plan) {
    TextStream text;
    text << "object z,y,x " << to_string(plan.object) << " on " << plan.engines << ", ";
    if (plan.on_device)
        text << format_bytes(plan.device_bytes) << " of its memory";
    else if (plan.device_bytes > 0)
        text << format_bytes(plan.device_bytes) << " of each GPU";
    text << (plan.device_bytes > 0 ? ", " : "") << format_bytes(plan.host_bytes)
         << " of host memory";
    for (const Shape3& shape : plan.coarse_images)
        text << (&shape == &plan.coarse_images.front() ? ", begins with images of " : " and ")
             << to_string(shape);
    if (plan.coarse_iterations > 0 && plan.coarse_images.empty())
        text << ", too small for a coarse start";
    if (plan.splits > 0)
        text << ", then " << 2 * plan.splits << " further runs for the uncertainty";
    return text.str();
}

nlohmann::ordered_json json_of_plan(const DeconvolvePlan& plan) {
    nlohmann::ordered_json json{
        {"engines", plan.engines},           {"on_device", plan.on_device},
        {"by_walks", plan.by_walks},         {"tiles", plan.tiles},
        {"object", shape_json(plan.object)}, {"grid", shape_json(plan.grid)},
        {"array_bytes", plan.array_bytes},   {"device_bytes", plan.device_bytes},
        {"host_bytes", plan.host_bytes},     {"further_runs", 2 * plan.splits}};
    if (plan.coarse_iterations == 0) return json;
    json["coarse_images"] = nlohmann::ordered_json::array();
    for (const Shape3& shape : plan.coarse_images)
        json["coarse_images"].push_back(shape_json(shape));
    return json;
}

using Json = nlohmann::ordered_json;

Json or_auto(const std::optional<double>& value) {
    return value ? Json(*value) : Json("auto");
}

Json method_json(const DeconvolveOptions& options) {
    return {{"name", to_string(options.method)},
            {"acceleration", to_string(options.acceleration)},
            {"iterations", *options.iterations},
            {"edges", boundary_name(options)},
            {"tv", or_auto(options.tv_weight)},
            {"roughness", or_auto(options.roughness)},
            {"noise_to_signal", options.noise_to_signal},
            {"consensus", options.consensus},
            {"unmatched", options.unmatched},
            {"coarse_start", *options.coarse_start},
            {"splits", options.splits},
            {"stop", options.hold_out ? Json("auto") : or_null(options.stop)},
            {"background",
             options.has_varying_background ? Json("smooth") : or_auto(options.background)},
            {"offset", or_auto(options.offset)},
            {"read_noise", options.read_noise}};
}

}  // namespace

std::string iteration_text(const Iteration& iteration, const DeconvolveOptions& options) {
    const DeconvolveMethod method = options.method;
    const bool likely = has_likelihood(method);
    const std::string text = message(
        "iteration ", iteration.number, " of ", iteration.of,
        likely ? ", log-likelihood " : ", residual ",
        format_number(likely ? iteration.likelihood : iteration.residual),
        likely && iteration.residual > 0 ? ", residual " + format_number(iteration.residual, 2)
                                         : "");
    if (iteration.split > 0)
        return message("split ", iteration.split, " of ", options.splits, ", ", text);
    if (uses_option(method, "consensus") && !iteration.searching)
        return message(text, ", ", format_number(100 * iteration.consenting, 3),
                       " % of voxels agree");
    if (!iteration.searching) return text;
    const std::string search = message("search, ", text);
    if (iteration.held_out == 0) return search;
    return message(search, ", halves differ by ", format_number(iteration.held_out));
}

ExecutionReport DeconvolveSteps::executed() const {
    ExecutionReport sum;
    for (const DeconvolveReport& volume : volumes_) sum += volume.executed;
    return sum;
}

void DeconvolveSteps::tell_plan(const Facts& facts) const {
    ImageSteps::tell_plan(facts);
    const Console& console = facts.console;
    if (initial_image_reader_)
        console.warnings(input_warnings(request_.start, initial_image_reader_->metadata()));
    facts.json["method"] = method_json(options_);
    kernels_.tell_each(facts, [&](const Kernels::Ready& psf, auto& kernel, auto& plan) {
        const Deconvolver& deconvolver = *psf.solver;
        const index_t negative = deconvolver.negative_psf_samples();
        report_kernel(
            console, psf.file,
            message(", sum ", format_number(deconvolver.psf_sum(), 9), ", normalized to 1"));
        report_depths(console, psf.file);
        if (negative > 0) console.warning(negative_samples_warning(negative));
        console.warnings(input_warnings(psf.file.path, psf.file.metadata));
        console.fact("method", method_text(options_));
        report_plan(console, request_.run, deconvolver.plan().to_string(),
                    line_of_plan(deconvolver.plan()));
        kernel["sum"] = deconvolver.psf_sum();
        kernel["negative_samples"] = negative;
        plan = json_of_plan(deconvolver.plan());
    });
}

/// Returns frame and channel of a volume, with their numbers in the file.
NonfiniteSample::Location DeconvolveSteps::place_of(index_t volume) const {
    return reader_->place_in_file(
        {{}, volume / input_metadata_.channels, volume % input_metadata_.channels});
}

/// Returns "frame 3, channel 1 (GFP): ", with numbers of the file; of one frame or channel, less.
std::string DeconvolveSteps::place_text(index_t volume) const {
    const auto c = static_cast<std::size_t>(volume % input_metadata_.channels);
    const auto place = place_of(volume);
    TextStream text;
    if (input_metadata_.frames > 1) text << "frame " << place.frame;
    if (input_metadata_.channels > 1) {
        text << (input_metadata_.frames > 1 ? ", " : "") << "channel " << place.channel;
        const auto& names = input_metadata_.channel_names;
        if (c < names.size() && !names[c].empty()) text << " (" << names[c] << ')';
    }
    return text.str().empty() ? "" : text.str() + ": ";
}

void DeconvolveSteps::tell_result(const Facts& facts) const {
    ImageSteps::tell_result(facts);
    for (const std::string& sentence : refined_) facts.console.fact("refined", sentence);
    for (std::size_t c = 0; c < bleachings_.size(); ++c) {
        const std::string channel =
            bleachings_.size() > 1
                ? message("channel ", kernels_.number(static_cast<index_t>(c)), ": ")
                : "";
        facts.console.fact("bleach", message(channel, bleachings_[c].finding));
        facts.json["report"]["bleaching"].push_back({{"per_plane", bleachings_[c].per_plane},
                                                     {"per_time", bleachings_[c].per_time},
                                                     {"finding", bleachings_[c].finding}});
    }
    for (std::size_t i = 0; i < volumes_.size(); ++i) tell_volume(facts, static_cast<index_t>(i));
    for (const Sentence& warning : restoration_warnings(
             {volumes_, options_, kernels_.all().front()->file.made.has_value(),
              request_.refines_psf, better_optics_, saturated_text(), light_.least_share()}))
        facts.console.warning(in_words_of_command(warning));
}

void DeconvolveSteps::tell_volume(const Facts& facts, index_t number) const {
    const Console& console = facts.console;
    const DeconvolveReport& volume = volumes_[static_cast<std::size_t>(number)];
    const std::string place = place_text(number);
    if (!missing_.empty()) {
        const MissingPixels& missing = missing_[static_cast<std::size_t>(number)];
        for (const std::string& found : missing.findings)
            console.fact("left out", message(place, found));
        if (missing.saturated && options_.saturation)
            console.fact("saturated", message(place, missing.saturated->finding, ": lower bounds"));
    }
    console.fact("result",
                 message(place, iteration_text(volume.last, request_.options), misfit_text(volume),
                         background_text(volume), offset_text(volume, request_.options)));
    const bool has_tv = uses_option(options_.method, "tv_weight");
    const std::string gain = format_number(volume.photons.gain);
    if (has_tv && !request_.options.tv_weight)
        console.fact("weight", message(format_number(volume.tv_weight, 3),
                                       " of the total variation, gain ", gain));
    if (uses_option(options_.method, "roughness") && !request_.options.roughness)
        console.fact(
            "weight",
            message(
                format_number(volume.roughness, 3), " of the roughness, gain ", gain,
                volume.searched > 0 ? message(", found in ", volume.searched, " iterations") : ""));
    if (volume.coarse_iterations > 0)
        console.fact("start",
                     message("from ", volume.coarse_iterations, " iterations on coarser images"));
    if (volume.searched > 0 && !uses_option(options_.method, "roughness"))
        console.fact("search", message(volume.iterations, " iterations found best in ",
                                       volume.searched, ", gain ", gain));
    const auto at = place_of(number);
    Json json{{"frame", at.frame}, {"channel", at.channel}};
    for_each_fact(volume, [&](const char* name, const auto& value, const char*, const char*) {
        if constexpr (requires { value.has_value(); })
            json[name] = or_null(value);
        else
            json[name] = value;
    });
    facts.json["report"]["volumes"].push_back(std::move(json));
}

void DeconvolveSteps::tell_output(const Facts& facts) const {
    if (estimates_) {
        const std::vector<std::string>& written = estimates_->written();
        facts.json["estimates"] = written;
        if (!written.empty())
            facts.console.fact(
                "dumped", message(written.size(), " estimates, the last one ", written.back()));
    }
    ImageSteps::tell_output(facts);
    if (request_.second_output.empty()) return;
    facts.json["output"]["uncertainty"] = request_.second_output;
    if (volumes_.empty()) return;
    facts.console.fact(
        "noise",
        message(request_.second_output, ": z,y,x ", to_string(output_metadata_.shape),
                " float32, standard deviation from ", request_.options.splits,
                " splits of the photons, gain ", format_number(volumes_.front().photons.gain)));
}

// Returns a sentence on saturated pixels that the method compares.
std::string DeconvolveSteps::saturated_text() const {
    if (has_likelihood(options_.method)) return {};
    const auto found = std::find_if(missing_.begin(), missing_.end(), [](const MissingPixels& one) {
        return one.saturated.has_value();
    });
    if (found == missing_.end()) return {};
    return message(place_text(found - missing_.begin()), found->saturated->finding);
}

}  // namespace convolume::cli
