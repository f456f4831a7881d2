// SPDX-License-Identifier: Apache-2.0
#pragma once
// Times that the blocks of a live signal take.

#include <array>
#include <optional>

#include "cli/run/run.hpp"
#include "convolume/shape.hpp"

namespace convolume::cli {

/// Times of the blocks of a stream, which may be endless: counts of times of about equal length.
class PushTimes {
  public:
    void add(double seconds);
    index_t blocks() const { return blocks_; }
    double longest() const { return longest_; }
    /// Returns a time that `part` of all blocks did not exceed, up to 4 %.
    double quantile(double part) const;
    /// Tells how long blocks of `samples` samples took, and at a known rate how long they last.
    void tell(const Facts& facts, index_t samples, const std::optional<double>& rate_hz) const;

  private:
    static constexpr int steps_in_octave = 16;
    static constexpr double shortest = 1e-8;
    std::array<index_t, 32 * steps_in_octave> counts_{};
    index_t blocks_ = 0;
    double longest_ = 0;
};

}  // namespace convolume::cli
