// SPDX-License-Identifier: Apache-2.0
#pragma once
// Filters of any lengths and types brought to one frame: their origins meet at the same tap.

#include <complex>
#include <vector>

#include "convolume/filter_options.hpp"
#include "convolume/volume.hpp"

namespace convolume {

class AlignedFilters {
  public:
    /// Views as in FilterBank. Throws InvalidArgument (nothing in it), BadData (NaN).
    AlignedFilters(const std::vector<ConstImageView>& filters, const FilterOrigin& origin);

    index_t filters() const { return static_cast<index_t>(rows_.size()); }
    index_t taps() const { return taps_; }
    index_t origin() const { return origin_; }
    bool complex_taps() const { return complex_; }

    /// All filters, with `derivative` of two taps more: h * (1, 0, -1)/2. Throws BadData when
    /// `type` cannot hold a tap.
    Volume make_taps(PixelType type, bool derivative) const;

  private:
    struct Row {
        std::vector<std::complex<double>> taps;
        index_t origin = 0;
        index_t begin = 0;  ///< in the frame
    };
    std::vector<Row> rows_;
    index_t taps_ = 0;
    index_t origin_ = 0;
    bool complex_ = false;
};

}  // namespace convolume
