// SPDX-License-Identifier: Apache-2.0
// Reports of `convolume correlate`: sentences for people, JSON for programs.

#include "cli/filter/report.hpp"

#include "cli/correlate/command.hpp"
#include "cli/text/extents.hpp"
#include "cli/text/quantity.hpp"

namespace convolume::cli {

void CorrelateSteps::tell_plan(const Facts& facts) const {
    SignalSteps::tell_plan(facts);
    const FilterBank& filters = bank_->filter_bank();
    facts.json["input"]["rate_hz"] = nullptr;
    if (rate_hz_) facts.json["input"]["rate_hz"] = *rate_hz_;
    facts.json["templates"] = {{"count", filters.filters()}, {"samples", filters.taps()}};
    tell_filters(facts, "bank", "templates", templates_);
    if (request_.chirps.samples > 0)
        facts.console.fact(
            "bank", message(filters.filters(), " chirps of ", request_.chirps.samples, " samples"));
    report_plan(facts.console, request_.run, filters.plan().to_string(),
                plan_line(filters.plan(), signal_info_.length_known()));
    facts.json["plan"] = plan_json(filters.plan());
    facts.json["plan"]["window"] = bank_->window();
}

std::string CorrelateSteps::result_text() const {
    if (request_.run.dry_run)
        return message("peaks of SNR ", request_.options.threshold, " in windows of ",
                       bank_->window(), " positions");
    const index_t peaks = table_->peaks();
    return message(peaks, peaks == 1 ? " peak" : " peaks",
                   peaks > 0 ? message(", SNR up to ", table_->strongest()) : "");
}

void CorrelateSteps::tell_output(const Facts& facts) const {
    SignalSteps::tell_output(facts);
    const bool is_done = !request_.run.dry_run;
    using Json = nlohmann::ordered_json;
    const index_t peaks = table_->peaks();
    facts.json["output"] = {
        {"file", request_.output.empty() ? Json() : Json(request_.output)},
        {"peaks", is_done ? Json(peaks) : Json()},
        {"strongest", is_done && peaks > 0 ? Json(table_->strongest()) : Json()}};
    if (request_.series.empty()) return;
    if (series_)
        facts.console.fact("output", message(request_.series, ": ", extents_text(series_dims_), ' ',
                                             to_string(result_type())));
    facts.json["output"]["snr"] = {{"file", request_.series},
                                   {"shape", extents_json(series_dims_)}};
}

}  // namespace convolume::cli
