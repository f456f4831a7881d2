// SPDX-License-Identifier: Apache-2.0
// Reports of `convolume filter`: sentences for people, JSON for programs.

#include "cli/filter/report.hpp"

#include "cli/filter/command.hpp"
#include "cli/text/extents.hpp"
#include "cli/text/quantity.hpp"

namespace convolume::cli {

std::string plan_line(const FilterPlan& plan, bool whole) {
    std::string text = to_string(plan.method);
    if (plan.segment > 0) text += message(", segments of ", plan.segment);
    return text + message(" on ", plan.engine, ", chunks of ", plan.chunk, " in ",
                          format_bytes(plan.stream_bytes), ", predicted ",
                          format_duration(plan.seconds), whole ? "" : " for each");
}

nlohmann::ordered_json plan_json(const FilterPlan& plan) {
    return {{"method", to_string(plan.method)},
            {"segment", plan.segment},
            {"engine", plan.engine},
            {"seconds", plan.seconds},
            {"chunk", plan.chunk},
            {"stream_bytes", plan.stream_bytes}};
}

std::string FilterSteps::output_text() const {
    std::string text = message(extents_text(result_dims_), ' ', type_text(bank_->result_type()),
                               ", of samples ", bank_->range().begin, " … ");
    if (is_end_known()) text += message(bank_->range().end - 1, ' ');
    return text + "of the full result";
}

void FilterSteps::report_plan(const Console& console) const {
    report_signal(console);
    for (const FilterFile& file : filters_)
        console.fact("filters",
                     message(file.path, ": ", file.info.format, ", ", file.info.to_string()));
    cli::report_plan(console, request_.run, bank_->plan().to_string(),
                     plan_line(bank_->plan(), signal_info_.length_known()));
    if (request_.run.dry_run) console.fact("result", output_text());
}

void FilterSteps::report_result(const Console& console, const RunTimes& times) const {
    warn_of_samples(console, bank_->result_type());
    report_times(console, times);
    console.fact("output", message(request_.output, ": ", output_text()));
    if (!request_.positions.empty())
        console.fact("output",
                     message(request_.positions, ": positions of the peaks in the signal, int64"));
}

void FilterSteps::fill_json(nlohmann::ordered_json& json, const RunTimes* times) const {
    json["input"] = file_json(request_.signal, signal_info_);
    json["filters"] = {{"count", bank_->filters()}, {"taps", bank_->taps()}};
    for (const FilterFile& file : filters_)
        json["filters"]["files"].push_back(file_json(file.path, file.info));
    json["plan"] = plan_json(bank_->plan());
    if (times != nullptr) json["report"] = report_json(executed_, *times);
    json["output"] = output_json(result_dims_, bank_->result_type());
    json["output"]["range"] = {bank_->range().begin, bank_->range().end};
    if (!is_end_known()) json["output"]["range"][1] = nullptr;
    if (!request_.positions.empty()) json["output"]["positions"] = request_.positions;
}

}  // namespace convolume::cli
