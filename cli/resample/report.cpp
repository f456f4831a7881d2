// SPDX-License-Identifier: Apache-2.0
// Reports of `convolume resample`: sentences for people, JSON for programs.

#include "cli/resample/command.hpp"
#include "cli/text/extents.hpp"
#include "cli/text/quantity.hpp"

namespace convolume::cli {

std::string ResampleSteps::type_text() const {
    const auto named = io::stored_type_of_name(request_.output);
    const auto stored = request_.create.stored ? request_.create.stored : named;
    return stored ? io::to_string(*stored) : to_string(resampler_->result_type());
}

std::string ResampleSteps::output_text() const {
    return extents_text(result_dims_) + ' ' + type_text();
}

void ResampleSteps::report_plan(const Console& console) const {
    const ResampleOptions& options = resampler_->options();
    console.fact("signal", message(request_.signal, ": ", signal_info_.format, ", ",
                                   signal_info_.to_string()));
    std::string factor = message(options.up, '/', options.down, " with ", tap_count_,
                                 tap_count_ == 1 ? " tap" : " taps");
    if (rate_hz_)
        factor += message(
            ", from ", *rate_hz_, " Hz to ",
            *rate_hz_ * static_cast<double>(options.up) / static_cast<double>(options.down), " Hz");
    console.fact("factor", factor);
    if (request_.run.dry_run) console.fact("result", output_text());
}

void ResampleSteps::report_result(const Console& console, const RunTimes& times) const {
    if (executed_.clamped_low > 0 || executed_.clamped_high > 0)
        console.warning(message(executed_.clamped_low, " values below and ", executed_.clamped_high,
                                " above the range of ", type_text(),
                                " were clamped; store a wider type to keep them"));
    report_times(console, times);
    console.fact("output", message(request_.output, ": ", output_text()));
}

void ResampleSteps::fill_json(nlohmann::ordered_json& json, const RunTimes* times) const {
    const ResampleOptions& options = resampler_->options();
    json["input"] = {{"file", request_.signal},
                     {"format", signal_info_.format},
                     {"type", to_string(signal_info_.type)},
                     {"shape", extents_json(signal_info_.dims)},
                     {"rate_hz", nullptr}};
    if (rate_hz_) json["input"]["rate_hz"] = *rate_hz_;
    json["plan"] = {{"up", options.up}, {"down", options.down}, {"taps", tap_count_}};
    if (times != nullptr) json["report"] = report_json(executed_, *times);
    json["output"] = {
        {"file", nullptr}, {"shape", extents_json(result_dims_)}, {"type", type_text()}};
    if (!request_.output.empty()) json["output"]["file"] = request_.output;
}

}  // namespace convolume::cli
