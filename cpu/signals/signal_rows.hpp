// SPDX-License-Identifier: Apache-2.0
#pragma once
// Samples and results of resampling, as rows of real and of imaginary parts.

#include <algorithm>
#include <complex>

#include "convolume/error.hpp"
#include "core/pixels/rows.hpp"
#include "core/resample_spec.hpp"
#include "core/signal_extension.hpp"
#include "cpu/signals/samples.hpp"
#include "cpu/signals/vector_loops.hpp"

namespace convolume::cpu {

/// Samples that the results of a chunk read: `count` from sample `first` on. The first `padding` of
/// them only fill up vectors: no result uses them, and the signal may not have them any more.
struct SampleWindow {
    index_t first, count, padding;
};

/// Reads windows of signals that continue beyond their ends by an extension. Samples are read where
/// they are, if they are real, contiguous and of the precision. Otherwise they are loaded.
template <class Real>
class SignalRows {
    using Complex = std::complex<Real>;

  public:
    SignalRows(SignalExtension extension, std::complex<double> value, bool is_complex)
        : extension_(extension),
          value_(value),
          is_complex_(is_complex),
          whole_(identity_indices(load_samples)) {}

    /// Returns the bytes of scratch memory for windows of at most `samples` samples, and for the
    /// store of at most `results` results.
    static index_t scratch_bytes(index_t samples, index_t results) {
        return 2 * ScratchArena::room_for<Real>(samples) +
               ScratchArena::room_for<Complex>(std::max(samples, results));
    }

    /// Finds the samples of a window, or loads them: rows[0] is their real parts and, for complex
    /// signals, rows[1] their imaginary parts.
    void read(const ResampledSignals& signals, index_t z, index_t y, const SampleWindow& window,
              ScratchArena& scratch, const Real** rows) const {
        const ConstImageView& samples = signals.samples;
        const index_t begin = window.first - signals.first;
        const bool is_inside = begin >= 0 && begin + window.count <= samples.shape.x;
        if (!is_complex_ && is_inside && samples.type == pixel_type_of_v<Real> &&
            samples.strides.x == 1) {
            rows[0] = static_cast<const Real*>(samples.at(z, y, begin));
            return;
        }
        Real* const real = scratch.take<Real>(window.count);
        rows[0] = real;
        if (!is_complex_) {
            load(signals, z, y, window, real);
            return;
        }
        Real* const imaginary = scratch.take<Real>(window.count);
        rows[1] = imaginary;
        ScratchArena unused_later = scratch;
        const bool is_direct =
            is_inside && samples.type == pixel_type_of_v<Complex> && samples.strides.x == 1;
        const Complex* from = nullptr;
        if (is_direct) {
            from = static_cast<const Complex*>(samples.at(z, y, begin));
        } else {
            auto* const loaded = unused_later.take<Complex>(window.count);
            load(signals, z, y, window, loaded);
            from = loaded;
        }
        deinterleave(from, real, imaginary, window.count);
    }

    /// Stores real results, or complex ones if there is a second row of sums.
    static void store(const Real* const* sums, const ImageView& results, index_t z, index_t y,
                      index_t begin, index_t count, ScratchArena& scratch) {
        if (sums[1] == nullptr) {
            copy(sums[0], results, z, y, begin, count);
            return;
        }
        const bool is_contiguous = results.strides.x == 1;
        Complex* const whole = is_contiguous ? static_cast<Complex*>(results.at(z, y, begin))
                                             : scratch.take<Complex>(count);
        interleave(sums[0], sums[1], whole, count);
        if (!is_contiguous) copy(whole, results, z, y, begin, count);
    }

  private:
    static constexpr index_t load_samples = 4096;  // samples that are converted at a time

    template <class Sample>
    static void copy(const Sample* from, const ImageView& results, index_t z, index_t y,
                     index_t begin, index_t count) {
        auto* const to = static_cast<Sample*>(results.at(z, y, begin));
        for (index_t i = 0; i < count; ++i) to[i * results.strides.x] = from[i];
    }

    template <class Sample>
    void load(const ResampledSignals& signals, index_t z, index_t y, const SampleWindow& window,
              Sample* out) const {
        const index_t end = signals.first + signals.samples.shape.x;
        const index_t from = std::clamp(signals.first, window.first, window.first + window.count);
        const index_t to = std::clamp(end, from, window.first + window.count);
        for (index_t i = from; i < to; i += load_samples)
            load_inside(signals, z, y, i, std::min(load_samples, to - i), out + (i - window.first));
        const ExtendedSignal<Sample> beyond{extension_, value<Sample>(), end};
        const auto at = [&](index_t i) {
            Sample sample{};
            load_inside(signals, z, y, i, 1, &sample);
            return sample;
        };
        for (index_t i = window.first; i < from; ++i)
            out[i - window.first] = i < window.first + window.padding ? Sample{} : beyond(i, at);
        for (index_t i = to; i < window.first + window.count; ++i)
            out[i - window.first] = beyond(i, at);
    }

    template <class Sample>
    Sample value() const {
        if constexpr (is_complex_sample<Sample>)
            return static_cast<Sample>(value_);
        else
            return static_cast<Sample>(value_.real());
    }

    // Loads at most load_samples samples from sample `first` on, which the signal has.
    template <class Sample>
    void load_inside(const ResampledSignals& signals, index_t z, index_t y, index_t first,
                     index_t count, Sample* out) const {
        ConstImageView part = signals.samples;
        if (first < signals.first || first + count > signals.first + part.shape.x)
            throw InternalError(
                message("samples from ", first, " of a signal from ", signals.first));
        part.data = part.at(z, y, first - signals.first);
        part.shape = {1, 1, count};
        pixels::load_span(part, 0, 0, whole_, {0, count}, {}, out);
    }

    SignalExtension extension_;
    std::complex<double> value_;
    bool is_complex_;
    pixels::RowGather whole_;
};

}  // namespace convolume::cpu
