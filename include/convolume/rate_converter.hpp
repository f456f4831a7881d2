// SPDX-License-Identifier: Apache-2.0
#pragma once
// Conversion of signals between any two sampling rates, whose ratio may vary: clocks that drift,
// Doppler shifts, rates without a common divisor. Resampler (resample.hpp) is for rational factors.

#include <span>

#include "convolume/execution.hpp"
#include "convolume/export.hpp"
#include "convolume/options.hpp"
#include "convolume/volume.hpp"

namespace convolume {

/// Options of RateConverter and convert_rate().
struct RateOptions {
    /// Sampling rate of the results, divided by that of the samples: from 1e-4 to 1e4.
    double ratio = 1;
    /// Lowest ratio that the signals may have, for which the filter is made. 0: `ratio`.
    double lowest_ratio = 0;
    /// Bound of the error of results, relative to a tone's amplitude, from 20 to 180 dB: of tones
    /// in the pass band, and of what is left of tones in the stop band. Results in float32 have
    /// rounding errors beside it, of -125 to -135 dB.
    double attenuation_db = 120;
    /// End of the pass band, from 0.01 to 0.999 of the lower of both Nyquist frequencies. The stop
    /// band begins at that frequency.
    double pass_band = 0.9;
    Precision precision = Precision::float32;  ///< precision of sums and results
    int threads = 0;                           ///< threads of the CPU; 0: all processors
};

/// Converts signals that come in blocks of any sizes. Each sample i has a ratio r_i. With samples x
/// and a low-pass filter h without delay, result n is
///
///     y[n] = Σ_i h(t_n - i) x[i],   t_0 = 0,   t_{n+1} = t_n + 1 / r_i  with  i = ⌊t_n⌋
///
/// for all t_n below the number of samples. Signals are zero beyond their ends. Filters are sincs
/// in Kaiser windows: a sharp one raises the rate to about twice that of the results or more, after
/// others have halved it where it falls far, and a short one, tabulated as cubic polynomials,
/// interpolates. Where the rate is halved, h depends on i modulo a power of two as well. All errors
/// together are below the bound that `attenuation_db` sets. Times have
/// 64 bits after the binary point. Results do not depend on the sizes of blocks. NaN and infinities
/// reach the results whose taps meet them.
/// @code{.cpp}
/// RateOptions options;
/// options.ratio = 48000.5 / 44100;
/// options.lowest_ratio = 0.999 * options.ratio;
/// RateConverter converter(options);
/// const std::vector<float> block(44100, 1.0F);
/// const Volume first = converter.push(view_of(block.data(), {1, 1, 44100}));
/// converter.set_ratio(48000 / 44100.0);  // of the samples that follow
/// const Volume second = converter.push(view_of(block.data(), {1, 1, 44100}));
/// const Volume last = converter.finish();
/// assert(first.shape().x + second.shape().x + last.shape().x == 96001);
/// assert(std::abs(second.elements<float>()[20000] - 1) < 1e-6);
/// @endcode
class CONVOLUME_API RateConverter {
  public:
    /// Results are complex if `signal_type` is. Throws InvalidArgument, OutOfMemory.
    explicit RateConverter(const RateOptions& options = {},
                           PixelType signal_type = PixelType::float32, index_t signals = 1);

    /// Returns the options, with the lowest ratio.
    const RateOptions& options() const;
    PixelType result_type() const;
    /// Returns the number of samples that a result reads. Half of them come after its time.
    index_t taps() const;
    /// Returns the ratio of the samples that come next.
    double ratio() const;
    /// Sets the ratio of the samples that come next. Throws InvalidArgument for ratios that are
    /// too large, or below the lowest ratio.
    void set_ratio(double ratio);

    /// Returns the number of results of a signal of `samples` samples that all have ratio(): their
    /// product, rounded up.
    index_t results(index_t samples) const;

    /// Takes the next samples, of shape (1, signals, samples), and returns the results that they
    /// complete: (1, signals, results), possibly none. `ratios` has the ratio of each sample, and
    /// its last one becomes ratio(); without it, all have ratio(). Throws InvalidArgument, after
    /// which the stream is as before. After OutOfMemory and Cancelled, make another stream.
    Volume push(const ConstImageView& samples, std::span<const double> ratios = {},
                const ExecutionContext& context = {});
    /// Ends the signal, and returns its last results. Another signal may follow. Throws BadData if
    /// the signal has no samples.
    Volume finish(const ExecutionContext& context = {});

  private:
    struct Impl;
    Hidden<Impl> impl_;
};

/// Converts whole signals along x: z and y count signals, with any strides. `ratios` is empty, or
/// has the ratio of each sample; then `options.ratio` is not used, and the lowest ratio is that of
/// `ratios` unless it is given. Throws as RateConverter.
/// @code{.cpp}
/// const std::vector<float> signal(1000, 1.0F);
/// RateOptions options;
/// options.ratio = 1.0001;
/// const Volume results = convert_rate(view_of(signal.data(), {1, 1, 1000}), options);
/// assert(results.shape().x == 1001);
/// @endcode
CONVOLUME_API Volume convert_rate(const ConstImageView& signals, const RateOptions& options,
                                  std::span<const double> ratios = {},
                                  const ExecutionContext& context = {});

}  // namespace convolume
