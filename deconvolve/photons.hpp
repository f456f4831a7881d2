// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <Random123/philox.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <optional>

#include "convolume/cuda/detail/complex.hpp"
#include "convolume/deconvolver.hpp"
#include "deconvolve/methods/richardson_lucy_elements.hpp"

// ThinningPurpose: a part of an image's photons is set apart at random, so that both parts are
// recordings of the same object with independent noise. What is drawn depends on the pixel's number
// alone (Philox4x32-10: Salmon et al., SC'11), so that threads and devices draw the same.
namespace convolume::deconvolve {

/// Purposes of draws: each has random numbers of its own. Those of optics/random_draws.hpp go up
/// to 5.
enum class ThinningPurpose : std::uint32_t { hold_out = 16, halves };

/// The random words of one pixel, one after another.
class PixelRandomBits {
  public:
    CONVOLUME_DEVICE PixelRandomBits(std::uint32_t seed, ThinningPurpose purpose, index_t pixel)
        : key_{{seed, 0}},
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

/// How many of `count` photons are taken, each with probability 2^-halvings. Up to 1024 every
/// photon has random bits of its own. More are drawn with the mean and variance of that
/// distribution, nearly normal: from the sum of 512 bits.
CONVOLUME_DEVICE std::int64_t taken_photons(std::int64_t count, int halvings,
                                            PixelRandomBits& bits) {
    constexpr std::int64_t most_single = 1024;
    std::int64_t taken = 0;
    if (count <= most_single) {
        for (std::int64_t left = count; left > 0; left -= 32) {
            std::uint32_t word = left < 32 ? (std::uint32_t{1} << left) - 1 : ~std::uint32_t{0};
            for (int h = 0; h < halvings; ++h) word &= bits.next();
            taken += ones_of(word);
        }
        return taken;
    }
    int sum = -256;
    for (int k = 0; k < 16; ++k) sum += ones_of(bits.next());
    // Between whole sums, all values are alike likely.
    const double deviate = sum + (bits.next() * 0x1p-32 - 0.5);
    const double p = 1.0 / static_cast<double>(1 << halvings);
    const double n = static_cast<double>(count);
    const double scale = std::sqrt(n * p * (1 - p) / (128 + 1.0 / 12));
    const double drawn = std::floor(std::fma(scale, deviate, n * p + 0.5));
    return static_cast<std::int64_t>(drawn < 0 ? 0 : drawn > n ? n : drawn);
}

/// The part of a pixel's value that is set apart: the taken ones of its whole photons, and the
/// share 2^-halvings of everything else (a fraction of a photon, the offset). From 0 to `value`.
CONVOLUME_DEVICE float taken_value(float value, int halvings, float gain, float offset,
                                   PixelRandomBits& bits) {
    const float share = 1.0F / static_cast<float>(1 << halvings);
    const float above = value - offset;
    const float photons = gain * above;
    const float whole = photons > 0 ? std::floor(photons) : 0;
    const auto taken =
        static_cast<float>(taken_photons(static_cast<std::int64_t>(whole), halvings, bits));
    const float part = share * value + (taken - share * whole) / gain;
    return part < 0 ? 0 : part > value ? value : part;
}

/// held <- the part of the data that is set apart; data <- the rest.
struct PhotonThinning {
    float* data;
    float* held;
    int halvings;
    float gain;
    float offset;
    std::uint32_t seed;
    ThinningPurpose purpose;
    index_t first = 0;  ///< the number of the arrays' first pixel in the image
    CONVOLUME_DEVICE void operator()(index_t i) const {
        if (!richardson_lucy::is_compared(data[i])) {
            held[i] = data[i];
            return;
        }
        PixelRandomBits bits(seed, purpose, first + i);
        const float part = taken_value(data[i], halvings, gain, offset, bits);
        held[i] = part;
        data[i] -= part;
    }
};

// How many photons a pixel's value stands for, seen from the image's own noise.

/// The line variance = (mean - offset) / gain through the noise of pixels of one brightness each.
/// Noise is what second differences along all axes of at least 3 samples leave, the median of their
/// squares for pixels of like brightness (means over 5 samples an axis): blurred objects hardly
/// have such differences. Read noise counts as light, by a lower offset. Nothing where the noise
/// does not grow with brightness. From at most half a million pixels, evenly spaced.
std::optional<PhotonScale> estimate_photon_scale(const ConstImageView& image, int threads);

}  // namespace convolume::deconvolve
