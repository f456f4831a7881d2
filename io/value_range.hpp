// SPDX-License-Identifier: Apache-2.0
#pragma once
// The least and the largest value of samples that are written.

#include <mutex>
#include <vector>

#include "convolume/image_view.hpp"

namespace convolume::io {

struct ValueRange {
    double least = 0;
    double most = 0;
};

/// Collects the range of each channel. May be used by several threads.
class ChannelRanges {
  public:
    explicit ChannelRanges(index_t channels);

    /// Takes samples of real types into account; NaN and infinities are left out.
    void add(index_t channel, const ConstImageView& samples);
    /// Returns the ranges, {0, 0} for channels without a finite sample.
    std::vector<ValueRange> all() const;

  private:
    std::mutex mutex_;
    std::vector<ValueRange> ranges_;
};

}  // namespace convolume::io
