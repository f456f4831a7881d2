// SPDX-License-Identifier: Apache-2.0
#pragma once
// The methods of the CPU filter engine. Each prepares a bank in its own way and predicts its
// memory.

#include "convolume/engines.hpp"
#include "core/buffer_pool.hpp"
#include "cpu/signals/samples.hpp"

namespace convolume::cpu {

/// A filter bank prepared for one method.
class CpuFilters : public PreparedFilters {
  public:
    /// Memory and threads for an execution.
    struct ExecutionResources {
        BufferPool& memory;
        int threads;
        const ExecutionContext& context;
    };
    virtual void filter(const FilterSpec& spec, const SignalView& signal,
                        const FilterResult& result, const ExecutionResources& resources) const = 0;
};

/// Prepares a bank with `Method`, a class template over the type of samples. Methods that transform
/// have a further argument, the library of transforms.
template <template <class> class Method, class... Library>
std::shared_ptr<const CpuFilters> make_filters(const FilterSpec& spec, const void* taps,
                                               Library... fft) {
    return visit_sample_type(spec, [&](auto tag) -> std::shared_ptr<const CpuFilters> {
        using Sample = typename decltype(tag)::type;
        return std::make_shared<Method<Sample>>(spec, static_cast<const Sample*>(taps), fft...);
    });
}

/// Prepare a bank for one method. `taps` is as in FilterEngine::prepare.
std::shared_ptr<const CpuFilters> make_direct_sums(const FilterSpec& spec, const void* taps);
std::shared_ptr<const CpuFilters> make_overlap_save(const FilterSpec& spec, const void* taps,
                                                    FftLibrary fft);
std::shared_ptr<const CpuFilters> make_overlap_add(const FilterSpec& spec, const void* taps,
                                                   FftLibrary fft);
std::shared_ptr<const CpuFilters> make_partitioned(const FilterSpec& spec, const void* taps,
                                                   FftLibrary fft);

/// Return the bytes of the bank and of an execution on `threads` threads with `results` results of
/// each signal.
index_t direct_bytes(const FilterSpec& spec, int threads);
index_t overlap_save_bytes(const FilterSpec& spec, int threads);
index_t overlap_add_bytes(const FilterSpec& spec, index_t results, int threads);
index_t partitioned_bytes(const FilterSpec& spec, index_t results, int threads);

/// Results that direct sums compute at a time: with their samples they stay in the first cache.
inline constexpr index_t direct_chunk = 2048;

/// Returns the number of results of a segment of overlap-save; below 1 the segment is too short.
index_t overlap_save_useful(const FilterSpec& spec);

/// Returns the number of partitions, of spec.segment / 2 taps, into which partitioned convolution
/// divides filters.
inline index_t partition_count(const FilterSpec& spec) {
    return ceil_div(spec.taps, spec.segment / 2);
}

/// Returns the number of neighbors of each result that the caller's function reads.
inline index_t function_halo(const FilterSpec& spec) {
    return spec.function ? spec.function->before + spec.function->after : 0;
}

/// Returns true if filtered samples are stored without post-processing or conversion.
inline bool is_plain(const FilterSpec& spec) {
    return !spec.power && !spec.function && spec.window.kind == WindowPost::Kind::none &&
           spec.result_storage == SampleStorage::plain;
}

/// Returns the number of groups into which the filters are divided, so that `units` of work occupy
/// all threads.
inline index_t filter_groups(index_t units, index_t filters, int threads) {
    constexpr index_t units_per_thread = 4;
    const index_t wanted = units_per_thread * threads;
    return std::min(filters, ceil_div(wanted, std::clamp<index_t>(units, 1, wanted)));
}

}  // namespace convolume::cpu
