// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <Random123/philox.h>

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <optional>
#include <vector>

#include "convolume/cuda/detail/complex.hpp"
#include "convolume/deconvolver.hpp"
#include "convolume/volume.hpp"
#include "deconvolve/estimates/levels.hpp"
#include "deconvolve/formulas.hpp"

// Thinning: some of an image's photons are drawn at random and separated from the others, so that
// both images record the same object with independent noise. Random numbers depend on the pixel's
// number alone, so that all threads and devices draw the same photons. They come from
// Philox4x32-10: J. Salmon et al., SC'11.
namespace convolume::deconvolve {

/// Purposes of drawing photons. Each has random numbers of its own; numbers up to 5 belong to
/// optics/random_draws.hpp. Split number k of an uncertainty has the number splits + k.
enum class ThinningPurpose : std::uint32_t { background = 15, hold_out, halves, splits };

/// The random words of one pixel, one after another.
class PixelRandomBits {
  public:
    CONVOLUME_DEVICE PixelRandomBits(std::uint64_t seed, ThinningPurpose purpose, index_t pixel)
        : key_{{static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32)}},
          counter_{{0, static_cast<std::uint32_t>(purpose), static_cast<std::uint32_t>(pixel),
                    static_cast<std::uint32_t>(static_cast<std::uint64_t>(pixel) >> 32)}} {}

    CONVOLUME_DEVICE std::uint32_t next() {
        if (used_ == 4) {
            block_ = r123::Philox4x32()(counter_, key_);
            ++counter_.v[0];
            used_ = 0;
        }
        return block_.v[used_++];
    }

  private:
    r123::Philox4x32::key_type key_;
    r123::Philox4x32::ctr_type counter_;
    r123::Philox4x32::ctr_type block_{};
    int used_ = 4;
};

CONVOLUME_DEVICE int ones_of(std::uint32_t word) {
#ifdef __CUDA_ARCH__
    return __popc(word);
#else
    return std::popcount(word);
#endif
}

/// Draws from `count` photons, each with probability 2^-halvings, and returns how many were drawn.
/// Up to 1024 photons have random bits of their own. The number drawn from more is nearly normal
/// with the same mean and variance, and made of the sum of 512 bits.
CONVOLUME_DEVICE std::int64_t drawn_photons(std::int64_t count, int halvings,
                                            PixelRandomBits& bits) {
    constexpr std::int64_t most_single = 1024;
    std::int64_t drawn = 0;
    if (count <= most_single) {
        for (std::int64_t left = count; left > 0; left -= 32) {
            std::uint32_t word = left < 32 ? (std::uint32_t{1} << left) - 1 : ~std::uint32_t{0};
            for (int h = 0; h < halvings; ++h) word &= bits.next();
            drawn += ones_of(word);
        }
        return drawn;
    }
    int sum = -256;
    for (int k = 0; k < 16; ++k) sum += ones_of(bits.next());
    // Fills the gaps between whole sums evenly.
    const double deviate = sum + (bits.next() * 0x1p-32 - 0.5);
    const double p = 1.0 / static_cast<double>(1 << halvings);
    const double n = static_cast<double>(count);
    const double scale = std::sqrt(n * p * (1 - p) / (128 + 1.0 / 12));
    const double rounded = std::floor(std::fma(scale, deviate, n * p + 0.5));
    return static_cast<std::int64_t>(rounded < 0 ? 0 : rounded > n ? n : rounded);
}

/// Returns the part of a pixel's value that is drawn: the drawn ones of its whole photons, and the
/// share 2^-halvings of the rest (a fraction of a photon, the offset). It lies between 0 and
/// `value`.
CONVOLUME_DEVICE float drawn_value(float value, int halvings, float gain, float offset,
                                   PixelRandomBits& bits) {
    const float share = 1.0F / static_cast<float>(1 << halvings);
    const float above = value - offset;
    const float photons = gain * above;
    const float whole = photons > 0 ? std::floor(photons) : 0;
    const auto drawn =
        static_cast<float>(drawn_photons(static_cast<std::int64_t>(whole), halvings, bits));
    const float part = share * value + (drawn - share * whole) / gain;
    return part < 0 ? 0 : part > value ? value : part;
}

