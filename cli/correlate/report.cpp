// SPDX-License-Identifier: Apache-2.0
// Reports of `convolume correlate`: sentences for people, JSON for programs.

#include "cli/filter/report.hpp"

#include "cli/correlate/command.hpp"
#include "cli/text/extents.hpp"
#include "cli/text/quantity.hpp"

namespace convolume::cli {

void CorrelateSteps::report_plan(const Console& console) const {
    report_signal(console);
    for (const FilterFile& file : templates_)
        console.fact("bank",
                     message(file.path, ": ", file.info.format, ", ", file.info.to_string()));
    const FilterBank& filters = bank_->filter_bank();
    if (request_.chirps.samples > 0)
        console.fact(
            "bank", message(filters.filters(), " chirps of ", request_.chirps.samples, " samples"));
    cli::report_plan(console, request_.run, filters.plan().to_string(),
                     plan_line(filters.plan(), signal_info_.length_known()));
    if (request_.run.dry_run)
        console.fact("result", message("peaks of SNR ", request_.options.threshold,
                                       " in windows of ", bank_->window(), " positions"));
}

void CorrelateSteps::report_result(const Console& console, const RunTimes& times) const {
    warn_of_samples(console, bank_->filter_bank().result_type());
    report_times(console, times);
    const index_t peaks = table_->peaks();
    console.fact("output", message(request_.output, ": ", peaks, peaks == 1 ? " peak" : " peaks",
                                   peaks > 0 ? message(", SNR up to ", table_->strongest()) : ""));
    if (series_)
        console.fact("output", message(request_.series, ": ", extents_text(series_dims_), ' ',
                                       to_string(bank_->filter_bank().result_type())));
}

void CorrelateSteps::fill_json(nlohmann::ordered_json& json, const RunTimes* times) const {
    const FilterBank& filters = bank_->filter_bank();
    json["input"] = file_json(request_.signal, signal_info_);
    json["input"]["rate_hz"] = nullptr;
    if (rate_hz_) json["input"]["rate_hz"] = *rate_hz_;
    json["templates"] = {{"count", filters.filters()}, {"samples", filters.taps()}};
    for (const FilterFile& file : templates_)
        json["templates"]["files"].push_back(file_json(file.path, file.info));
    json["plan"] = plan_json(filters.plan());
    json["plan"]["window"] = bank_->window();
    if (times != nullptr) json["report"] = report_json(executed_, *times);
    json["output"] = {{"file", nullptr}, {"peaks", nullptr}, {"strongest", nullptr}};
    if (!request_.output.empty()) json["output"]["file"] = request_.output;
    if (times != nullptr) json["output"]["peaks"] = table_->peaks();
    if (times != nullptr && table_->peaks() > 0) json["output"]["strongest"] = table_->strongest();
    if (!request_.series.empty())
        json["output"]["snr"] = {{"file", request_.series}, {"shape", extents_json(series_dims_)}};
}

}  // namespace convolume::cli
