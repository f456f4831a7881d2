// SPDX-License-Identifier: Apache-2.0
#pragma once
// `convolume filter` as the steps of a run: signals stream from file to file through a FilterBank.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/filter/files.hpp"
#include "cli/signals/signal_steps.hpp"
#include "convolume/filter_bank.hpp"

namespace convolume::cli {

/// Options of a live signal.
struct LiveOptions {
    std::optional<index_t> latency;   ///< samples of a block; if not given, the signal is not live
    std::optional<index_t> channels;  ///< channels of raw frames on standard input
    bool is_matrix = false;           ///< a filter for each output and each channel
    std::optional<bool> is_wav;       ///< format of standard output; if not given, the signal's
};

/// The request of the command line.
struct FilterRequest : SignalRequest {
    std::vector<std::string> filters;
    std::string positions;  ///< file of the positions of peaks; empty for none
    FilterOptions options;
    LiveOptions live;
    EngineChoice engines;
    io::OpenSignalOptions filter_files;

    RunFiles files() const {
        RunFiles files = SignalRequest::files();
        files.outputs.push_back(positions);
        files.inputs.insert(files.inputs.end(), filters.begin(), filters.end());
        return files;
    }
};

class FilterSteps : public SignalSteps {
  public:
    explicit FilterSteps(const FilterRequest& request) : SignalSteps(request), request_(request) {}

    void open(const ExecutionContext& context) override;
    void plan(const ExecutionContext& context) override;
    WorkAmount work() const override;
    void execute(const Console& console, ProgressMeter& meter,
                 const ExecutionContext& context) override;
    void commit() override;
    void tell_plan(const Facts& facts) const override;
    void tell_output(const Facts& facts) const override;

  private:
    /// Throws InvalidArgument if a pipe would carry more than one signal or result.
    void check_rows() const;
    PixelType result_type() const override { return bank_->result_type(); }
    std::vector<index_t> result_dims() const override { return result_dims_; }
    std::string result_text() const override;
    bool is_end_known() const { return signal_info_.length_known() || request_.options.range; }

    const FilterRequest& request_;
    std::unique_ptr<io::SignalWriter> positions_;  ///< writer of --positions, or null
    std::vector<FilterFile> filters_;
    std::optional<FilterBank> bank_;
    std::vector<index_t> result_dims_;
};

}  // namespace convolume::cli
