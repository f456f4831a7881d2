// SPDX-License-Identifier: Apache-2.0
// Reports of `convolume channelize`: sentences for people, JSON for programs.

#include "cli/channelize/command.hpp"
#include "cli/text/extents.hpp"
#include "cli/text/quantity.hpp"

namespace convolume::cli {

std::string ChannelizeSteps::type_text() const {
    const auto named = io::stored_type_of_name(request_.output);
    const auto stored = request_.create.stored ? request_.create.stored : named;
    return stored ? io::to_string(*stored) : to_string(channelizer_->plan().frame_type);
}

std::string ChannelizeSteps::output_text() const {
    std::string text;
    for (const index_t extent : result_dims())
        text += (text.empty() ? "" : "×") + (extent == unknown_samples ? "?" : message(extent));
    return message(text, ' ', type_text(),
                   request_.writes_stdout() ? ", frames × channels" : ", channels × frames");
}

void ChannelizeSteps::report_plan(const Console& console) const {
    const ChannelizerPlan& plan = channelizer_->plan();
    console.fact("signal", message(request_.signal, ": ", signal_info_.format, ", ",
                                   signal_info_.to_string()));
    const std::string line =
        message(plan.channels, " channels, ", plan.taps_per_channel, " taps each, a frame every ",
                plan.step, " samples, ", plan.method, " on ", plan.engine);
    cli::report_plan(console, request_.run, plan.to_string(), line);
    if (request_.run.dry_run) console.fact("result", output_text());
}

void ChannelizeSteps::report_result(const Console& console, const RunTimes& times) const {
    if (executed_.nonfinite_inputs > 0)
        console.warning(message(executed_.nonfinite_inputs,
                                " NaN or infinite values of the signal were read as 0"));
    if (executed_.clamped_low > 0 || executed_.clamped_high > 0)
        console.warning(message(executed_.clamped_low, " values below and ", executed_.clamped_high,
                                " above the range of ", type_text(),
                                " were clamped; store a wider type to keep them"));
    report_times(console, times);
    console.fact("output", message(request_.output, ": ", output_text()));
}

void ChannelizeSteps::fill_json(nlohmann::ordered_json& json, const RunTimes* times) const {
    const ChannelizerPlan& plan = channelizer_->plan();
    json["input"] = {{"file", request_.signal},
                     {"format", signal_info_.format},
                     {"type", to_string(signal_info_.type)},
                     {"shape", extents_json(signal_info_.dims)}};
    json["plan"] = {{"channels", plan.channels}, {"taps_per_channel", plan.taps_per_channel},
                    {"step", plan.step},         {"first", plan.first},
                    {"engine", plan.engine},     {"method", plan.method}};
    if (times != nullptr) json["report"] = report_json(executed_, *times);
    json["output"] = {
        {"file", nullptr}, {"shape", extents_json(result_dims())}, {"type", type_text()}};
    if (!request_.output.empty()) json["output"]["file"] = request_.output;
}

}  // namespace convolume::cli
