// SPDX-License-Identifier: Apache-2.0
#pragma once
// What becomes of filtered samples before they are stored: the work's function, or power, then its
// windows. Engines hand in one chunk of one filter of one signal at a time, from cache.

#include <vector>

#include "core/buffer_pool.hpp"
#include "core/result_chunks.hpp"
#include "cpu/signals/methods.hpp"
#include "cpu/signals/scratch.hpp"

namespace convolume::cpu {

template <class Sample>
class Output {
  public:
    /// `longest`: results of a chunk. All but `result` are kept by reference.
    Output(const FilterWork& work, const FilterResult& result, index_t signals, index_t longest);

    const ResultChunks& chunks() const { return chunks_; }
    /// Filtered samples that are looked at before and after each result.
    index_t before() const { return work_.function ? work_.function->before : 0; }
    index_t after() const { return work_.function ? work_.function->after : 0; }

    /// Filtered samples are stored as they are: methods may write them themselves, to `place`.
    bool plain() const { return is_plain(work_); }
    /// Where result n of a plain work goes.
    Sample* place(index_t signal, index_t filter, index_t n) const {
        return static_cast<Sample*>(result_.data) + signal * result_.signal_stride +
               filter * result_.filter_stride + (n - result_.range.begin);
    }

    /// What store() takes of a thread's scratch.
    index_t scratch_bytes() const { return scratch_bytes(work_, longest_); }
    static index_t scratch_bytes(const FilterWork& work, index_t longest);

    /// `y`: the filtered sample of the chunk's first result; y[-before()] … can be read.
    void store(index_t signal, index_t filter, index_t chunk, const Sample* y,
               Scratch scratch) const;

    /// Combines the peaks of windows that were computed in parts.
    void finish() const;

  private:
    template <class Real>
    void store_peaks(index_t signal, index_t filter, index_t chunk, const Real* values) const;
    template <class Real>
    void combine_parts() const;

    const FilterWork& work_;
    FilterResult result_;
    index_t signals_;
    index_t longest_;
    ResultChunks chunks_;
    /// Peaks of the chunks of windows in parts, [signal][filter][chunk].
    Buffer part_values_;
    Buffer part_positions_;
};

}  // namespace convolume::cpu
