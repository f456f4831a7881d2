// SPDX-License-Identifier: Apache-2.0
#include "gpu/signals/cufft_layout.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "convolume/error.hpp"

namespace convolume::gpu {

namespace {

constexpr index_t shortest_segment = 1 << 12, longest_segment = index_t{1} << 26;
// Of a batch's spectra: what stays in the cache of a large GPU is transformed faster.
constexpr index_t batch_bytes = index_t{64} << 20;
constexpr double launch_s = 1.5e-6;
constexpr double fma_per_s = 0.8e11;  // a processor's, of products of spectra

index_t complex_bytes(const FilterWork& work) {
    return convolume::sample_bytes(work.precision, true);
}

// What cuFFT takes for transforms of n samples, in times of reading or writing their spectra.
// Fitted to measurements; real data take more than half as long as complex ones.
double fft_passes(const FilterWork& work, index_t n) {
    const bool one_kernel = n <= 8192, long_rows = n > (1 << 20);
    double passes = work.complex_data ? (one_kernel  ? 2.45
                                         : long_rows ? 4.25
                                                     : 3.67)
                                      : (one_kernel  ? 5.0
                                         : long_rows ? 8.1
                                                     : 7.5);
    if (n % 3 == 0 && n > (1 << 15)) passes *= 1.25;
    return passes;
}

std::optional<CufftLayout> layout_of(const FilterWork& work, index_t n, bool whole, index_t signals,
                                     index_t outputs, const FilterRates& rates) {
    const index_t before = halo_before(work), after = halo_after(work);
    CufftLayout layout;
    layout.n = n;
    if (whole) {
        layout.hop = n - (work.taps - 1 + before) - after;
    } else {
        layout.hop = (n + 1 - before - after) / 2;
    }
    if (layout.hop >= 64) layout.hop = layout.hop / 32 * 32;
    if (layout.hop < 1 || layout.hop < n / 64) return std::nullopt;
    if (work.window.kind == WindowPost::Kind::peak) {
        // Partitions stand a hop apart: they shrink with it.
        layout.hop = layout.hop / work.window.length * work.window.length;
        if (layout.hop < 1) return std::nullopt;
    }
    layout.skip = n - layout.hop - after;
    layout.partitions = whole ? 1 : ceil_div(work.taps, layout.hop);

    const index_t segments = ceil_div(outputs, layout.hop);
    const index_t bins = segment_bins(work, n);
    layout.batch = std::clamp<index_t>(batch_bytes / (bins * complex_bytes(work)), 1, segments);
    // Segments before the first output are transformed again for each batch.
    layout.batch = std::min(segments, std::max(layout.batch, 4 * (layout.partitions - 1)));
    const auto batches = static_cast<double>(ceil_div(segments, layout.batch));
    const auto filters = static_cast<double>(work.filters);
    const double segment_bytes =
        static_cast<double>(bins) * static_cast<double>(complex_bytes(work));
    // Of the segments before the first output, most are before the signal's first sample.
    const double transforms =
        static_cast<double>(segments) * (filters + 1) + (layout.partitions > 1 ? 1 : 0);
    const double traffic = segment_bytes * transforms * (2 * fft_passes(work, n) + 2);
    const double products = static_cast<double>(segments) * filters *
                            static_cast<double>(layout.partitions) * static_cast<double>(bins) * 4;
    layout.seconds =
        static_cast<double>(signals) * (traffic / rates.memory_bytes_per_s +
                                        products / (fma_per_s * rates.processors * rates.speed) +
                                        launch_s * batches * (2 + 3 * filters));
    return layout;
}

}  // namespace

std::optional<CufftLayout> cufft_layout(const FilterWork& work, index_t signals, index_t outputs,
                                        const FilterRates& rates) {
    std::optional<CufftLayout> best;
    const auto consider = [&](index_t n) {
        for (const bool whole : {true, false}) {
            const FilterMethod method =
                whole ? FilterMethod::overlap_save : FilterMethod::partitioned;
            if (work.method != FilterMethod::automatic && work.method != method) continue;
            const auto layout = layout_of(work, n, whole, signals, outputs, rates);
            if (!layout ||
                (!whole && layout->partitions == 1 && work.method == FilterMethod::automatic))
                continue;
            if (!best || layout->seconds < best->seconds) best = layout;
        }
    };
    if (work.segment != 0) {
        if (work.segment <= longest_segment && (work.segment % 2 == 0 || work.complex_data))
            consider(work.segment);
    } else {
        for (index_t n = shortest_segment; n <= longest_segment; n *= 2) {
            consider(n);
            consider(n / 2 * 3);
        }
    }
    return best;
}

std::optional<FilterCost> estimate_cufft(const FilterWork& work, index_t signals, index_t outputs,
                                         const FilterRates& rates) {
    if (work.function && work.function->device_kernels() == nullptr) return std::nullopt;
    const auto layout = cufft_layout(work, signals, outputs, rates);
    if (!layout) return std::nullopt;
    FilterCost cost;
    cost.method = layout->partitions > 1 || work.method == FilterMethod::partitioned
                      ? FilterMethod::partitioned
                      : FilterMethod::overlap_save;
    cost.segment = layout->n;
    cost.seconds = layout->seconds;
    const index_t segment_bytes = segment_bins(work, layout->n) * complex_bytes(work);
    cost.work_bytes = checked_multiply(
        segment_bytes,
        checked_add(checked_multiply(work.filters, layout->partitions),
                    // Samples, their spectra, results and cuFFT's work area.
                    3 * (layout->batch + layout->partitions - 1) + 2 * layout->batch));
    cost.description = cost.method == FilterMethod::partitioned
                           ? message("partitioned convolution, ", layout->partitions,
                                     " partitions, segments of ", layout->n)
                           : message("overlap-save, segments of ", layout->n, " by cuFFT");
    return cost;
}

}  // namespace convolume::gpu
