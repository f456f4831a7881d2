// SPDX-License-Identifier: Apache-2.0
#include "core/result_cut.hpp"

#include <algorithm>

namespace convolume {

ResultCut::ResultCut(const SampleRange& range, const WindowPost& window, index_t longest)
    : range_(range),
      window_(window.kind == WindowPost::Kind::none
                  ? 1
                  : std::clamp<index_t>(range.count(), 1, window.length)),
      stored_(window.stored(range.count())) {
    if (range.count() <= longest) {
        windows_ = std::max<index_t>(stored_, 1);
        stretches_ = stored_ > 0 ? 1 : 0;
    } else if (window_ <= longest) {
        windows_ = longest / window_;
        stretches_ = ceil_div(stored_, windows_);
    } else if (window.kind == WindowPost::Kind::decimate) {
        first_only_ = true;
        stretches_ = stored_;
    } else {
        parts_ = ceil_div(window_, longest);
        part_ = ceil_div(window_, parts_);
        parts_ = ceil_div(window_, part_);
        const index_t last_window = range.count() - (stored_ - 1) * window_;
        stretches_ = (stored_ - 1) * parts_ + ceil_div(last_window, part_);
    }
}

ResultStretch ResultCut::operator[](index_t i) const {
    ResultStretch stretch;
    if (parts_ > 1) {
        stretch.first_stored = i / parts_;
        stretch.stored = 1;
        const index_t begin = range_.begin + stretch.first_stored * window_;
        stretch.results.begin = begin + i % parts_ * part_;
        stretch.results.end = std::min(stretch.results.begin + part_, begin + window_);
    } else {
        stretch.first_stored = i * windows_;
        stretch.stored = std::min(windows_, stored_ - stretch.first_stored);
        stretch.results.begin = range_.begin + stretch.first_stored * window_;
        stretch.results.end = stretch.results.begin + (first_only_ ? 1 : stretch.stored * window_);
    }
    stretch.results.end = std::min(stretch.results.end, range_.end);
    return stretch;
}

}  // namespace convolume
