// SPDX-License-Identifier: Apache-2.0
#pragma once
// How the results of a range are cut into stretches that are computed one after another: pure
// arithmetic, for engines (blocks) and for streaming (pieces) alike.

#include <cmath>

#include "convolume/filter_options.hpp"

namespace convolume {

/// Results [results.begin, results.end), which leave `stored` windows from `first_stored` on.
struct ResultStretch {
    SampleRange results;
    index_t first_stored = 0;
    index_t stored = 0;
};

/// Stretches hold whole windows, or, where those are longer than a stretch may be, the parts of a
/// window (peaks) or the one sample of it that is stored (decimation).
class ResultCut {
  public:
    /// `longest`: results of a stretch, at least 1.
    ResultCut(const SampleRange& range, const WindowPost& window, index_t longest);

    index_t stretches() const { return stretches_; }
    ResultStretch operator[](index_t i) const;

    /// Stretches of one window; above 1, their peaks are still to be combined.
    index_t parts() const { return parts_; }

  private:
    SampleRange range_;
    index_t window_;           ///< results from one window to the next
    index_t windows_ = 1;      ///< of a stretch
    index_t parts_ = 1;        ///< of a window
    index_t part_ = 0;         ///< results of a part
    bool first_only_ = false;  ///< of each window only the first result is computed
    index_t stored_;
    index_t stretches_;
};

/// Whether `value` takes the place of a window's largest so far: NaN never does, and gives way.
template <class Real>
bool is_higher(Real value, Real largest) {
    return value > largest || (std::isnan(largest) && !std::isnan(value));
}

}  // namespace convolume
