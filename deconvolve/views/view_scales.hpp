// SPDX-License-Identifier: Apache-2.0
#pragma once
// The places and units of the images of several views in one array of pixels, which holds them one
// after the other.

#include <algorithm>
#include <vector>

#include "convolume/forward_model.hpp"

namespace convolume::deconvolve {

/// Factor and constant that bring the model of a view to the units which all views share:
/// factor · A x + constant.
struct ViewScale {
    float factor = 1, constant = 0;
};

class ViewScales {
  public:
    explicit ViewScales(const std::vector<View>& views) : scales_(views.size()) {
        index_t pixels = 0;
        for (const View& view : views) {
            firsts_.push_back(pixels);
            counts_.push_back(element_count(view.image));
            pixels = checked_add(pixels, counts_.back());
        }
    }

    std::size_t views() const { return scales_.size(); }
    /// Returns the number of the first pixel of a view, and that of its pixels.
    index_t first(std::size_t view) const { return firsts_[view]; }
    index_t count(std::size_t view) const { return counts_[view]; }
    index_t largest() const { return *std::max_element(counts_.begin(), counts_.end()); }
    const ViewScale& scale(std::size_t view) const { return scales_[view]; }
    void set_scale(std::size_t view, const ViewScale& scale) { scales_[view] = scale; }
    /// Says that the model has further views behind these, which project them back in steps by one
    /// view (ViewUpdates::efficient).
    void add_back_projectors() { has_back_projectors_ = true; }
    bool has_back_projectors() const { return has_back_projectors_; }

  private:
    std::vector<ViewScale> scales_;
    std::vector<index_t> firsts_, counts_;
    bool has_back_projectors_ = false;
};

}  // namespace convolume::deconvolve
