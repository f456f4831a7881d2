// SPDX-License-Identifier: Apache-2.0
#include "cli/filter/command.hpp"

#include <unistd.h>

#include "cli/app.hpp"
#include "cli/run/errors.hpp"

namespace convolume::cli {

void FilterSteps::open(const ExecutionContext& context) {
    reader_ = request_.reads_stdin() ? io::open_signal_pipe(STDIN_FILENO, request_.signal_file)
                                     : io::open_signal(request_.signal, request_.signal_file);
    signal_info_ = reader_->info();
    filters_ = read_filters(request_.filters, request_.filter_files, *context.timeline);
}

void FilterSteps::plan(const ExecutionContext&) {
    std::vector<ConstImageView> filters;
    for (const FilterFile& file : filters_) filters.push_back(file.taps.view());
    bank_.emplace(SignalShape{signal_info_.signals(), signal_info_.samples()}, filters,
                  request_.options, request_.engines, signal_info_.type);
    for (FilterFile& file : filters_) file.taps = {};  // the bank has a copy of the taps
    result_dims_ = result_dims(signal_info_, filters_, *bank_, request_.options);
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
    io::CreateSignalOptions create = request_.create;
    create.software = software_name();
    if (!create.sampling_rate_hz && signal_info_.sampling_rate_hz)
        create.sampling_rate_hz =
            *signal_info_.sampling_rate_hz / static_cast<double>(request_.options.window.length);
    const io::SampleType type = io::sample_type_of(bank_->result_type());
    results_ = request_.writes_stdout()
                   ? io::create_signal_pipe(STDOUT_FILENO, type, create.stored)
                   : io::create_signal(request_.output, result_dims_, type, create);
    create.stored.reset();
    if (!request_.positions.empty())
        positions_ =
            io::create_signal(request_.positions, result_dims_, io::SampleType::int64, create);

    ExecutionContext recorded = context;
    // A timeline grows with the signal, which may be endless.
    if (!signal_info_.length_known() && request_.run.timeline.empty()) recorded.timeline = nullptr;
    FileSource source(*reader_, recorded.timeline);
    FileSink sink(*results_, positions_.get(), *bank_, recorded.timeline);
    try {
        executed_ = bank_->execute(source, sink, recorded);
    } catch (const Cancelled&) {
        if (!request_.writes_stdout()) throw;
        throw Interrupted("interrupted; standard output has the results until then");
    }
    result_dims_.back() = sink.samples();
    const ClampCount clamped = results_->clamped();
    executed_.clamped_low += clamped.low;
    executed_.clamped_high += clamped.high;
}

void FilterSteps::commit() {
    if (positions_) positions_->commit();
    results_->commit();
}

}  // namespace convolume::cli
