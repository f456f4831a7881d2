// SPDX-License-Identifier: Apache-2.0
#pragma once
// Correlation banks: matched filters over long 1D signals, and the peaks of their signal-to-noise
// ratio (SNR). A signal x has N samples and is zero outside. A template h has K samples. Its SNR at
// position n, where the template begins, is
//
//     ρ[n] = Σ_k conj(h[k]) x[n + k] / s[n + k] / sqrt(Σ_k |h[k]|²)
//
// Here s is the standard deviation of the noise: a number, or estimated along the signal. If the
// noise is white, the mean of |ρ|² over noise alone is 1 for every template, and no linear filter
// has a larger SNR (Turin, IRE Trans. Inf. Theory 6:311, 1960). For the local level s, see Cordes
// and McLaughlin, Astrophys. J. 596:1142, 2003. Correlation is convolution with the conjugated,
// reversed template, so the series is that of a FilterBank.

#include <functional>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "convolume/filter_bank.hpp"

namespace convolume {

/// How the position of a peak is found between samples.
enum class PeakPosition {
    sample,    ///< the sample of the largest |ρ|
    parabola,  ///< the vertex of the parabola through that sample and its neighbors
    /// The largest value within 4 samples of it between samples, by a windowed sinc of 32 samples.
    /// The error of the interpolation is below 1e-4 of the peak if the template has no frequencies
    /// above 0.4 of the sampling rate.
    interpolated,
};
/// Returns the name of the position, such as "parabola".
CONVOLUME_API const char* to_string(PeakPosition);
/// Parses a name that to_string() returns. Throws InvalidArgument, which lists the names, for
/// others.
CONVOLUME_API PeakPosition parse_peak_position(std::string_view);

/// Options of CorrelationBank.
struct CorrelationOptions {
    /// Options of the filters. `origin`, `post`, `window`, `range` and `function` are the bank's.
    /// The mode says where templates begin: in same at samples 0 … N−1, in full also before, in
    /// valid where the longest template fits.
    FilterOptions filters{};
    /// Standard deviation of the noise, above 0; of complex noise, the square root of the mean of
    /// |noise|². If not given, it is 1, or estimated.
    std::optional<double> noise;
    /// Samples of a block in which the level of the noise is estimated by the median of |x|. The
    /// level is interpolated linearly between the centers of blocks. The last block has up to twice
    /// as many samples. If not given, no level is estimated.
    std::optional<index_t> noise_block;
    double threshold = 8;  ///< smallest |ρ| of a peak
    /// Positions of a window. A peak is the largest |ρ| of its window, and those of the windows
    /// beside it are not larger or farther away than a window. If not given, the samples of the
    /// longest template.
    std::optional<index_t> window;
    PeakPosition position = PeakPosition::parabola;
    /// Whether each template has peaks of its own. If not, those of all templates compete, so that
    /// an event gives one peak, of the template that fits best.
    bool per_template = false;
    /// Whether execute() can write the series. If not, only the largest |ρ|² of each window leaves
    /// the engine.
    bool keeps_series = false;
};

/// A peak of the SNR.
struct CorrelationPeak {
    index_t signal = 0;
    index_t template_index = 0;
    double position = 0;  ///< sample of the signal at which the template begins
    double snr = 0;       ///< |ρ|
    double phase = 0;     ///< argument of ρ, in radians; 0 or π if ρ is real
};

/// Takes peaks in the order of signals, and of positions before these are refined.
using PeakFunction = std::function<void(std::span<const CorrelationPeak>)>;

/// Finds templates in signals. The filters only find the windows of peaks. SNR and position are
/// then computed from samples and template in double precision, so that they have the same bits for
/// all devices, methods and chunks. Immutable after construction: several threads may call
/// execute() and peaks().
/// @code{.cpp}
/// const std::vector<float> pulse = {1, -2, 1};
/// std::vector<float> signal(1000);
/// signal[500] = 4, signal[501] = -8, signal[502] = 4;
/// CorrelationOptions options;
/// options.noise = 0.5;
/// const CorrelationBank bank({1, 1000}, {view_of(pulse.data(), {1, 1, 3})}, options);
/// const auto peaks = bank.peaks(view_of(signal.data(), {1, 1, 1000}));
/// assert(peaks.size() == 1 && std::abs(peaks[0].position - 500) < 1e-6);
/// @endcode
class CONVOLUME_API CorrelationBank {
  public:
    /// Plans the filters. `templates` have any lengths and types. A view of shape (1, 1, K) is one
    /// template, a view of shape (1, T, K) is T templates. Throws InvalidArgument (options, an
    /// empty bank), BadData (NaN in a template, a template of zeros), Unavailable, OutOfMemory.
    CorrelationBank(const SignalShape& shape, const std::vector<ConstImageView>& templates,
                    const CorrelationOptions& options = {}, const EngineChoice& engines = {},
                    PixelType signal_type = PixelType::float32);

    /// Returns the bank of conjugated, reversed templates. With keeps_series, its results are ρ at
    /// the positions range().begin − origin() and on.
    const FilterBank& filter_bank() const;
    index_t window() const;  ///< returns the positions of a window

