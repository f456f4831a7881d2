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
    void report_plan(const Console& console) const override;
    WorkAmount work() const override;
    void execute(const Console& console, ProgressMeter& meter,
                 const ExecutionContext& context) override;
    void commit() override;
    void report_result(const Console& console, const RunTimes& times) const override;
    void fill_json(nlohmann::ordered_json& json, const RunTimes* times) const override;

  private:
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
