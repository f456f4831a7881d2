// SPDX-License-Identifier: Apache-2.0
// What `convolume filter` reports: sentences for people, JSON for programs.

#include "cli/filter/command.hpp"
#include "cli/text/format.hpp"

namespace convolume::cli {

namespace {

std::string extents_text(const std::vector<index_t>& dims) {
    std::string text;
    for (const index_t extent : dims) text += message(text.empty() ? "" : "×", extent);
    return text;
}

std::string plan_line(const FilterPlan& plan) {
    std::string text = to_string(plan.method);
    if (plan.segment > 0) text += message(", segments of ", plan.segment);
    return text + message(" on ", plan.engine, ", chunks of ", plan.chunk, " in ",
                          format_bytes(plan.stream_bytes), ", predicted ",
                          format_duration(plan.seconds));
}

nlohmann::ordered_json file_json(const std::string& path, const io::SignalInfo& info) {
    return {{"file", path},
            {"format", info.format},
            {"type", to_string(info.type)},
            {"shape", info.dims}};
}

}  // namespace

std::string FilterSteps::output_text() const {
    return message(extents_text(result_dims_), ' ', to_string(bank_->result_type()),
                   ", of samples ", bank_->range().begin, " … ", bank_->range().end - 1,
                   " of the full result");
}

void FilterSteps::report_plan(const Console& console) const {
    console.fact("signal",
                 message(request_.signal, ": ", signal_.format, ", ", signal_.to_string()));
    for (const FilterFile& file : filters_)
        console.fact("filters",
                     message(file.path, ": ", file.info.format, ", ", file.info.to_string()));
    cli::report_plan(console, request_.run, bank_->plan().to_string(), plan_line(bank_->plan()));
    if (request_.run.dry_run) console.fact("result", output_text());
}

void FilterSteps::report_result(const Console& console, const RunTimes& times) const {
    if (executed_.nonfinite_inputs > 0)
        console.warning(message(executed_.nonfinite_inputs,
                                " NaN or infinite values of the signal were read as 0"));
    report_times(console, times);
    console.fact("output", message(request_.output, ": ", output_text()));
    if (!request_.positions.empty())
        console.fact("output",
                     message(request_.positions, ": positions of the peaks in it, int64"));
}

void FilterSteps::fill_json(nlohmann::ordered_json& json, const RunTimes* times) const {
    json["input"] = file_json(request_.signal, signal_);
    json["filters"] = {{"count", bank_->filters()}, {"taps", bank_->taps()}};
    for (const FilterFile& file : filters_)
        json["filters"]["files"].push_back(file_json(file.path, file.info));
    const FilterPlan plan = bank_->plan();
    json["plan"] = {{"method", to_string(plan.method)},
                    {"segment", plan.segment},
                    {"engine", plan.engine},
                    {"seconds", plan.seconds},
                    {"chunk", plan.chunk},
                    {"stream_bytes", plan.stream_bytes}};
    if (times != nullptr) json["report"] = report_json(executed_, *times);
    json["output"] = {{"file", nullptr},
                      {"shape", result_dims_},
                      {"type", to_string(bank_->result_type())},
                      {"range", {bank_->range().begin, bank_->range().end}}};
    if (!request_.output.empty()) json["output"]["file"] = request_.output;
    if (!request_.positions.empty()) json["output"]["positions"] = request_.positions;
}

}  // namespace convolume::cli
