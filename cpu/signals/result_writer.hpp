// SPDX-License-Identifier: Apache-2.0
#pragma once
// Post-processing of filtered samples before they are stored: the caller's function, or power, then
// windows. Methods pass one chunk of one filter of one signal at a time, from cache, or fill
// sections of results of all filters of one signal.

#include "core/buffer_pool.hpp"
#include "core/result_chunks.hpp"
#include "core/threads.hpp"
#include "cpu/signals/methods.hpp"
#include "cpu/signals/samples.hpp"

namespace convolume::cpu {

template <class Sample>
class ResultWriter {
  public:
    /// `longest`: largest number of results in a chunk. `spec` is kept by reference.
    ResultWriter(const FilterSpec& spec, const FilterResult& result, index_t signals,
                 index_t longest);

    const ResultChunks& chunks() const { return chunks_; }
    /// Return the number of filtered samples that are read before and after each result.
    index_t before() const { return spec_.function ? spec_.function->before : 0; }
    index_t after() const { return spec_.function ? spec_.function->after : 0; }

    /// Returns true if filtered samples are stored without post-processing. Then methods may write
    /// them directly, to `result_address`.
    bool is_plain() const { return cpu::is_plain(spec_); }
    /// Returns the address of result n, if results are plain.
    Sample* result_address(index_t signal, index_t filter, index_t n) const {
        return static_cast<Sample*>(result_.data) + signal * result_.signal_stride +
               filter * result_.filter_stride + (n - result_.range.begin);
    }

    /// Returns the bytes of scratch memory that store() needs in each thread.
    index_t scratch_bytes() const { return scratch_bytes(spec_, longest_); }
    static index_t scratch_bytes(const FilterSpec& spec, index_t longest);

    /// Post-processes and stores a chunk. `y` points to the filtered sample of the chunk's first
    /// result; y[-before()] … can be read.
    void store(index_t signal, index_t filter, index_t chunk, const Sample* y,
               ScratchArena scratch) const;

    /// Combines the peaks of windows that were computed in several chunks.
    void finish() const;

  private:
    /// Stores `count` values in 16 bits, or those `stored` that begin a window.
    void encode_results(const void* values, index_t count, index_t stored, void* target) const;
    template <class Real>
    void store_peaks(index_t signal, index_t filter, index_t chunk, const Real* values) const;
    template <class Real>
    void combine_chunk_peaks() const;

    const FilterSpec& spec_;
    FilterResult result_;
    index_t signals_;
    index_t longest_;
    ResultChunks chunks_;
    /// Peaks of all chunks, if windows have several chunks: [signal][filter][chunk].
    Buffer chunk_peaks_;
    Buffer chunk_peak_positions_;
};

// Result sections are for methods that add several transforms before a filtered sample is complete.
// A section is filled first and post-processed afterwards. Plain results are filled in place.

/// The filtered samples [range.begin, range.end) of every filter of a signal.
template <class Sample>
struct ResultSection {
    index_t signal;
    SampleRange range;
    Sample* data;    ///< samples of filter 0
    index_t stride;  ///< distance in samples between consecutive filters

    Sample* row(index_t filter) const { return data + filter * stride; }
};

/// Results that are post-processed at a time.
inline constexpr index_t section_chunk = 4096;

/// Returns the number of filtered samples in a section of at most `longest`, if `results` are
/// requested.
inline index_t section_samples(const FilterSpec& spec, index_t longest, index_t results) {
    return std::min(longest, checked_add(results, function_halo(spec)));
}

/// Returns the bytes of a section and of its post-processing.
template <class Sample>
index_t section_bytes(const FilterSpec& spec, index_t longest, index_t results, int threads) {
    if (is_plain(spec)) return 0;
    return checked_add(Buffer::rounded_bytes(checked_multiply(
                           checked_multiply(spec.filters, section_samples(spec, longest, results)),
                           static_cast<index_t>(sizeof(Sample)))),
                       Buffer::rounded_bytes(checked_multiply(
                           ResultWriter<Sample>::scratch_bytes(spec, section_chunk), threads)));
}

/// Calls `compute(section, begin, end)`, which reports progress from `begin` to `end`, and
/// post-processes the section. Sections have at most `longest` filtered samples, and hold at least
/// one chunk.
template <class Sample, class Compute>
void for_each_section(const FilterSpec& spec, const SignalView& signal, const FilterResult& result,
                      index_t longest, const CpuFilters::ExecutionResources& resources,
                      const Compute& compute) {
    const ResultWriter<Sample> writer(spec, result, signal.signals, section_chunk);
    const index_t chunks = writer.chunks().count();
    const bool plain = writer.is_plain();
    longest = section_samples(spec, longest, result.range.count());
    const index_t scratch_bytes = writer.scratch_bytes();
    const BufferPool::BorrowedBuffer rows =
        resources.memory.take(plain ? 0
                                    : checked_multiply(checked_multiply(spec.filters, longest),
                                                       static_cast<index_t>(sizeof(Sample))),
                              resources.threads, "filtered samples");
    const BufferPool::BorrowedBuffer scratch =
        resources.memory.take(scratch_bytes * resources.threads, resources.threads, "results");

    const double total = static_cast<double>(signal.signals) * static_cast<double>(chunks);
    double done = 0;
    for (index_t s = 0; s < signal.signals; ++s)
        for (index_t first = 0; first < chunks;) {
            ResultSection<Sample> section{s, {}, static_cast<Sample*>(rows.data()), longest};
            section.range.begin = writer.chunks()[first].results.begin - writer.before();
            index_t last = first;  // one past the last chunk that fits the section
            do {
                section.range.end = writer.chunks()[last].results.end + writer.after();
                ++last;
            } while (last < chunks &&
                     writer.chunks()[last].results.end + writer.after() - section.range.begin <=
                         longest);
            if (plain) {
                section.data = writer.result_address(s, 0, section.range.begin);
                section.stride = result.filter_stride;
            }
            const double next = done + static_cast<double>(last - first) / total;
            compute(section, done, next);
            done = next;
            if (!plain)
                ParallelLoop(resources.threads, resources.context)
                    .run(spec.filters * (last - first), done, done, [&](index_t task, int thread) {
                        const index_t f = task / (last - first);
                        const index_t chunk = first + task % (last - first);
                        writer.store(s, f, chunk,
                                     section.row(f) + (writer.chunks()[chunk].results.begin -
                                                       section.range.begin),
                                     ScratchArena(static_cast<char*>(scratch.data()) +
                                                  thread * scratch_bytes));
                    });
            first = last;
        }
    writer.finish();
}

}  // namespace convolume::cpu
