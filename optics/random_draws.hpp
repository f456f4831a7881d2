// SPDX-License-Identifier: Apache-2.0
#pragma once
// Random numbers that depend on seed, purpose and position alone, and not on the order of work. The
// generator is a function of a counter: Philox4x32-10 of Salmon, Moraes, Dror and Shaw, Parallel
// random numbers: as easy as 1, 2, 3, SC'11.

#include <Random123/philox.h>

#include <cstdint>

namespace convolume::optics {

/// Purpose of the numbers. At one seed and position, each purpose gets different numbers.
enum class DrawPurpose : std::uint32_t { photons = 1, read_noise, placement, path, texture };

/// Sequence of the random numbers of one seed, purpose and position.
class RandomDraws {
  public:
    RandomDraws(std::uint64_t seed, DrawPurpose purpose, std::uint64_t position)
        : key_{{low_bits(seed), high_bits(seed)}},
          counter_{
              {0, static_cast<std::uint32_t>(purpose), low_bits(position), high_bits(position)}} {}

    /// Returns a number uniform in (0, 1), never 0 or 1: the middle of one of 2^52 equal intervals.
    double uniform() {
        if (used_ == 4) {
            block_ = r123::Philox4x32()(counter_, key_);
            ++counter_[0];
            used_ = 0;
        }
        const std::uint64_t bits = std::uint64_t{block_[used_]} << 32 | block_[used_ + 1];
        used_ += 2;
        return (static_cast<double>(bits >> 12) + 0.5) * 0x1p-52;
    }
    double uniform(double from, double to) { return from + (to - from) * uniform(); }

    /// Returns a normal number with mean 0 and variance 1, by the Box-Muller transform.
    double normal();
    /// Returns a count with the Poisson distribution of `mean`, 0 <= mean <= 1e15, exact up to the
    /// rounding of float64. Means below 10 use inversion. Others use transformed rejection:
    /// Hörmann, Insurance: Mathematics and Economics 12:39 (1993), algorithm PTRS.
    double poisson(double mean);

  private:
    static std::uint32_t low_bits(std::uint64_t value) { return static_cast<std::uint32_t>(value); }
    static std::uint32_t high_bits(std::uint64_t value) {
        return static_cast<std::uint32_t>(value >> 32);
    }
    double small_poisson(double mean);
    double large_poisson(double mean);

    r123::Philox4x32::key_type key_;
    r123::Philox4x32::ctr_type counter_;
    r123::Philox4x32::ctr_type block_{};
    std::size_t used_ = 4;
};

}  // namespace convolume::optics
