// SPDX-License-Identifier: Apache-2.0
#include "cli/filter/files.hpp"

#include <algorithm>

#include "cli/signals/signal_steps.hpp"
#include "cli/text/quantity.hpp"

namespace convolume::cli {

namespace {

FilterFile read_filter_file(const std::string& path, io::OpenSignalOptions options,
                            Timeline& timeline) {
    // --taps are the samples of filters that follow one another.
    if (options.raw_samples) options.raw_layout = io::SignalLayout::planar;
    const auto reader = io::open_signal(path, options);
    const io::SignalInfo& info = reader->info();
    if (info.dims.size() > 2)
        throw BadData(message("filters are 1D, or 2D (filters × taps), but \"", path, "\" holds ",
                              info.to_string(), "; save them as 2D"));
    const index_t taps = info.samples();
    FilterFile file{path, info, Volume({1, info.signals(), taps}, info.type)};
    const PhaseTimer timer(&timeline, Phase::read, -1, -1, file.taps.bytes());
    for (index_t row = 0; row < info.signals(); ++row)
        reader->read(row, 0, taps, file.taps.view().at(0, row, 0));
    return file;
}

}  // namespace

std::vector<FilterFile> read_filters(const std::vector<std::string>& paths,
                                     const io::OpenSignalOptions& options, Timeline& timeline) {
    std::vector<FilterFile> files;
    for (const std::string& path : paths)
        files.push_back(read_filter_file(path, options, timeline));
    return files;
}

void tell_filters(const Facts& facts, const char* label, const char* key,
                  const std::vector<FilterFile>& files) {
    for (const FilterFile& file : files) {
        facts.console.fact(label,
                           message(file.path, ": ", file.info.format, ", ", file.info.to_string()));
        facts.json[key]["files"].push_back(file_json(file.path, file.info));
    }
}

void tell_plan(const Facts& facts, const RunOptions& options, const FilterPlan& plan, bool whole) {
    std::string line = to_string(plan.method);
    if (plan.segment > 0) line += message(", segments of ", plan.segment);
    line += message(" on ", plan.engine, ", chunks of ", plan.chunk, " in ",
                    format_bytes(plan.stream_bytes), ", predicted ", format_duration(plan.seconds),
                    whole ? "" : " for each");
    report_plan(facts.console, options, plan.to_string(), line);
    facts.json["plan"] = {{"method", to_string(plan.method)},
                          {"segment", plan.segment},
                          {"engine", plan.engine},
                          {"seconds", plan.seconds},
                          {"chunk", plan.chunk},
                          {"stream_bytes", plan.stream_bytes}};
}

std::vector<index_t> result_dims(const io::SignalInfo& signal,
                                 const std::vector<FilterFile>& filters, const FilterBank& bank,
                                 const FilterOptions& options) {
    std::vector<index_t> dims(signal.dims.begin(), signal.dims.end() - 1);
    const bool one_filter = filters.size() == 1 && filters[0].info.dims.size() == 1;
    if (!one_filter) dims.push_back(bank.filters());
    const bool known = signal.length_known() || options.range.has_value();
    dims.push_back(known ? bank.result_samples() : unknown_samples);
    return dims;
}

io::SignalCoordinates coordinates_of_results(const io::SignalInfo& signal,
                                             const std::vector<index_t>& dims,
                                             const FilterBank& bank, index_t step) {
    io::SignalCoordinates coordinates = signal.coordinates;
    if (dims.size() != signal.dims.size()) coordinates.center_frequencies_hz.clear();
    if (!coordinates.sampling_rate_hz) return coordinates;
    coordinates.start_s += static_cast<double>(bank.first_sample()) / *coordinates.sampling_rate_hz;
    *coordinates.sampling_rate_hz /= static_cast<double>(step);
    return coordinates;
}

void FileSource::read(index_t signal, index_t begin, index_t count, void* to) {
    const PhaseTimer timer(timeline_, Phase::read, -1, -1,
                           count * static_cast<index_t>(size_of(type())));
    reader_.read(signal, begin, count, to);
}

index_t FileSource::read_until_end(index_t signal, index_t begin, index_t count, void* to) {
    const PhaseTimer timer(timeline_, Phase::read, -1, -1,
                           count * static_cast<index_t>(size_of(type())));
    return reader_.read_until_end(signal, begin, count, to);
}

void FileSink::write(index_t signal, index_t filter, index_t begin, index_t count,
                     const void* from) {
    const PhaseTimer timer(timeline_, Phase::write);
    results_.write(signal * bank_.filters() + filter, begin, count, from);
    samples_ = std::max(samples_, begin + count);
}

void FileSink::write_positions(index_t signal, index_t filter, index_t begin, index_t count,
                               const index_t* from) {
    if (positions_ == nullptr) return;
    const PhaseTimer timer(timeline_, Phase::write);
    // Converts positions in the full result to the samples that meet the origin of the filters.
    in_signal_.assign(from, from + count);
    for (index_t& position : in_signal_) position -= bank_.origin();
    positions_->write(signal * bank_.filters() + filter, begin, count, in_signal_.data());
}

}  // namespace convolume::cli
