// SPDX-License-Identifier: Apache-2.0
#pragma once
// `convolume filter` as the steps of a run: signals stream from file to file through a FilterBank.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/filter/files.hpp"
#include "cli/run/common_options.hpp"
#include "cli/run/output_path.hpp"
#include "cli/run/run.hpp"
#include "convolume/filter_bank.hpp"
#include "convolume/signal_file.hpp"

namespace convolume::cli {

/// Path that names standard input or standard output.
inline constexpr const char* standard_stream = "-";

/// Options of a live signal.
struct LiveOptions {
    std::optional<index_t> latency;   ///< samples of a block; if not given, the signal is not live
    std::optional<index_t> channels;  ///< channels of raw frames on standard input
    bool is_matrix = false;           ///< a filter for each output and each channel
    std::optional<bool> is_wav;       ///< format of standard output; if not given, the signal's
};

/// The request of the command line.
struct FilterRequest {
    std::string signal;  ///< a file, or "-"
    std::vector<std::string> filters;
    std::string output;     ///< a file, or "-"; may be empty in a dry run
    std::string positions;  ///< file of the positions of peaks; empty for none
    FilterOptions options;
    LiveOptions live;
    EngineChoice engines;
    io::OpenSignalOptions signal_file;
    io::OpenSignalOptions filter_files;
    io::CreateSignalOptions create;  ///< options of the result's file
    RunOptions run;

    bool reads_stdin() const { return signal == standard_stream; }
    bool writes_stdout() const { return output == standard_stream; }
    /// Returns true if a run that failed can start again.
    bool can_restart() const { return !reads_stdin() && !writes_stdout(); }

    RunFiles files() const {
        RunFiles files{{run.timeline, positions}, filters, create.overwrite};
        if (!writes_stdout()) files.outputs.push_back(output);
        if (!reads_stdin()) files.inputs.push_back(signal);
        return files;
    }
};

class FilterSteps : public RunSteps {
  public:
    explicit FilterSteps(const FilterRequest& request) : request_(request) {}

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
    /// Throws InvalidArgument if a pipe would carry more than one signal or result.
    void check_rows() const;
    std::string output_text() const;
    std::string type_text() const;
    bool is_end_known() const { return signal_info_.length_known() || request_.options.range; }

    const FilterRequest& request_;
    std::unique_ptr<io::SignalReader> reader_;
    std::unique_ptr<io::SignalWriter> results_;
    std::unique_ptr<io::SignalWriter> positions_;  ///< writer of --positions, or null
    io::SignalInfo signal_info_;
    std::vector<FilterFile> filters_;
    std::optional<FilterBank> bank_;
    std::vector<index_t> result_dims_;
    ExecutionReport executed_;
};

}  // namespace convolume::cli