    /// Returns the peaks of signals in memory, of shape (1, signals, samples) and any type that is
    /// not complex if the plan is real. Throws as execute() does.
    std::vector<CorrelationPeak> peaks(const ConstImageView& signals,
                                       const ExecutionContext& context = {}) const;
    /// Returns the peaks of signals whose maxima were found elsewhere, for example by a
    /// DeviceFilterBank of matched_filters() in a GPU's memory, with PointPost::power and windows
    /// of window() results. `powers` has the shape (signals, templates, windows), and `positions`,
    /// contiguous, the places of the maxima in the full result. Only samples beside peaks are read
    /// from `source`. Throws InvalidArgument, and for banks that estimate the noise or keep the
    /// series.
    std::vector<CorrelationPeak> peaks_of_maxima(const ConstImageView& powers,
                                                 const index_t* positions,
                                                 SignalSource& source) const;
    /// Finds peaks in signals of any length from `source`, in chunks that fit the memory limit.
    /// `on_peaks` is called by one thread at a time, as soon as peaks are certain. `series`, if not
    /// null, gets ρ, which takes CorrelationOptions::keeps_series. Throws as FilterBank::execute()
    /// does, and the errors of source, sink and on_peaks.
    ExecutionReport execute(SignalSource& source, const PeakFunction& on_peaks,
                            ResultSink* series = nullptr,
                            const ExecutionContext& context = {}) const;

  private:
    struct Impl;
    Hidden<Impl> impl_;
};

/// Returns the taps that compute ρ for one noise level: conj(h[K−1−k]) / (noise · sqrt(Σ|h|²)), one
/// row for each template, in double precision. A FilterBank or DeviceFilterBank of these taps with
/// the origin "anticausal" has ρ[n] at sample n of Mode::same. Throws as CorrelationBank does.
/// @code{.cpp}
/// const std::vector<float> pulse = {3, 4};
/// const std::vector<Volume> taps = matched_filters({view_of(pulse.data(), {1, 1, 2})});
/// assert(std::abs(taps[0].elements<double>()[0] - 0.8) < 1e-12);
/// @endcode
CONVOLUME_API std::vector<Volume> matched_filters(const std::vector<ConstImageView>& templates,
                                                  double noise = 1);

/// Returns signals of shape (1, signals, samples) divided by the level of their noise, which is
/// estimated as CorrelationOptions::noise_block says: median |x| / 0.6745, of complex signals
/// median |x| / sqrt(ln 2). Where a block's median is 0, the level before holds; samples without a
/// level become 0. Throws InvalidArgument for a block of fewer than 16 samples.
/// @code{.cpp}
/// std::vector<float> hum(4096);
/// for (index_t i = 0; i < 4096; ++i) hum[i] = i % 2 == 0 ? 6.745F : -6.745F;
/// const Volume even = divide_by_noise(view_of(hum.data(), {1, 1, 4096}), 256);
/// assert(std::abs(even.elements<float>()[100] - 0.6745F) < 1e-3F);
/// @endcode
CONVOLUME_API Volume divide_by_noise(const ConstImageView& signals, index_t block,
                                     Precision precision = Precision::float32);

/// A chirp: exp(2πi (f u + d u²/2)), with the time u from the middle of the template.
struct Chirp {
    double frequency_hz = 0;    ///< f, the frequency in the middle
    double drift_hz_per_s = 0;  ///< d, the derivative of the frequency
};

/// Chirps and their templates.
struct ChirpBank {
    Volume templates;  ///< (1, chirps, samples), complex64
    std::vector<Chirp> chirps;
};

/// The chirps of chirp_bank(): `samples` at `rate_hz`, with frequencies and drifts in two ranges.
struct ChirpBankOptions {
    index_t samples = 0;
    double rate_hz = 1;
    std::pair<double, double> frequency_hz{0, 0};
    std::pair<double, double> drift_hz_per_s{0, 0};
    /// Largest fraction of the SNR that a chirp within the ranges loses because it is between the
    /// bank's chirps, above 0 and up to 0.5.
    double mismatch = 0.03;
    index_t most_chirps = 100'000;  ///< largest number of chirps
};

/// Returns chirps on a grid over both ranges. For a template of T seconds, the loss at a distance
/// (Δf, Δd) is at most (π T Δf)²/6 + (π T² Δd)²/360, the second-order expansion of the correlation
/// of two chirps; each axis of the grid gets half of the mismatch. Throws InvalidArgument for
/// ranges that are empty or beyond half the rate, and for more chirps than most_chirps.
/// @code{.cpp}
/// ChirpBankOptions options;
/// options.samples = 256;
/// options.frequency_hz = {0.1, 0.2};
/// options.drift_hz_per_s = {-1e-4, 1e-4};
/// const ChirpBank bank = chirp_bank(options);
/// assert(bank.templates.shape().y == index_t(bank.chirps.size()));
/// @endcode
CONVOLUME_API ChirpBank chirp_bank(const ChirpBankOptions& options);

/// Returns templates for Fourier-domain acceleration searches (Ransom, Eikenberry and Middleditch,
/// Astron. J. 124:1788, 2002): the response h_z[q] of the discrete Fourier transform of N samples,
/// divided by N, to a tone whose frequency drifts by z bins over the N samples,
///
///     h_z[q] = ∫_0^1 exp(2πi (−(q + z/2) u + z u²/2)) du,   q = −m … m
///
/// for z from −max_drift to max_drift in equal steps. Frequency is the position in the spectrum: a
/// template that begins at bin n stands for a tone whose mean frequency is bin n + m, with m =
/// (samples − 1)/2. `chirps` hold the drifts z in bins. Steps of z are at most sqrt(1440 ·
/// mismatch)/π, which is 2 for a mismatch of 0.027. Throws InvalidArgument for a negative drift or
/// one above 10,000, and for a mismatch that is not above 0 and up to 0.5.
/// @code{.cpp}
/// const ChirpBank bank = spectral_chirp_bank(20);
/// assert(bank.chirps.size() == 21 && bank.chirps[20].drift_hz_per_s == 20);
/// @endcode
CONVOLUME_API ChirpBank spectral_chirp_bank(double max_drift, double mismatch = 0.03);

}  // namespace convolume
