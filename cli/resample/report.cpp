// SPDX-License-Identifier: Apache-2.0
// Reports of `convolume resample`: sentences for people, JSON for programs.

#include "cli/resample/command.hpp"
#include "cli/text/extents.hpp"
#include "cli/text/quantity.hpp"

namespace convolume::cli {

std::string ResampleSteps::output_text() const {
    return extents_text(result_dims_) + ' ' + type_text(resampler_->result_type());
}

void ResampleSteps::report_plan(const Console& console) const {
    const ResampleOptions& options = resampler_->options();
    report_signal(console);
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
    warn_of_samples(console, resampler_->result_type());
    report_times(console, times);
    console.fact("output", message(request_.output, ": ", output_text()));
}

void ResampleSteps::fill_json(nlohmann::ordered_json& json, const RunTimes* times) const {
    const ResampleOptions& options = resampler_->options();
    json["input"] = file_json(request_.signal, signal_info_);
    json["input"]["rate_hz"] = nullptr;
    if (rate_hz_) json["input"]["rate_hz"] = *rate_hz_;
    json["plan"] = {{"up", options.up}, {"down", options.down}, {"taps", tap_count_}};
    if (times != nullptr) json["report"] = report_json(executed_, *times);
    json["output"] = output_json(result_dims_, resampler_->result_type());
}

}  // namespace convolume::cli
