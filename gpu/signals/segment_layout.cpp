// SPDX-License-Identifier: Apache-2.0
#include "gpu/signals/segment_layout.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "convolume/error.hpp"

namespace convolume::gpu {

namespace {

// Nanoseconds that a processor of an H200 takes for each sample of one transform, product and
// storing included, by segment length (256, 512, …, 16384). Fitted to measurements.
constexpr std::array<double, 7> real_ns = {0.275, 0.326, 0.351, 0.345, 0.406, 0.488, 0.68};
constexpr std::array<double, 7> complex_ns = {0.234, 0.278, 0.296, 0.316, 0.379, 0.437, 0.62};
constexpr double double_factor = 2;
// What a thread block takes beside its filters, in transforms: reading and the way forward.
constexpr double forward_share = 1.5;
// A processor that has fewer thread blocks than it can hold runs each faster. Its time lies between
// that of its thread blocks' work and that of its waves of thread blocks.
constexpr double work_share = 0.25, lone_share = 0.7;
constexpr double launch_s = 2e-6;

double nanoseconds(const FilterWork& work, int n) {
    std::size_t i = 0;
    for (int length = 256; length < n; length *= 2) ++i;
    const double ns = (work.complex_data ? complex_ns : real_ns)[i];
    return work.precision == Precision::float32 ? ns : ns * double_factor;
}

double predicted_seconds(const FilterWork& work, const SegmentLayout& layout, index_t signals,
                         index_t outputs, const FilterRates& rates) {
    const SegmentKernel& kernel = *layout.kernel;
    const double bytes =
        static_cast<double>(signals) *
        (static_cast<double>(outputs * sample_bytes(work)) +
         static_cast<double>(work.filters * work.window.stored(outputs) * result_bytes(work)));
    const auto blocks = static_cast<double>(ceil_div(layout.blocks, rates.processors));
    const double slots = kernel.blocks_per_unit;
    const double waves = std::ceil(blocks / slots), last = blocks - (waves - 1) * slots;
    const double crowd =
        (waves - 1) * slots + std::min(slots, last * (1 - lone_share) + slots * lone_share);
    const double transforms = kernel.segments * (layout.filters_per_block + forward_share);
    const double compute = (work_share * blocks + (1 - work_share) * crowd) * transforms *
                           kernel.n * nanoseconds(work, kernel.n) * 1e-9 / rates.speed;
    return std::max(compute, bytes / rates.memory_bytes_per_s) + launch_s;
}

}  // namespace

std::optional<SegmentLayout> segment_layout(const FilterWork& work, const SegmentKernel& kernel,
                                            index_t signals, index_t outputs,
                                            const FilterRates& rates) {
    // Whole lines of memory where there is room for them: reading and writing start at such.
    const index_t aliased = work.taps - 1 + halo_before(work), after = halo_after(work);
    const index_t line = kernel.n >= 512 ? 32 : 16;
    index_t skip = round_up(aliased, line);
    index_t useful = (kernel.n - skip - after) / line * line;
    if (useful < line) {
        skip = aliased;
        useful = kernel.n - skip - after;
    }
    if (work.window.kind == WindowPost::Kind::peak)
        useful = useful / work.window.length * work.window.length;
    if (useful < 1 || useful < kernel.n / 16) return std::nullopt;

    SegmentLayout best;
    best.kernel = &kernel;
    best.skip = static_cast<int>(skip);
    best.useful = static_cast<int>(useful);
    best.segments_per_signal = ceil_div(outputs, useful);
    const index_t segments = checked_multiply(signals, best.segments_per_signal);
    const index_t per_block = kernel.segments * (work.complex_data ? 1 : 2);
    bool first = true;
    for (index_t share = 1; share <= work.filters && share <= 64; share *= 2) {
        SegmentLayout layout = best;
        layout.filters_per_block = static_cast<int>(ceil_div(work.filters, share));
        layout.blocks =
            ceil_div(segments, per_block) * ceil_div(work.filters, layout.filters_per_block);
        layout.seconds = predicted_seconds(work, layout, signals, outputs, rates);
        if (first || layout.seconds < best.seconds) best = layout;
        first = false;
    }
    return best;
}

std::optional<SegmentLayout> segment_layout(const FilterWork& work, index_t signals,
                                            index_t outputs, const FilterRates& rates) {
    std::optional<SegmentLayout> best;
    for (const SegmentKernel& kernel : segment_kernels(work)) {
        if (work.segment != 0 && work.segment != kernel.n) continue;
        if (kernel.shared_bytes > rates.shared_bytes) continue;
        const auto layout = segment_layout(work, kernel, signals, outputs, rates);
        if (layout && (!best || layout->seconds < best->seconds)) best = layout;
    }
    return best;
}

std::optional<FilterCost> estimate_segments(const FilterWork& work, index_t signals,
                                            index_t outputs, const FilterRates& rates) {
    if (work.method != FilterMethod::automatic && work.method != FilterMethod::overlap_save)
        return std::nullopt;
    if (work.filters > std::numeric_limits<int>::max()) return std::nullopt;
    const auto layout = segment_layout(work, signals, outputs, rates);
    if (!layout) return std::nullopt;
    FilterCost cost;
    cost.method = FilterMethod::overlap_save;
    cost.segment = layout->kernel->n;
    cost.seconds = layout->seconds;
    cost.work_bytes = checked_multiply(work.filters, layout->kernel->n) *
                      convolume::sample_bytes(work.precision, true);
    cost.description =
        message("overlap-save, segments of ", layout->kernel->n, " in shared memory");
    return cost;
}

}  // namespace convolume::gpu
