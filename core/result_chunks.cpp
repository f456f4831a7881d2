// SPDX-License-Identifier: Apache-2.0
#include "core/result_chunks.hpp"

#include <algorithm>

namespace convolume {

ResultChunks::ResultChunks(const SampleRange& range, const WindowPost& window, index_t longest)
    : range_(range),
      window_(window.kind == WindowPost::Kind::none
                  ? 1
                  : std::clamp<index_t>(range.count(), 1, window.length)),
      stored_(window.stored(range.count())) {
    if (range.count() <= longest) {
        windows_ = std::max<index_t>(stored_, 1);
        count_ = stored_ > 0 ? 1 : 0;
    } else if (window_ <= longest) {
        windows_ = longest / window_;
        count_ = ceil_div(stored_, windows_);
    } else if (window.kind == WindowPost::Kind::decimate) {
        first_only_ = true;
        count_ = stored_;
    } else {
        parts_ = ceil_div(window_, longest);
        part_ = ceil_div(window_, parts_);
        parts_ = ceil_div(window_, part_);
        const index_t last_window = range.count() - (stored_ - 1) * window_;
        count_ = (stored_ - 1) * parts_ + ceil_div(last_window, part_);
    }
}

ResultChunk ResultChunks::operator[](index_t i) const {
    ResultChunk chunk;
    if (parts_ > 1) {
        chunk.first_stored = i / parts_;
        chunk.stored = 1;
        const index_t begin = range_.begin + chunk.first_stored * window_;
        chunk.results.begin = begin + i % parts_ * part_;
        chunk.results.end = std::min(chunk.results.begin + part_, begin + window_);
    } else {
        chunk.first_stored = i * windows_;
        chunk.stored = std::min(windows_, stored_ - chunk.first_stored);
        chunk.results.begin = range_.begin + chunk.first_stored * window_;
        chunk.results.end = chunk.results.begin + (first_only_ ? 1 : chunk.stored * window_);
    }
    chunk.results.end = std::min(chunk.results.end, range_.end);
    return chunk;
}

}  // namespace convolume
