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

void tell_filters(const Facts& facts, const char* label, const char* key,
                  const std::vector<FilterFile>& files) {
    for (const FilterFile& file : files) {
        facts.console.fact(label,
                           message(file.path, ": ", file.info.format, ", ", file.info.to_string()));
        facts.json[key]["files"].push_back(file_json(file.path, file.info));
    }
}

std::string FilterSteps::result_text() const {
    std::string text =
        message(SignalSteps::result_text(), ", of samples ", bank_->range().begin, " … ");
    if (is_end_known()) text += message(bank_->range().end - 1, ' ');
    return text + "of the full result";
}

void FilterSteps::tell_plan(const Facts& facts) const {
    SignalSteps::tell_plan(facts);
    facts.json["filters"] = {{"count", bank_->filters()}, {"taps", bank_->taps()}};
    tell_filters(facts, "filters", "filters", filters_);
    report_plan(facts.console, request_.run, bank_->plan().to_string(),
                plan_line(bank_->plan(), signal_info_.length_known()));
    facts.json["plan"] = plan_json(bank_->plan());
}

void FilterSteps::tell_output(const Facts& facts) const {
    SignalSteps::tell_output(facts);
    auto& output = facts.json["output"];
    output["range"] = {bank_->range().begin, bank_->range().end};
    if (!is_end_known()) output["range"][1] = nullptr;
    if (request_.positions.empty()) return;
    facts.console.fact(
        "output", message(request_.positions, ": positions of the peaks in the signal, int64"));
    output["positions"] = request_.positions;
}

}  // namespace convolume::cli
