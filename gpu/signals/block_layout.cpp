// SPDX-License-Identifier: Apache-2.0
#include "gpu/signals/block_layout.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "convolume/error.hpp"

namespace convolume::gpu {

namespace {

constexpr index_t shortest_block = 1 << 12, longest_block = index_t{1} << 26;
// Of a batch's spectra: what stays in the cache of a large GPU is transformed faster.
constexpr index_t batch_bytes = index_t{64} << 20;
constexpr double launch_s = 1.5e-6;
constexpr double fma_per_s = 0.8e11;  // a processor's, of products of spectra

index_t complex_bytes(const FilterWork& work) {
    return work.precision == Precision::float32 ? 8 : 16;
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

std::optional<BlockLayout> layout_of(const FilterWork& work, index_t n, bool whole, index_t signals,
                                     index_t outputs, const FilterRates& rates) {
    const index_t before = halo_before(work), after = halo_after(work);
    BlockLayout layout;
    layout.n = n;
    if (whole) {
        layout.hop = n - (work.taps - 1 + before) - after;
    } else {
        layout.hop = (n + 1 - before - after) / 2;
    }
    if (layout.hop >= 64) layout.hop = layout.hop / 32 * 32;
    if (layout.hop < 1 || layout.hop < n / 64) return std::nullopt;
    if (work.window.kind == WindowPost::Kind::peak) {
        // Parts stand a hop apart: they sink with it.
        layout.hop = layout.hop / work.window.length * work.window.length;
        if (layout.hop < 1) return std::nullopt;
    }
    layout.skip = n - layout.hop - after;
    layout.parts = whole ? 1 : ceil_div(work.taps, layout.hop);

    const index_t blocks = ceil_div(outputs, layout.hop);
    const index_t bins = block_bins(work, n);
    layout.batch = std::clamp<index_t>(batch_bytes / (bins * complex_bytes(work)), 1, blocks);
    // Blocks before the first output are transformed again for each batch.
    layout.batch = std::min(blocks, std::max(layout.batch, 4 * (layout.parts - 1)));
    const auto batches = static_cast<double>(ceil_div(blocks, layout.batch));
    const auto filters = static_cast<double>(work.filters);
    const double block_bytes = static_cast<double>(bins) * static_cast<double>(complex_bytes(work));
    // Of the blocks before the first output, most are before the signal's first sample.
    const double transforms =
        static_cast<double>(blocks) * (filters + 1) + (layout.parts > 1 ? 1 : 0);
    const double traffic = block_bytes * transforms * (2 * fft_passes(work, n) + 2);
    const double products = static_cast<double>(blocks) * filters *
                            static_cast<double>(layout.parts) * static_cast<double>(bins) * 4;
    layout.seconds =
        static_cast<double>(signals) * (traffic / rates.memory_bytes_per_s +
                                        products / (fma_per_s * rates.processors * rates.speed) +
                                        launch_s * batches * (2 + 3 * filters));
    return layout;
}

}  // namespace

std::optional<BlockLayout> block_layout(const FilterWork& work, index_t signals, index_t outputs,
                                        const FilterRates& rates) {
    std::optional<BlockLayout> best;
    const auto consider = [&](index_t n) {
        for (const bool whole : {true, false}) {
            const FilterMethod method =
                whole ? FilterMethod::overlap_save : FilterMethod::partitioned;
            if (work.method != FilterMethod::automatic && work.method != method) continue;
            const auto layout = layout_of(work, n, whole, signals, outputs, rates);
            if (!layout || (!whole && layout->parts == 1 && work.method == FilterMethod::automatic))
                continue;
            if (!best || layout->seconds < best->seconds) best = layout;
        }
    };
    if (work.segment != 0) {
        if (work.segment <= longest_block && (work.segment % 2 == 0 || work.complex_data))
            consider(work.segment);
    } else {
        for (index_t n = shortest_block; n <= longest_block; n *= 2) {
            consider(n);
            consider(n / 2 * 3);
        }
    }
    return best;
}

std::optional<FilterCost> estimate_blocks(const FilterWork& work, index_t signals, index_t outputs,
                                          const FilterRates& rates) {
    if (work.function && work.function->device_kernels() == nullptr) return std::nullopt;
    const auto layout = block_layout(work, signals, outputs, rates);
    if (!layout) return std::nullopt;
    FilterCost cost;
    cost.method = layout->parts > 1 || work.method == FilterMethod::partitioned
                      ? FilterMethod::partitioned
                      : FilterMethod::overlap_save;
    cost.segment = layout->n;
    cost.seconds = layout->seconds;
    const index_t block_bytes = block_bins(work, layout->n) * complex_bytes(work);
    cost.work_bytes = checked_multiply(
        block_bytes, checked_add(checked_multiply(work.filters, layout->parts),
                                 // Samples, their spectra, results and cuFFT's work area.
                                 3 * (layout->batch + layout->parts - 1) + 2 * layout->batch));
    cost.description =
        cost.method == FilterMethod::partitioned
            ? message("partitioned convolution, ", layout->parts, " parts, blocks of ", layout->n)
            : message("overlap-save, segments of ", layout->n, " by cuFFT");
    return cost;
}

}  // namespace convolume::gpu
