// SPDX-License-Identifier: Apache-2.0
#pragma once
// The steps that all commands on 1D signals have in common: they open a signal, create the file of
// the result, and report both.

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/run/errors.hpp"
#include "cli/run/run.hpp"
#include "cli/signals/signal_request.hpp"
#include "convolume/signal_file.hpp"

namespace convolume::cli {

/// Returns the JSON of a file of signals.
nlohmann::ordered_json file_json(const std::string& path, const io::SignalInfo& info);
/// Warns of results of `type` that were clamped.
void warn_of_clamped_samples(const Console& console, const ClampCount& clamped,
                             const std::string& type);

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
    void open_signal();
    /// Creates the result's file, or opens standard output. `rate_hz` is used unless the request
    /// has a rate.
    void create_results(const std::vector<index_t>& dims, PixelType type,
                        std::optional<double> rate_hz);
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
    /// Adds the results that were clamped to the report.
    void count_clamped();

    /// Returns the name of the type in which results of `type` are stored.
    std::string type_text(PixelType type) const;
    virtual PixelType result_type() const = 0;
    /// Returns the extents of the result, slowest first.
    virtual std::vector<index_t> result_dims() const = 0;
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
