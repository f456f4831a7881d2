// SPDX-License-Identifier: Apache-2.0
#pragma once
// `convolume correlate` as the steps of a run: signals stream from a file through a
// CorrelationBank, and a table of peaks is written.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/correlate/peak_table.hpp"
#include "cli/filter/command.hpp"
#include "cli/filter/files.hpp"
#include "cli/run/common_options.hpp"
#include "cli/run/output_path.hpp"
#include "cli/run/run.hpp"
#include "convolume/correlation.hpp"
#include "convolume/signal_file.hpp"

namespace convolume::cli {

/// The request of the command line.
struct CorrelateRequest {
    std::string signal;  ///< a file, or "-"
    std::vector<std::string> templates;
    std::string output;  ///< a file, or "-"; may be empty in a dry run
    std::string series;  ///< file of the SNR of every template and position; empty for none
    CorrelationOptions options;
    ChirpBankOptions chirps;  ///< chirps instead of templates, if they have samples
    EngineChoice engines;
    io::OpenSignalOptions signal_file;
    io::OpenSignalOptions template_files;
    std::optional<double> rate_hz;  ///< sampling rate of the signal
    bool overwrite = false;
    RunOptions run;

    bool reads_stdin() const { return signal == standard_stream; }
    bool writes_stdout() const { return output == standard_stream; }
    /// Returns true if a run that failed can start again.
    bool can_restart() const { return !reads_stdin() && !writes_stdout(); }

    RunFiles files() const {
        RunFiles files{{run.timeline, series}, templates, overwrite};
        if (!writes_stdout()) files.outputs.push_back(output);
        if (!reads_stdin()) files.inputs.push_back(signal);
        return files;
    }
};

class CorrelateSteps : public RunSteps {
  public:
    explicit CorrelateSteps(const CorrelateRequest& request) : request_(request) {}

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
    std::unique_ptr<io::SignalReader> reader_;
    io::SignalInfo signal_info_;
    std::optional<double> rate_hz_;
    std::vector<FilterFile> templates_;
    std::optional<CorrelationBank> bank_;
    std::optional<PeakTable> table_;
    std::string text_;  ///< table, unless it goes to standard output
    std::unique_ptr<io::SignalWriter> series_;
    std::vector<index_t> series_dims_;
    ExecutionReport executed_;
};

}  // namespace convolume::cli
