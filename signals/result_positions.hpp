// SPDX-License-Identifier: Apache-2.0
#pragma once
// The times of results among samples that each have a ratio of rates.

#include <vector>

#include "core/rate_spec.hpp"

namespace convolume {

/// The first result is at sample 0. A result at sample i, or between samples i and i + 1, is
/// followed by one after 1 / ratio of sample i.
class ResultPositions {
  public:
    /// Sets the ratio of samples from number `sample` on, which is above earlier ones.
    void set_ratio(index_t sample, double ratio);
    /// Returns the number of results before sample `end`. The ratios of all samples before it are
    /// known.
    index_t count_before(index_t end) const;
    /// Takes the next positions before sample `end`, at most `most` of them.
    void take_before(index_t end, index_t most, std::vector<SamplePosition>& positions);
    /// Returns the number of results of `samples` samples that all have one ratio.
    static index_t count_of(index_t samples, double ratio);
    const SamplePosition& next() const { return cursor_.position; }

  private:
    /// A distance of results from sample `first` on.
    struct RateStep {
        index_t first;
        SamplePosition distance;
    };
    struct Cursor {
        SamplePosition position;
        std::size_t step = 0;
    };
    void advance(Cursor& cursor) const;

    std::vector<RateStep> steps_;
    Cursor cursor_;
};

}  // namespace convolume