/// Two halves of a pixel's photons, each with twice its photons.
struct PixelHalves {
    float first, second;
};

/// Divides the photons of a pixel at random. A value that is not above 0 has none.
inline PixelHalves divide_pixel(float value, float gain, float offset, PixelRandomBits& bits) {
    if (!(value > 0)) return {value, value};
    const float first = 2 * drawn_value(value, 1, gain, offset, bits);
    return {first, 2 * value - first};
}

/// Moves the drawn photons of each pixel from `data` to `held_out`.
struct PhotonThinning {
    float* data;
    float* held_out;
    int halvings;
    float gain;
    float offset;
    std::uint32_t seed;
    ThinningPurpose purpose;
    index_t first = 0;  ///< number of the arrays' first pixel in the image
    CONVOLUME_DEVICE void operator()(index_t i) const {
        if (!richardson_lucy::is_measured(data[i])) {
            held_out[i] = richardson_lucy::not_compared;
            return;
        }
        PixelRandomBits bits(seed, purpose, first + i);
        const float part = drawn_value(data[i], halvings, gain, offset, bits);
        held_out[i] = part;
        data[i] -= part;
    }
};

/// Returns the functor that holds out one photon in 2^halvings. `first` is the number of the
/// arrays' first pixel in the image.
inline PhotonThinning hold_out_functor(float* data, float* held_out, const PhotonScale& photons,
                                       int halvings, index_t first = 0) {
    return {data,
            held_out,
            halvings,
            static_cast<float>(photons.gain),
            static_cast<float>(photons.offset),
            1,
            ThinningPurpose::hold_out,
            first};
}

// Estimation of the number of photons that a pixel's value stands for, from the image's own noise.

/// Mean brightness around a pixel, and an estimate of the variance of its noise.
struct NoiseSample {
    double mean = 0;
    double square = 0;  ///< square of the second difference, whose expectation is the variance
    /// The same of pixels two apart. White noise has the same expectation.
    double wide_square = 0;
    bool is_complete = false;  ///< whether no pixel around it is left out
};

/// Fits the line
///     variance = (mean - offset) / gain
/// to the noise of pixels of equal brightness, the mean over 5 samples of each axis. The noise is
/// seen in second differences along all axes of at least 3 samples, which blurred objects hardly
/// have. Its variance is the median of their squares. Read noise counts as light, by a lower
/// offset. Reads at most half a million pixels, evenly spaced.
class PhotonScaleEstimate {
  public:
    /// Missing pixels and those around them are left out, and pixels among many of at least
    /// `saturation`.
    PhotonScaleEstimate(const Shape3& image, PixelType type, std::optional<double> saturation = {});

    /// Takes planes from plane `z` on. All planes must be given in order.
    void add(const ConstImageView& planes, index_t z, int threads);
    /// Returns nothing if the noise does not grow with the brightness.
    std::optional<NoiseFit> find() const;
    /// Returns the variance of differences between neighbors, relative to that between pixels two
    /// apart, in the darkest tenth of the image: 1 for white noise, such as that of photons, and
    /// less if a filter, a resampling or a compression has mixed neighbors. Also 1 if there are too
    /// few pixels.
    double share_of_white_noise() const;

  private:
    std::vector<NoiseSample> complete() const;
    /// Samples the pixels of plane `z`; the planes around it are in `window_`.
    void sample_plane(index_t z, int threads);

    double saturation_;
    std::array<bool, 3> differs_{};
    Index3 reach_;   ///< samples on each side of a pixel that its mean includes
    Shape3 inside_;  ///< pixels that have all these neighbors
    index_t stride_ = 1;
    Volume window_;  ///< the last planes: plane z is at index z modulo their number
    std::vector<NoiseSample> samples_;
};

/// Returns the result of a PhotonScaleEstimate of a whole image.
std::optional<NoiseFit> estimate_photon_scale(const ConstImageView& image, int threads,
                                              std::optional<double> saturation = {});

}  // namespace convolume::deconvolve
