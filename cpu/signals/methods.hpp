// SPDX-License-Identifier: Apache-2.0
#pragma once
// The methods of the CPU engine: each keeps a bank in its own way, and says what it takes.

#include "core/buffer_pool.hpp"
#include "cpu/signals/samples.hpp"

namespace convolume::cpu {

/// A bank prepared for one method.
class CpuFilters : public PreparedFilters {
  public:
    /// Memory and threads of an execution.
    struct Resources {
        BufferPool& memory;
        int threads;
        const ExecutionContext& context;
    };
    virtual void filter(const FilterWork& work, const SignalView& signal,
                        const FilterResult& result, const Resources& use) const = 0;
};

/// The bank prepared by `Method`, a class template over the type of samples.
template <template <class> class Method>
std::shared_ptr<const CpuFilters> make_filters(const FilterWork& work, const void* taps) {
    return visit_sample_type(work, [&](auto tag) -> std::shared_ptr<const CpuFilters> {
        using Sample = typename decltype(tag)::type;
        return std::make_shared<Method<Sample>>(work, static_cast<const Sample*>(taps));
    });
}

/// `taps` as in FilterEngine::prepare.
std::shared_ptr<const CpuFilters> make_direct_sums(const FilterWork& work, const void* taps);
std::shared_ptr<const CpuFilters> make_overlap_save(const FilterWork& work, const void* taps);
std::shared_ptr<const CpuFilters> make_overlap_add(const FilterWork& work, const void* taps);
std::shared_ptr<const CpuFilters> make_partitioned(const FilterWork& work, const void* taps);

/// Bytes of the bank and of an execution on `threads`, which leaves `results` of each signal.
index_t direct_bytes(const FilterWork& work, int threads);
index_t overlap_save_bytes(const FilterWork& work, int threads);
index_t overlap_add_bytes(const FilterWork& work, index_t results, int threads);
index_t partitioned_bytes(const FilterWork& work, index_t results, int threads);

/// Results that are summed up in time at a time: with their samples they stay in the first cache.
inline constexpr index_t direct_chunk = 2048;

/// Results that a segment of overlap-save leaves; below 1 it is too short.
index_t overlap_save_useful(const FilterWork& work);

/// Partitions, of work.segment / 2 taps, that partitioned convolution cuts filters into.
inline index_t partition_count(const FilterWork& work) {
    return ceil_div(work.taps, work.segment / 2);
}

/// Samples beyond each result that the work's function looks at.
inline index_t function_halo(const FilterWork& work) {
    return work.function ? work.function->before + work.function->after : 0;
}

/// Filtered samples are stored as they are.
inline bool is_plain(const FilterWork& work) {
    return !work.power && !work.function && work.window.kind == WindowPost::Kind::none;
}

/// Groups of filters that each of `units` of work is divided into to employ all threads.
inline index_t filter_groups(index_t units, index_t filters, int threads) {
    constexpr index_t enough_a_thread = 4;
    const index_t wanted = enough_a_thread * threads;
    return std::min(filters, ceil_div(wanted, std::clamp<index_t>(units, 1, wanted)));
}

}  // namespace convolume::cpu
