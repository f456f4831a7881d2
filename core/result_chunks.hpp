// SPDX-License-Identifier: Apache-2.0
#pragma once
// Division of a range of results into chunks that are computed one after another. Pure arithmetic,
// used by engines and by streaming.

#include <cmath>

#include "convolume/filter_options.hpp"

namespace convolume {

/// One chunk: results [results.begin, results.end), from which `stored` windows are stored, from
/// window `first_stored` on.
struct ResultChunk {
    SampleRange results;
    index_t first_stored = 0;
    index_t stored = 0;
};

/// The chunks of a range. A chunk holds whole windows. If a window is longer than a chunk may be, a
/// chunk holds a section of one window (peaks) or its one stored sample (decimation).
class ResultChunks {
  public:
    /// `longest`: largest number of results in a chunk, at least 1.
    ResultChunks(const SampleRange& range, const WindowPost& window, index_t longest);

    index_t count() const { return count_; }
    ResultChunk operator[](index_t i) const;

    /// Returns the number of chunks per window. If it is above 1, the caller combines the peaks of
    /// these chunks.
    index_t chunks_per_window() const { return chunks_per_window_; }

  private:
    SampleRange range_;
    index_t window_length_;            ///< results in a window
    index_t windows_per_chunk_ = 1;    ///< windows in a chunk
    index_t chunks_per_window_ = 1;    ///< chunks per window
    index_t results_per_chunk_ = 0;    ///< results in each chunk of a window
    bool only_first_results_ = false;  ///< only the first result of each window is computed
    index_t stored_;
    index_t count_;
};

/// Returns true if `value` replaces a window's largest value so far. NaN never replaces another
/// value, and any number replaces NaN.
template <class Real>
bool is_higher(Real value, Real largest) {
    return value > largest || (std::isnan(largest) && !std::isnan(value));
}

}  // namespace convolume
