// SPDX-License-Identifier: Apache-2.0
#pragma once
// How the results of a range are cut into chunks that are computed one after another: pure
// arithmetic, for engines and for streaming alike.

#include <cmath>

#include "convolume/filter_options.hpp"

namespace convolume {

/// Results [results.begin, results.end), which leave `stored` windows from `first_stored` on.
struct ResultChunk {
    SampleRange results;
    index_t first_stored = 0;
    index_t stored = 0;
};

/// Chunks hold whole windows, or, where those are longer than a chunk may be, the parts of a
/// window (peaks) or the one sample of it that is stored (decimation).
class ResultChunks {
  public:
    /// `longest`: results of a chunk, at least 1.
    ResultChunks(const SampleRange& range, const WindowPost& window, index_t longest);

    index_t count() const { return count_; }
    ResultChunk operator[](index_t i) const;

    /// Chunks of one window; above 1, their peaks are still to be combined.
    index_t parts() const { return parts_; }

  private:
    SampleRange range_;
    index_t window_;           ///< results from one window to the next
    index_t windows_ = 1;      ///< of a chunk
    index_t parts_ = 1;        ///< of a window
    index_t part_ = 0;         ///< results of a part
    bool first_only_ = false;  ///< of each window only the first result is computed
    index_t stored_;
    index_t count_;
};

/// Whether `value` takes the place of a window's largest so far: NaN never does, and gives way.
template <class Real>
bool is_higher(Real value, Real largest) {
    return value > largest || (std::isnan(largest) && !std::isnan(value));
}

}  // namespace convolume
