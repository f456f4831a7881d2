// SPDX-License-Identifier: Apache-2.0
#include "cli/filter/command.hpp"

#include "cli/app.hpp"

namespace convolume::cli {

void FilterSteps::open(const ExecutionContext& context) {
    reader_ = io::open_signal(request_.signal, request_.signal_file);
    signal_ = reader_->info();
    filters_ = read_filters(request_.filters, request_.filter_files, *context.timeline);
}

void FilterSteps::plan(const ExecutionContext&) {
    std::vector<ConstImageView> filters;
    for (const FilterFile& file : filters_) filters.push_back(file.taps.view());
    bank_.emplace(SignalShape{signal_.signals(), signal_.samples()}, filters, request_.options,
                  request_.engines, signal_.type);
    for (FilterFile& file : filters_) file.taps = {};  // the bank has its own
    result_dims_ = result_dims(signal_, filters_, *bank_);
}

Work FilterSteps::work() const {
    return {static_cast<double>(signal_.signals()) * static_cast<double>(bank_->filters()) *
                static_cast<double>(bank_->range().count()),
            "sample"};
}

void FilterSteps::execute(const Console&, ProgressMeter&, const ExecutionContext& context) {
    const io::CreateSignalOptions create{request_.overwrite, software_name()};
    results_ = io::create_signal(request_.output, result_dims_,
                                 io::sample_type_of(bank_->result_type()), create);
    if (!request_.positions.empty())
        positions_ =
            io::create_signal(request_.positions, result_dims_, io::SampleType::int64, create);
    FileSource source(*reader_, *context.timeline);
    FileSink sink(*results_, positions_.get(), bank_->filters(), *context.timeline);
    executed_ = bank_->execute(source, sink, context);
}

void FilterSteps::commit() {
    if (positions_) positions_->commit();
    results_->commit();
}

}  // namespace convolume::cli
