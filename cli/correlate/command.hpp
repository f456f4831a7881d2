// SPDX-License-Identifier: Apache-2.0
#pragma once
// `convolume correlate` as the steps of a run: signals stream from a file through a
// CorrelationBank, and a table of peaks is written.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/correlate/peak_table.hpp"
#include "cli/filter/files.hpp"
#include "cli/signals/signal_steps.hpp"
#include "convolume/correlation.hpp"

namespace convolume::cli {

/// The request of the command line.
struct CorrelateRequest : SignalRequest {
    std::vector<std::string> templates;
    std::string series;  ///< file of the SNR of every template and position; empty for none
    CorrelationOptions options;
    ChirpBankOptions chirps;  ///< chirps instead of templates, if they have samples
    EngineChoice engines;
    io::OpenSignalOptions template_files;
    std::optional<double> rate_hz;  ///< sampling rate of the signal

    RunFiles files() const {
        RunFiles files = SignalRequest::files();
        files.outputs.push_back(series);
        files.inputs.insert(files.inputs.end(), templates.begin(), templates.end());
        return files;
    }
};

class CorrelateSteps : public SignalSteps {
  public:
    explicit CorrelateSteps(const CorrelateRequest& request)
        : SignalSteps(request), request_(request) {}

    void open(const ExecutionContext& context) override;
    void plan(const ExecutionContext& context) override;
    WorkAmount work() const override;
    void execute(const Console& console, ProgressMeter& meter,
                 const ExecutionContext& context) override;
    void commit() override;
    void tell_plan(const Facts& facts) const override;
    void tell_output(const Facts& facts) const override;

  private:
    PixelType result_type() const override { return bank_->filter_bank().result_type(); }
    std::vector<index_t> result_dims() const override { return series_dims_; }
    std::string result_text() const override;
    ChirpBank chirp_bank() const;
    void create_series();
    void add_text(const std::string& text);

    const CorrelateRequest& request_;
    std::optional<double> rate_hz_;
    std::vector<FilterFile> templates_;
    std::optional<CorrelationBank> bank_;
    std::optional<PeakTable> table_;
    std::string text_;  ///< table, unless it goes to standard output
    std::unique_ptr<io::SignalWriter> series_;
    std::vector<index_t> series_dims_;
};

}  // namespace convolume::cli
