// SPDX-License-Identifier: Apache-2.0
#pragma once
// Checks of the options of a polyphase filter bank, and what they mean for engines.

#include <optional>
#include <string>
#include <vector>

#include "convolume/channelizer.hpp"
#include "core/channel_spec.hpp"

namespace convolume {

/// Throws InvalidArgument unless 1 ≤ step ≤ channels and the numbers of taps are possible.
void check_channel_sizes(index_t channels, index_t taps_per_channel, index_t step);

/// Throws InvalidArgument for a prototype without taps, and BadData for one with NaN.
void check_prototype(const std::vector<double>& taps);

/// Returns the number of threads that `engines` allow. Throws Unavailable if they allow only GPUs.
int channel_threads(const EngineChoice& engines);

/// Throws InvalidArgument unless frames are in memory of shape `wanted`, with channels that follow
/// each other.
void check_frame_view(const ConstImageView& frames, const Shape3& wanted);

/// A checked filter bank. `taps` has whole rows of `channels` taps.
struct ChannelProblem {
    ChannelSpec spec;
    std::vector<double> taps;
    double first_middle = 0;  ///< ChannelizerPlan::first_middle
    bool interleaved = false;
    NanPolicy nan = NanPolicy::error;

    /// Returns the number of numbers of a caller's signal that make one sample.
    index_t numbers() const { return interleaved ? 2 : 1; }
    ChannelizerPlan plan(std::string engine, std::string method) const;
};

/// Checks options and the type of signals. Throws as Channelizer does.
ChannelProblem resolve_channels(const ChannelizerOptions& options, PixelType signal_type);

/// Taps of a synthesis, with whole rows of `channels` taps.
struct SynthesisTaps {
    std::vector<double> taps;
    std::optional<double> error;  ///< DualPrototype::error; nothing for the caller's taps
};
/// Returns `given`, or the taps of dual_prototype() if it is empty. Throws InvalidArgument, or
/// BadData for NaN.
SynthesisTaps synthesis_taps_of(const ChannelProblem& problem, const std::vector<double>& given);

/// Samples of signals in memory, converted when they are not of the type of the computation.
class ChannelSignals {
  public:
    /// `signals` are as in Channelizer::execute(). Throws InvalidArgument if they do not fit.
    ChannelSignals(const ChannelProblem& problem, const ConstImageView& signals);

    index_t signals() const { return view_.shape.y; }
    index_t samples() const { return view_.shape.x / numbers_; }
    /// Returns whether samples need not be converted.
    bool is_native() const { return is_native_; }
    /// Returns the address of a sample that need not be converted.
    const void* address(index_t signal, index_t sample) const {
        return view_.at(0, signal, sample * numbers_);
    }
    /// Converts samples [range.begin, range.end) of a signal to `to`.
    void convert(index_t signal, const SampleRange& range, bool nonfinite_to_zero, int threads,
                 void* to) const;
    /// Throws BadData if samples that matter are not finite, or returns how many are read as 0.
    index_t check_finite(NanPolicy policy, index_t first, int threads) const;

  private:
    ConstImageView view_;
    index_t numbers_;      // numbers of the view in one sample
    PixelType converted_;  // type of these numbers after conversion
    index_t sample_bytes_;
    bool is_native_;
};

}  // namespace convolume
