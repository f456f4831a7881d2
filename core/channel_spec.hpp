// SPDX-License-Identifier: Apache-2.0
#pragma once
// A division into channels as engines see it: sizes, types, and the places of samples and frames.

#include "convolume/filter_options.hpp"
#include "core/engine.hpp"

namespace convolume {

/// Sizes of a polyphase filter bank as in convolume/channelizer.hpp. The prototype has whole rows
/// of `channels` taps.
struct ChannelSpec {
    index_t channels = 1;          ///< M
    index_t taps_per_channel = 1;  ///< P
    index_t step = 1;              ///< D
    index_t first = 0;             ///< t(0)
    bool complex_data = true;      ///< signals are complex
    Precision precision = Precision::float32;

    index_t taps() const { return channels * taps_per_channel; }
    index_t stored_channels() const { return complex_data ? channels : channels / 2 + 1; }
    /// Returns t(n), the last sample that frame n depends on.
    index_t last_sample(index_t frame) const { return first + frame * step; }
    /// Returns the first sample that frame n depends on, which may be negative.
    index_t first_sample(index_t frame) const { return last_sample(frame) - taps() + 1; }
    /// Returns the position in a transform of the first sample that frame n depends on.
    index_t rotation(index_t frame) const { return (last_sample(frame) + 1) % channels; }
    /// Returns the number of frames with last_sample() < samples.
    index_t frames(index_t samples) const {
        return samples > first ? ceil_div(samples - first, step) : 0;
    }
    PixelType signal_type() const { return sample_type(precision, complex_data); }
    PixelType frame_type() const { return sample_type(precision, true); }
};

/// Samples first … first+count-1 of one signal, of type ChannelSpec::signal_type(). All other
/// samples are zero.
struct ChannelSamples {
    const void* data = nullptr;
    index_t first = 0;
    index_t count = 0;
};

/// Frames [range.begin, range.end) of one signal, of type ChannelSpec::frame_type(), `stride`
/// channels apart.
template <class Pointer>
struct ChannelFrames {
    SampleRange range;
    Pointer data = nullptr;
    index_t stride = 0;
};

}  // namespace convolume
