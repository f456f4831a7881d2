// SPDX-License-Identifier: Apache-2.0
#pragma once
// Connects files with a FilterBank: reads filters, and has a source and a sink of signals.

#include <string>
#include <vector>

#include "cli/run/run.hpp"
#include "convolume/filter_bank.hpp"
#include "convolume/signal_file.hpp"

namespace convolume::cli {

/// The filters of one file, one in each row.
struct FilterFile {
    std::string path;
    io::SignalInfo info;
    Volume taps;  ///< 1 × filters × taps; empty once a bank is made of them
};
std::vector<FilterFile> read_filters(const std::vector<std::string>& paths,
                                     const io::OpenSignalOptions& options, Timeline& timeline);

/// Tells the files of filters, in lines with `label` and in the member `key`.
void tell_filters(const Facts& facts, const char* label, const char* key,
                  const std::vector<FilterFile>& files);
/// Tells a plan. `whole` is false if the predicted time is that of a chunk.
void tell_plan(const Facts& facts, const RunOptions& options, const FilterPlan& plan, bool whole);

/// Returns the extents of the result of `bank`: the signal's axes but the last, filters (unless
/// there is one file with one 1D filter), and samples. The samples are unknown_samples if the end
/// of the signal is unknown and ends the result.
std::vector<index_t> result_dims(const io::SignalInfo& signal,
                                 const std::vector<FilterFile>& filters, const FilterBank& bank,
                                 const FilterOptions& options);

/// Returns the times of results of `dims`, of which one in `step` is kept, and the center
/// frequencies of the signal if its channels are still the axis before the samples.
io::SignalCoordinates coordinates_of_results(const io::SignalInfo& signal,
                                             const std::vector<index_t>& dims,
                                             const FilterBank& bank, index_t step);

class FileSource : public SignalSource {
  public:
    /// `timeline` may be null.
    FileSource(io::SignalReader& reader, Timeline* timeline)
        : reader_(reader), timeline_(timeline) {}
    PixelType type() const override { return reader_.info().type; }
    void read(index_t signal, index_t begin, index_t count, void* to) override;
    index_t read_until_end(index_t signal, index_t begin, index_t count, void* to) override;
    void cancel() override { reader_.cancel(); }

  private:
    io::SignalReader& reader_;
    Timeline* timeline_;
};

/// A sink that writes results and positions to files.
class FileSink : public ResultSink {
  public:
    /// `positions` and `timeline` may be null.
    FileSink(io::SignalWriter& results, io::SignalWriter* positions, const FilterBank& bank,
             Timeline* timeline)
        : results_(results), positions_(positions), bank_(bank), timeline_(timeline) {}
    void write(index_t signal, index_t filter, index_t begin, index_t count,
               const void* from) override;
    void write_positions(index_t signal, index_t filter, index_t begin, index_t count,
                         const index_t* from) override;
    void cancel() override { results_.cancel(); }

    /// Returns the number of samples written so far of each filter and signal.
    index_t samples() const { return samples_; }

  private:
    io::SignalWriter& results_;
    io::SignalWriter* positions_;
    const FilterBank& bank_;
    Timeline* timeline_;
    std::vector<index_t> in_signal_;
    index_t samples_ = 0;
};

}  // namespace convolume::cli
