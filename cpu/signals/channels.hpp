// SPDX-License-Identifier: Apache-2.0
#pragma once
// Polyphase filter banks on the CPU: sums over the taps of every phase, and transforms of frames.
// The bits of a frame, or of a synthesized sample, do not depend on which others are computed with
// it.

#include <memory>
#include <string>
#include <vector>

#include "convolume/engines.hpp"
#include "core/channel_spec.hpp"

namespace convolume::cpu {

/// Divides one signal into channels. Several threads may call it at once.
class ChannelAnalysis {
  public:
    virtual ~ChannelAnalysis() = default;
    /// Computes frames. With `checks_finite`, returns whether all samples that were read are
    /// finite.
    virtual bool run(const ChannelSamples& samples, const ChannelFrames<void*>& frames,
                     bool checks_finite, int threads, const ExecutionContext& context) const = 0;
    virtual std::string method() const = 0;
};

/// Puts one signal together from its channels. Several threads may call it at once.
class ChannelSynthesis {
  public:
    virtual ~ChannelSynthesis() = default;
    /// Computes samples [range.begin, range.end) of type ChannelSpec::signal_type() from frames.
    /// Frames that are not given are zero.
    virtual void run(const ChannelFrames<const void*>& frames, const SampleRange& range,
                     void* samples, int threads, const ExecutionContext& context) const = 0;
    virtual std::string method() const = 0;
};

/// `taps` are spec.taps() taps of the analysis, or of the synthesis.
std::unique_ptr<const ChannelAnalysis> make_channel_analysis(const ChannelSpec& spec,
                                                             const std::vector<double>& taps,
                                                             FftLibrary fft);
std::unique_ptr<const ChannelSynthesis> make_channel_synthesis(const ChannelSpec& spec,
                                                               const std::vector<double>& taps,
                                                               FftLibrary fft);

}  // namespace convolume::cpu
