// SPDX-License-Identifier: Apache-2.0
#include "core/result_chunks.hpp"

#include <algorithm>

namespace convolume {

ResultChunks::ResultChunks(const SampleRange& range, const WindowPost& window, index_t longest)
    : range_(range),
      window_length_(window.kind == WindowPost::Kind::none
                         ? 1
                         : std::clamp<index_t>(range.count(), 1, window.length)),
      stored_(window.stored(range.count())) {
    if (range.count() <= longest) {
        windows_per_chunk_ = std::max<index_t>(stored_, 1);
        count_ = stored_ > 0 ? 1 : 0;
    } else if (window_length_ <= longest) {
        windows_per_chunk_ = longest / window_length_;
        count_ = ceil_div(stored_, windows_per_chunk_);
    } else if (window.kind == WindowPost::Kind::decimate) {
        only_first_results_ = true;
        count_ = stored_;
    } else {
        chunks_per_window_ = ceil_div(window_length_, longest);
        results_per_chunk_ = ceil_div(window_length_, chunks_per_window_);
        chunks_per_window_ = ceil_div(window_length_, results_per_chunk_);
        const index_t last_window = range.count() - (stored_ - 1) * window_length_;
        count_ = (stored_ - 1) * chunks_per_window_ + ceil_div(last_window, results_per_chunk_);
    }
}

ResultChunk ResultChunks::operator[](index_t i) const {
    ResultChunk chunk;
    if (chunks_per_window_ > 1) {
        chunk.first_stored = i / chunks_per_window_;
        chunk.stored = 1;
        const index_t begin = range_.begin + chunk.first_stored * window_length_;
        chunk.results.begin = begin + i % chunks_per_window_ * results_per_chunk_;
        chunk.results.end =
            std::min(chunk.results.begin + results_per_chunk_, begin + window_length_);
    } else {
        chunk.first_stored = i * windows_per_chunk_;
        chunk.stored = std::min(windows_per_chunk_, stored_ - chunk.first_stored);
        chunk.results.begin = range_.begin + chunk.first_stored * window_length_;
        chunk.results.end =
            chunk.results.begin + (only_first_results_ ? 1 : chunk.stored * window_length_);
    }
    chunk.results.end = std::min(chunk.results.end, range_.end);
    return chunk;
}

}  // namespace convolume
