// SPDX-License-Identifier: Apache-2.0
// Reports of `convolume channelize`: sentences for people, JSON for programs.

#include "cli/channelize/command.hpp"
#include "cli/text/quantity.hpp"

namespace convolume::cli {

std::string ChannelizeSteps::output_text() const {
    std::string text;
    for (const index_t extent : result_dims())
        text += (text.empty() ? "" : "×") + (extent == unknown_samples ? "?" : message(extent));
    return message(text, ' ', type_text(channelizer_->plan().frame_type),
                   request_.writes_stdout() ? ", frames × channels" : ", channels × frames");
}

void ChannelizeSteps::report_plan(const Console& console) const {
    const ChannelizerPlan& plan = channelizer_->plan();
    report_signal(console);
    const std::string line =
        message(plan.channels, " channels, ", plan.taps_per_channel, " taps each, a frame every ",
                plan.step, " samples, ", plan.method, " on ", plan.engine);
    cli::report_plan(console, request_.run, plan.to_string(), line);
    if (request_.run.dry_run) console.fact("result", output_text());
}

void ChannelizeSteps::report_result(const Console& console, const RunTimes& times) const {
    warn_of_samples(console, channelizer_->plan().frame_type);
    report_times(console, times);
    console.fact("output", message(request_.output, ": ", output_text()));
}

void ChannelizeSteps::fill_json(nlohmann::ordered_json& json, const RunTimes* times) const {
    const ChannelizerPlan& plan = channelizer_->plan();
    json["input"] = file_json(request_.signal, signal_info_);
    json["plan"] = {{"channels", plan.channels}, {"taps_per_channel", plan.taps_per_channel},
                    {"step", plan.step},         {"first", plan.first},
                    {"engine", plan.engine},     {"method", plan.method}};
    if (times != nullptr) json["report"] = report_json(executed_, *times);
    json["output"] = output_json(result_dims(), plan.frame_type);
}

}  // namespace convolume::cli
