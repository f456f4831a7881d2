// SPDX-License-Identifier: Apache-2.0
#pragma once
// Filters with bounded latency on the CPU: levels of partitions whose work is spread over blocks in
// equal portions, two sets of filters that fade into each other, and the threads that share a
// block. No thread works between blocks: its deadlines would depend on the system's scheduler.

#include <array>
#include <atomic>
#include <memory>
#include <vector>

#include "cpu/signals/stream_level.hpp"
#include "cpu/signals/stream_team.hpp"

namespace convolume::cpu {

template <class Real>
class StreamEngine {
  public:
    /// `filters` holds taps of each filter, one after the other. `most_taps` is the largest number
    /// of taps of any filter that will be in use.
    StreamEngine(const StreamRouting& routing, index_t block, index_t most_taps, int threads,
                 const Real* filters, index_t taps);
    ~StreamEngine();

    const std::vector<PartitionLevel>& partitions() const { return partitions_; }
    index_t bytes() const;
    /// Returns the largest number of blocks between replace() and the beginning of its fade.
    index_t most_blocks_before_fade() const;

    /// Filters a block. A null input is silent. No memory is allocated, and no lock is taken.
    void push(const Real* const* inputs, Real* const* outputs) noexcept;
    /// Prepares filters that push() takes over. Other threads may push meanwhile.
    void replace(const Real* filters, index_t taps, index_t fade);
    /// Returns whether filters are prepared or fade.
    bool is_replacing() const { return prepared_.load() != nullptr || has_next_.load(); }
    void reset();

  private:
    /// Spectra of filters for each level.
    struct FilterSet {
        std::vector<Buffer> spectra;
        index_t taps;
        index_t fade;  ///< samples of the fade from the filters before
        FilterSet* next_retired = nullptr;
    };
    std::unique_ptr<FilterSet> prepare(const Real* filters, index_t taps, index_t fade) const;

    static std::size_t index_of(index_t i) { return static_cast<std::size_t>(i); }
    int other() const { return 1 - active_; }
    void take_prepared() noexcept;
    void begin_levels() noexcept;
    void take_input(index_t input, const Real* samples) noexcept;
    void remember_bad_samples() noexcept;
    void finish_output(index_t output, int thread, Real* result) noexcept;
    void add_levels(index_t output, int set, Real* result) const noexcept;
    void mark_not_finite(index_t output, Real* result) const noexcept;
    void end_fade() noexcept;
    void retire(FilterSet* set) noexcept;
    void free_retired();

    StreamRouting routing_;
    index_t block_;
    std::vector<PartitionLevel> partitions_;
    std::vector<std::unique_ptr<StreamLevel<Real>>> levels_;
    InputHistory<Real> history_;
    StreamTeam team_;
    std::vector<Buffer> scratch_;  ///< of each thread, with a block of results at its beginning

    index_t position_ = 0;  ///< number of blocks before this one
    std::array<std::unique_ptr<FilterSet>, filter_sets> sets_;
    int active_ = 0;              ///< the set that is heard
    index_t faded_ = -1;          ///< samples of the fade that are done; -1: the fade waits
    bool is_fading_now_ = false;  ///< whether this block is within the fade
    std::atomic<FilterSet*> prepared_{nullptr};  ///< the next set, which push() takes
    std::atomic<FilterSet*> retired_{nullptr};   ///< sets that push() no longer needs
    std::atomic<bool> has_next_{false};          ///< whether push() holds the next set

    // Samples that are not finite enter transforms as zeros.
    Buffer received_;                   ///< the block of each input, as it came
    std::vector<index_t> last_bad_;     ///< latest sample before this block that was not finite
    std::vector<char> has_bad_sample_;  ///< whether an input has such samples in this block
};

}  // namespace convolume::cpu
