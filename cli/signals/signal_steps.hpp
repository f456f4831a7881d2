// SPDX-License-Identifier: Apache-2.0
#pragma once
// What all commands on 1D signals have in common: their options, and the steps that open a signal,
// create the file of the result, and report both.

#include <CLI/CLI.hpp>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/run/common_options.hpp"
#include "cli/run/errors.hpp"
#include "cli/run/output_path.hpp"
#include "cli/run/run.hpp"
#include "convolume/error.hpp"
#include "convolume/signal_file.hpp"

namespace convolume::cli {

/// Returns extents such as "2×4096", with "?" for an unknown one.
inline std::string extents_text(const std::vector<index_t>& dims) {
    std::string text;
    for (const index_t extent : dims)
        text += (text.empty() ? "" : "×") + (extent == unknown_samples ? "?" : message(extent));
    return text;
}

/// Returns extents as JSON, with null for an unknown one.
inline nlohmann::ordered_json extents_json(const std::vector<index_t>& dims) {
    nlohmann::ordered_json json = nlohmann::ordered_json::array();
    for (const index_t extent : dims) {
        if (extent == unknown_samples)
            json.push_back(nullptr);
        else
            json.push_back(extent);
    }
    return json;
}

/// Path that names standard input or standard output.
inline constexpr const char* standard_stream = "-";

struct SignalRequest {
    std::string signal;  ///< a file, or "-"
    std::string output;  ///< a file, or "-"; may be empty in a dry run
    io::OpenSignalOptions signal_file;
    std::optional<double> input_rate_hz;  ///< sampling rate of the signal, instead of its file's
    io::CreateSignalOptions create;       ///< options of the result's file
    std::optional<index_t> latency;       ///< samples of a block of a live signal
    RunOptions run;

    bool reads_stdin() const { return signal == standard_stream; }
    bool writes_stdout() const { return output == standard_stream; }
    /// Returns true if a run that failed can start again.
    bool can_restart() const { return !reads_stdin() && !writes_stdout(); }
    /// Returns the files of the signal, the result and the timeline.
    RunFiles files() const;
};

/// Adds SIGNAL, the options of raw files, and the sampling rate of SIGNAL under `rate_names`.
void add_signal(CLI::App& app, SignalRequest& request, const char* rate_names = "--input-rate");

/// Returns whether files of that name hold a sampling rate.
bool holds_sampling_rate(const std::string& path);

/// Throws InvalidArgument if a live signal is not to go from standard input to standard output.
void check_latency(const SignalRequest& request);
/// Throws InvalidArgument if the signal is to come from a terminal.
void check_standard_input(const SignalRequest& request);
/// Throws InvalidArgument if no output is named, if the signal is to come from a terminal, or if
/// samples would go to a terminal, or together with --json to standard output.
void check_signal_files(const SignalRequest& request);

nlohmann::ordered_json file_json(const std::string& path, const io::SignalInfo& info);

class SignalSteps : public RunSteps {
  public:
    /// The request must outlive the steps.
    explicit SignalSteps(const SignalRequest& request) : files_(request) {}

    /// Returns the samples of all signals.
    WorkAmount work() const override;
    void commit() override { results_->commit(); }
    /// Tells the signal.
    void tell_plan(const Facts& facts) const override;
    /// Warns of samples that were replaced: NaN on input, and clamped results.
    void tell_result(const Facts& facts) const override;
    /// Tells the file of the result.
    void tell_output(const Facts& facts) const override;
    ExecutionReport executed() const override { return executed_; }

  protected:
    void open_signal(const ExecutionContext& context);
    /// Takes the metadata of the signal, and the sampling rate of the request.
    void use_signal(const io::SignalInfo& info);
    /// Creates the result's file, or opens standard output.
    void create_results();
    /// Returns options of a file of results, with their coordinates.
    io::CreateSignalOptions options_of_results() const;
    /// Calls run(context), without a timeline for an endless signal, as it would grow with it. If
    /// run() is interrupted, the message says that standard output has `what` until then.
    template <class Run>
    void run_to_end(const ExecutionContext& context, const char* what, const Run& run) {
        ExecutionContext recorded = context;
        if (!signal_info_.length_known() && files_.run.timeline.empty())
            recorded.timeline = nullptr;
        try {
            run(recorded);
        } catch (const Cancelled&) {
            if (!files_.writes_stdout()) throw;
            throw Interrupted(
                message("interrupted; standard output has the ", what, " until then"));
        }
    }
    /// Reads a signal in blocks of at most `samples` samples, and calls use(block) for each, a row
    /// of the signal's type. Reports progress. Returns the number of samples.
    index_t for_each_block(index_t signal, index_t samples, const ExecutionContext& context,
                           const std::function<void(const ImageView& block)>& use);
    /// Adds the results that were clamped to the report.
    void count_clamped();

    /// Returns the name of the type in which results of `type` are stored.
    std::string type_text(PixelType type) const;
    virtual PixelType result_type() const = 0;
    /// Returns the extents of the result, slowest first.
    virtual std::vector<index_t> result_dims() const = 0;
    /// Returns the times and frequencies of the result, of which the rate gives way to that of the
    /// request.
    virtual io::SignalCoordinates result_coordinates() const { return signal_info_.coordinates; }
    /// Returns a text on the extents and the type of the result.
    virtual std::string result_text() const;

    std::unique_ptr<io::SignalReader> reader_;
    std::unique_ptr<io::SignalWriter> results_;
    io::SignalInfo signal_info_;
    ExecutionReport executed_;

  private:
    const SignalRequest& files_;
};

}  // namespace convolume::cli
