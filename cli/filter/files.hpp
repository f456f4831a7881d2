// SPDX-License-Identifier: Apache-2.0
#pragma once
// Between files of signals and a FilterBank: filters in memory, a source that reads, a sink that
// writes.

#include <memory>
#include <string>
#include <vector>

#include "convolume/filter_bank.hpp"
#include "convolume/signal_file.hpp"

namespace convolume::cli {

/// The filters of one file, one a row.
struct FilterFile {
    std::string path;
    io::SignalInfo info;
    Volume taps;  ///< 1 × filters × M; empty once a bank is made of them
};
std::vector<FilterFile> read_filters(const std::vector<std::string>& paths,
                                     const io::OpenSignalOptions& options, Timeline& timeline);

/// Extents of the result of `bank`: the signal's axes before the last, filters (unless there is one
/// file with one 1D filter), samples.
std::vector<index_t> result_dims(const io::SignalInfo& signal,
                                 const std::vector<FilterFile>& filters, const FilterBank& bank);

class FileSource : public SignalSource {
  public:
    FileSource(io::SignalReader& reader, Timeline& timeline)
        : reader_(reader), timeline_(timeline) {}
    PixelType type() const override { return reader_.info().type; }
    void read(index_t signal, index_t begin, index_t count, void* to) override;

  private:
    io::SignalReader& reader_;
    Timeline& timeline_;
};

class FileSink : public ResultSink {
  public:
    /// `positions` may be null.
    FileSink(io::SignalWriter& results, io::SignalWriter* positions, index_t filters,
             Timeline& timeline)
        : results_(results), positions_(positions), filters_(filters), timeline_(timeline) {}
    void write(index_t signal, index_t filter, index_t begin, index_t count,
               const void* from) override;
    void write_positions(index_t signal, index_t filter, index_t begin, index_t count,
                         const index_t* from) override;

  private:
    io::SignalWriter& results_;
    io::SignalWriter* positions_;
    index_t filters_;
    Timeline& timeline_;
};

}  // namespace convolume::cli
