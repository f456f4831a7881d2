// SPDX-License-Identifier: Apache-2.0
#pragma once
// Resampling of signals by a rational factor up/down: zeros are inserted between samples, the
// result is filtered, and one of `down` results is kept. By polyphase sums, so that no inserted
// zero is multiplied and no result is computed in vain.

#include <vector>

#include "convolume/execution.hpp"
#include "convolume/export.hpp"
#include "convolume/resample_options.hpp"
#include "convolume/volume.hpp"

namespace convolume {

/// Returns the taps of a low-pass filter for resampling by up/down: a sinc with `zero_crossings` on
/// each side in a Kaiser window, of gain `up`. The defaults are those of
/// scipy.signal.resample_poly. There are 2 · zero_crossings · max(up, down) + 1 taps. Throws
/// InvalidArgument for factors below 1.
/// @code{.cpp}
/// const std::vector<double> taps = resample_taps(3, 2);
/// assert(taps.size() == 61 && std::abs(taps[30] - 1) < 1e-2);
/// @endcode
CONVOLUME_API std::vector<double> resample_taps(index_t up, index_t down,
                                                index_t zero_crossings = 10, double kaiser = 5);

/// Resamples signals of any length by one factor and one filter. With samples x, taps h, factors L
/// and M and origin o, result n is
///
///     y[n] = Σ_j h[p + j L] x[i - j],   i = (n M + o) div L,   p = (n M + o) mod L
///
/// Immutable after construction: execute() may be called from several threads.
/// @code{.cpp}
/// const std::vector<float> hold = {1, 1, 1}, signal = {1, 2, 3};
/// ResampleOptions options;
/// options.up = 3;
/// const Resampler resampler(view_of(hold.data(), {1, 1, 3}), options);
/// std::vector<float> results(9);
/// resampler.execute(view_of(signal.data(), {1, 1, 3}), view_of(results.data(), {1, 1, 9}));
/// assert((results == std::vector<float>{1, 1, 1, 2, 2, 2, 3, 3, 3}));
/// @endcode
class CONVOLUME_API Resampler {
  public:
    /// Prepares the filter, of shape (1, 1, taps), which is copied. Results are complex if
    /// `signal_type` or the filter is. Throws InvalidArgument (factors, an empty filter), BadData
    /// (NaN in the filter), OutOfMemory.
    explicit Resampler(const ConstImageView& taps, const ResampleOptions& options = {},
                       PixelType signal_type = PixelType::float32);

    const ResampleOptions& options() const;
    index_t taps() const;  ///< returns the number of taps
    PixelType result_type() const;
    /// Returns the number of results that a tap reaches, as of scipy.signal.upfirdn. Throws BadData
    /// for signals without samples, as same_results() and execute() do.
    index_t full_results(index_t samples) const;
    /// Returns the number of results in the time of `samples` samples: samples · up / down, rounded
    /// up.
    index_t same_results(index_t samples) const;

    /// Resamples signals along x: z and y count signals, with any strides. `signals` has any type
    /// that is not complex if the plan is real, and at least one sample. `results` has the type
    /// result_type() and any number of results, from result 0 on. Throws InvalidArgument,
    /// OutOfMemory, or Cancelled.
    void execute(const ConstImageView& signals, const ImageView& results,
                 const ExecutionContext& context = {}) const;

  private:
    friend class ResampleStream;
    struct Impl;
    Hidden<Impl> impl_;
};

/// Resamples signals that come in blocks of any sizes. The results have the bits of one call for
/// the whole signal, same_results() in number. The resampler must outlive the stream.
/// @code{.cpp}
/// const std::vector<double> taps = resample_taps(3, 2);
/// ResampleOptions options;
/// options.up = 3;
/// options.down = 2;
/// options.origin = static_cast<index_t>(taps.size() / 2);
/// const Resampler resampler(view_of(taps.data(), {1, 1, index_t(taps.size())}), options);
/// ResampleStream stream(resampler);
/// const std::vector<float> block(1000, 1.0F);
/// const Volume first = stream.push(view_of(block.data(), {1, 1, 1000}));
/// const Volume last = stream.finish();
/// assert(first.shape().x + last.shape().x == 1500);
/// @endcode
class CONVOLUME_API ResampleStream {
  public:
    /// Throws InvalidArgument for extensions that need both ends of the signal: wrap and line.
    explicit ResampleStream(const Resampler& resampler, index_t signals = 1);

    /// Takes the next samples, of shape (1, signals, samples), and returns the results that they
    /// complete: (1, signals, results), possibly none.
    Volume push(const ConstImageView& samples, const ExecutionContext& context = {});
    /// Ends the signal, and returns its last results. Another signal may follow. Throws BadData if
    /// the signal has no samples.
    Volume finish(const ExecutionContext& context = {});

  private:
    struct Impl;
    Hidden<Impl> impl_;
};

/// Resamples signals along x by up/down without delay, as scipy.signal.resample_poly does by
/// default. Results are float64 for signals of double precision and large integers.
/// @code{.cpp}
/// const std::vector<float> signal(1470, 1.0F);
/// const Volume resampled = resample(view_of(signal.data(), {1, 1, 1470}), 160, 147);
/// assert(resampled.shape().x == 1600);
/// assert(std::abs(resampled.elements<float>()[800] - 1) < 1e-2);
/// @endcode
CONVOLUME_API Volume resample(const ConstImageView& signals, index_t up, index_t down,
                              int threads = 0);

}  // namespace convolume
