// SPDX-License-Identifier: Apache-2.0
// Reports of `convolume deconvolve`: sentences for people, JSON for programs.

#include <algorithm>

#include "cli/deconvolve/command.hpp"
#include "cli/files/metadata_json.hpp"
#include "cli/files/result_output.hpp"
#include "cli/run/errors.hpp"
#include "cli/text/quantity.hpp"
#include "convolume/error.hpp"
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
        text << (uses("tv_weight") ? "heavy ball" : to_string(options.acceleration)) << ", ";
    if (uses("tv_weight"))
        text << "weight " << (options.tv_weight ? format_number(*options.tv_weight) : "auto")
             << ", ";
    if (uses("unmatched")) text << options.unmatched << " of them unmatched, ";
    if (uses("noise_to_signal"))
        text << "noise to signal " << format_number(options.noise_to_signal) << ", ";
    text << "at most " << *options.iterations << " iterations, background "
         << (options.background ? format_number(*options.background) : "auto")
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
    const std::string text = message(", background ", format_number(volume.background));
    if (!volume.background_error) return text;
    return message(text, " ± ", format_number(*volume.background_error, 2));
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
    if (!volume.offset_error) return ", offset 0, since the noise tells none";
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

std::string plan_line(const DeconvolvePlan& plan) {
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

nlohmann::ordered_json plan_json(const DeconvolvePlan& plan) {
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

}  // namespace

std::string iteration_text(const Iteration& iteration, const DeconvolveOptions& options) {
    const DeconvolveMethod method = options.method;
    const bool likely = has_likelihood(method);
    const std::string text =
        message("iteration ", iteration.number, " of ", iteration.of,
                likely ? ", log-likelihood " : ", residual ",
                format_number(likely ? iteration.likelihood : iteration.residual));
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

void DeconvolveSteps::report_plan(const Console& all) const {
    // Whether they are the most important ones is known at the end.
    warnings_.clear();
    const Console console = request_.run.dry_run ? all : all.collecting_warnings(warnings_);
    console.fact("image", message(request_.image, ": ", one_line(input_metadata_)));
    warn_of_input(console, request_.image, input_metadata_);
    if (initial_image_reader_)
        warn_of_input(console, request_.start, initial_image_reader_->metadata());
    kernels_.report_each(console, [&](const Kernels::Ready& psf) {
        const Deconvolver& deconvolver = *psf.solver;
        report_kernel(
            console, psf.file,
            message(", sum ", format_number(deconvolver.psf_sum(), 9), ", normalized to 1"));
        report_depths(console, psf.file);
        if (const index_t negative = deconvolver.negative_psf_samples(); negative > 0)
            console.warning(message(negative, " negative samples of the PSF were set to 0"));
        warn_of_input(console, psf.file.path, psf.file.metadata);
        console.fact("method", method_text(options_));
        const DeconvolvePlan plan = deconvolver.plan();
        cli::report_plan(console, request_.run, plan.to_string(), plan_line(plan));
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

void DeconvolveSteps::report_result(const Console& console, const RunTimes& times) const {
    for (const std::string& sentence : refined_) console.fact("refined", sentence);
    for (std::size_t number = 0; number < volumes_.size(); ++number) {
        const DeconvolveReport& volume = volumes_[number];
        if (!missing_.empty()) {
            const std::string place = place_text(static_cast<index_t>(number));
            for (const std::string& found : missing_[number].findings)
                console.fact("left out", message(place, found));
            if (const auto& saturated = missing_[number].saturated;
                saturated && options_.saturation)
                console.fact("saturated", message(place, saturated->finding, ": lower bounds"));
        }
        console.fact("result",
                     message(place_text(static_cast<index_t>(number)),
                             iteration_text(volume.last, request_.options), misfit_text(volume),
                             background_text(volume), offset_text(volume, request_.options)));
        const bool chose_weight =
            uses_option(request_.options.method, "tv_weight") && !request_.options.tv_weight;
        if (chose_weight)
            console.fact("weight", message(format_number(volume.tv_weight, 3),
                                           " of the total variation, gain ",
                                           format_number(volume.photons.gain)));
        if (volume.coarse_iterations > 0)
            console.fact("start", message("from ", volume.coarse_iterations,
                                          " iterations on coarser images"));
        if (volume.searched > 0)
            console.fact("search",
                         message(volume.iterations, " iterations found best in ", volume.searched,
                                 ", gain ", format_number(volume.photons.gain)));
    }
    collect_warnings(console);
    constexpr std::size_t most_warnings = 3;
    const std::size_t shown =
        console.verbose() ? warnings_.size() : std::min(warnings_.size(), most_warnings);
    for (std::size_t i = 0; i < shown; ++i) console.warning(warnings_[i]);
    if (warnings_.size() > shown)
        console.fact("more",
                     message(warnings_.size() - shown, " further warnings: -v prints them"));
    report_times(console, times);
    if (estimates_ && !estimates_->written().empty())
        console.fact("dumped", message(estimates_->written().size(), " estimates, the last one ",
                                       estimates_->written().back()));
    report_output(console, request_.output, output_metadata_, request_.create.compression);
    if (!request_.second_output.empty()) report_uncertainty(console);
}

// Puts the warnings of the run before those of the plan: what is lost first, then what changes the
// result most.
void DeconvolveSteps::collect_warnings(const Console& console) const {
    std::vector<std::string> all;
    const Console collecting = console.collecting_warnings(all);
    warn_of_nonfinite_result(collecting, nonfinite_, output_metadata_.type);
    warn_of_clamped_values(collecting, executed(), output_metadata_.type);
    const KernelFile& psf = kernels_.all().front()->file;
    for (const Sentence& warning :
         restoration_warnings({volumes_, options_, psf.made.has_value(), request_.refines_psf,
                               saturated_text(), light_.least_share()}))
        collecting.warning(in_words_of_command(warning));
    warnings_.insert(warnings_.begin(), all.begin(), all.end());
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

void DeconvolveSteps::report_uncertainty(const Console& console) const {
    console.fact(
        "noise",
        message(request_.second_output, ": z,y,x ", to_string(output_metadata_.shape),
                " float32, standard deviation from ", request_.options.splits,
                " splits of the photons, gain ", format_number(volumes_.front().photons.gain)));
}

void DeconvolveSteps::fill_json(nlohmann::ordered_json& json, const RunTimes* times) const {
    const DeconvolveOptions& options = options_;
    json["input"] = to_json(request_.image, input_metadata_);
    json["kernel"] = kernels_.json_of_each([&](const Kernels::Ready& psf) {
        nlohmann::ordered_json one = to_json(psf.file);
        one["sum"] = psf.solver->psf_sum();
        one["negative_samples"] = psf.solver->negative_psf_samples();
        kernels_.add_channels(one, psf);
        return one;
    });
    json["method"] = {{"name", to_string(options.method)},
                      {"acceleration", to_string(options.acceleration)},
                      {"iterations", *options.iterations},
                      {"edges", boundary_name(options)},
                      {"tv", options.tv_weight ? nlohmann::ordered_json(*options.tv_weight)
                                               : nlohmann::ordered_json("auto")},
                      {"noise_to_signal", options.noise_to_signal},
                      {"consensus", options.consensus},
                      {"unmatched", options.unmatched},
                      {"coarse_start", *options.coarse_start},
                      {"splits", options.splits},
                      {"stop", nullptr},
                      {"background", "auto"},
                      {"offset", "auto"}};
    if (options.stop) json["method"]["stop"] = *options.stop;
    if (options.hold_out) json["method"]["stop"] = "auto";
    if (options.background) json["method"]["background"] = *options.background;
    if (options.offset) json["method"]["offset"] = *options.offset;
    json["plan"] = kernels_.json_of_each(
        [](const Kernels::Ready& psf) { return plan_json(psf.solver->plan()); });
    if (times != nullptr) {
        json["report"] = report_json(executed(), *times);
        json["report"]["nonfinite_outputs"] = nonfinite_;
        json["report"]["warnings"] = warnings_;
        for (std::size_t i = 0; i < volumes_.size(); ++i) {
            const DeconvolveReport& volume = volumes_[i];
            const auto place = place_of(static_cast<index_t>(i));
            json["report"]["volumes"].push_back(
                {{"frame", place.frame},
                 {"channel", place.channel},
                 {"iterations", volume.iterations},
                 {"likelihood", volume.last.likelihood},
                 {"residual", volume.last.residual},
                 {"coarse_iterations", volume.coarse_iterations},
                 {"restarts", volume.restarts},
                 {"background", volume.background},
                 {"background_error", volume.background_error
                                          ? nlohmann::ordered_json(*volume.background_error)
                                          : nlohmann::ordered_json()},
                 {"offset", volume.photons.offset},
                 {"offset_error", volume.offset_error ? nlohmann::ordered_json(*volume.offset_error)
                                                      : nlohmann::ordered_json()},
                 {"darkest", volume.darkest ? nlohmann::ordered_json(*volume.darkest)
                                            : nlohmann::ordered_json()},
                 {"negative_pixels", volume.negative_pixels},
                 {"misfit", volume.misfit ? nlohmann::ordered_json(*volume.misfit)
                                          : nlohmann::ordered_json()},
                 {"missing_pixels", volume.missing_pixels},
                 {"saturated_pixels", volume.saturated_pixels}});
            auto& json_of_volume = json["report"]["volumes"].back();
            const bool is_rlgc = uses_option(options.method, "consensus");
            const bool has_tv = uses_option(options.method, "tv_weight");
            if (has_tv) json_of_volume["tv"] = volume.tv_weight;
            if (volume.searched == 0 && !is_rlgc && options.splits == 0 &&
                (!has_tv || options.tv_weight))
                continue;
            if (is_rlgc)
                json_of_volume["consenting"] = volume.last.consenting;
            else if (volume.searched > 0)
                json_of_volume["searched"] = volume.searched;
            json_of_volume["gain"] = volume.photons.gain;
        }
    }
    if (estimates_) json["estimates"] = estimates_->written();
    json["output"] = output_json(request_.output, output_metadata_);
    if (!request_.second_output.empty()) json["output"]["uncertainty"] = request_.second_output;
}

}  // namespace convolume::cli
