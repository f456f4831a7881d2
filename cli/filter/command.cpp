// SPDX-License-Identifier: Apache-2.0
#include "cli/filter/command.hpp"

#include "cli/app.hpp"

namespace convolume::cli {

void FilterSteps::open(const ExecutionContext& context) {
    open_signal();
    filters_ = read_filters(request_.filters, request_.filter_files, *context.timeline);
}

void FilterSteps::plan(const ExecutionContext&) {
    std::vector<ConstImageView> filters;
    for (const FilterFile& file : filters_) filters.push_back(file.taps.view());
    bank_.emplace(SignalShape{signal_info_.signals(), signal_info_.samples()}, filters,
                  request_.options, request_.engines, signal_info_.type);
    for (FilterFile& file : filters_) file.taps = {};  // the bank has a copy of the taps
    result_dims_ = cli::result_dims(signal_info_, filters_, *bank_, request_.options);
    check_rows();
}

void FilterSteps::check_rows() const {
    const index_t rows = signal_info_.signals() * bank_->filters();
    if (rows > 1 && (request_.reads_stdin() || request_.writes_stdout()))
        throw InvalidArgument(
            message("standard input and output hold one signal and one result, "
                    "and here are ",
                    signal_info_.signals(), " signals and ", bank_->filters(),
                    " filters; give one of each, or name files"));
}

WorkAmount FilterSteps::work() const {
    if (!signal_info_.length_known()) return {0, "sample"};
    return {static_cast<double>(signal_info_.signals()) * static_cast<double>(bank_->filters()) *
                static_cast<double>(bank_->range().count()),
            "sample"};
}

void FilterSteps::execute(const Console&, ProgressMeter&, const ExecutionContext& context) {
    std::optional<double> rate_hz = signal_info_.sampling_rate_hz;
    if (rate_hz) *rate_hz /= static_cast<double>(request_.options.window.length);
    create_results(result_dims_, bank_->result_type(), rate_hz);
    if (!request_.positions.empty()) {
        io::CreateSignalOptions create = request_.create;
        create.software = software_name();
        create.stored.reset();
        positions_ =
            io::create_signal(request_.positions, result_dims_, io::SampleType::int64, create);
    }
    run_to_end(context, "results", [&](const ExecutionContext& recorded) {
        FileSource source(*reader_, recorded.timeline);
        FileSink sink(*results_, positions_.get(), *bank_, recorded.timeline);
        executed_ = bank_->execute(source, sink, recorded);
        result_dims_.back() = sink.samples();
    });
    count_clamped();
}

void FilterSteps::commit() {
    if (positions_) positions_->commit();
    SignalSteps::commit();
}

}  // namespace convolume::cli
