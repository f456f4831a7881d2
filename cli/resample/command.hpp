// SPDX-License-Identifier: Apache-2.0
#pragma once
// `convolume resample` as the steps of a run: signals stream from file to file.

#include <optional>
#include <string>
#include <vector>

#include "cli/signals/signal_steps.hpp"
#include "convolume/resample.hpp"

namespace convolume::cli {

/// The request of the command line.
struct ResampleRequest : SignalRequest {
    std::string filter;  ///< file of the taps; empty for the low-pass filter
    std::optional<index_t> up, down;
    std::optional<double> rate_hz;        ///< sampling rate of the result
    std::optional<double> input_rate_hz;  ///< sampling rate of the signal
    index_t zero_crossings = 10;          ///< of the low-pass filter, on each side
    double kaiser = 5;                    ///< parameter of its window
    ResampleOptions options;
    std::optional<index_t> chunk;  ///< samples that are read at a time

    RunFiles files() const {
        RunFiles files = SignalRequest::files();
        if (!filter.empty()) files.inputs.push_back(filter);
        return files;
    }
};

/// Factors of a resampling without a common divisor.
struct RateChange {
    index_t up, down;
};
/// Returns the factors for sampling rates, which are multiples of 0.001 Hz. Throws InvalidArgument
/// for other rates, and for factors so large that the filter does not fit memory.
RateChange rate_change(double from_hz, double to_hz);

class ResampleSteps : public SignalSteps {
  public:
    explicit ResampleSteps(const ResampleRequest& request)
        : SignalSteps(request), request_(request) {}

    void open(const ExecutionContext& context) override;
    void plan(const ExecutionContext& context) override;
    void execute(const Console& console, ProgressMeter& meter,
                 const ExecutionContext& context) override;
    void tell_plan(const Facts& facts) const override;

  private:
    PixelType result_type() const override { return resampler_->result_type(); }
    std::vector<index_t> result_dims() const override { return result_dims_; }
    RateChange factors() const;
    std::vector<double> low_pass(const RateChange& factors) const;
    void resample_signal(index_t signal, const ExecutionContext& context);

    const ResampleRequest& request_;
    std::optional<double> rate_hz_;  ///< sampling rate of the signal
    Volume taps_;                    ///< taps of --filter
    std::optional<Resampler> resampler_;
    std::vector<index_t> result_dims_;
    index_t tap_count_ = 0;
    index_t read_ = 0;  ///< samples read so far, of all signals
};

}  // namespace convolume::cli
