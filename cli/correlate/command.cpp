// SPDX-License-Identifier: Apache-2.0
#include "cli/correlate/command.hpp"

#include "cli/app.hpp"
#include "convolume/image_file.hpp"

namespace convolume::cli {

void CorrelateSteps::open(const ExecutionContext& context) {
    open_signal();
    rate_hz_ = request_.rate_hz ? request_.rate_hz : signal_info_.sampling_rate_hz;
    templates_ = read_filters(request_.templates, request_.template_files, *context.timeline);
}

ChirpBank CorrelateSteps::chirp_bank() const {
    if (request_.chirps.samples == 0) return {};
    ChirpBankOptions options = request_.chirps;
    options.rate_hz = rate_hz_.value_or(1);
    return convolume::chirp_bank(options);
}

void CorrelateSteps::plan(const ExecutionContext&) {
    ChirpBank chirps = chirp_bank();
    std::vector<ConstImageView> views;
    for (const FilterFile& file : templates_) views.push_back(file.taps.view());
    if (!chirps.chirps.empty()) views.push_back(chirps.templates.view());
    CorrelationOptions options = request_.options;
    options.keeps_series = !request_.series.empty();
    bank_.emplace(SignalShape{signal_info_.signals(), signal_info_.samples()}, views, options,
                  request_.engines, signal_info_.type);
    for (FilterFile& file : templates_) file.taps = {};  // the bank has a copy
    series_dims_ =
        cli::result_dims(signal_info_, templates_, bank_->filter_bank(), options.filters);
    if (options.keeps_series && !signal_info_.length_known() && bank_->filter_bank().filters() > 1)
        throw InvalidArgument(
            message("the SNR of ", bank_->filter_bank().filters(),
                    " templates and a signal of unknown length cannot be stored: give one "
                    "template, or a file of samples"));
    table_.emplace(request_.output.empty() ? TableFormat::csv : table_format(request_.output),
                   rate_hz_, std::move(chirps.chirps));
}

WorkAmount CorrelateSteps::work() const {
    if (!signal_info_.length_known()) return {0, "sample"};
    const FilterBank& filters = bank_->filter_bank();
    return {static_cast<double>(signal_info_.signals()) * static_cast<double>(filters.filters()) *
                static_cast<double>(filters.range().count()),
            "sample"};
}

void CorrelateSteps::create_series() {
    if (request_.series.empty()) return;
    io::CreateSignalOptions create;
    create.overwrite = request_.create.overwrite;
    create.software = software_name();
    create.sampling_rate_hz = rate_hz_;
    series_ = io::create_signal(request_.series, series_dims_,
                                io::sample_type_of(bank_->filter_bank().result_type()), create);
}

void CorrelateSteps::add_text(const std::string& text) {
    if (request_.writes_stdout())
        write_stdout(text);
    else
        text_ += text;
}

void CorrelateSteps::execute(const Console&, ProgressMeter&, const ExecutionContext& context) {
    create_series();
    run_to_end(context, "peaks", [&](const ExecutionContext& recorded) {
        FileSource source(*reader_, recorded.timeline);
        std::optional<FileSink> sink;
        if (series_) sink.emplace(*series_, nullptr, bank_->filter_bank(), recorded.timeline);
        add_text(table_->header());
        executed_ = bank_->execute(
            source, [&](std::span<const CorrelationPeak> peaks) { add_text(table_->rows(peaks)); },
            sink ? &*sink : nullptr, recorded);
        add_text(table_->footer());
        if (sink) series_dims_.back() = sink->samples();
    });
}

void CorrelateSteps::commit() {
    if (series_) series_->commit();
    if (!request_.writes_stdout()) io::write_whole_file(request_.output, text_);
}

}  // namespace convolume::cli
