// SPDX-License-Identifier: Apache-2.0
#pragma once
// How a thread block transforms one segment: its radices, and who holds what.

#include "convolume/cuda/detail/complex.hpp"
#include "convolume/shape.hpp"

namespace convolume::gpu {

/// Stage s combines radix[s] samples of each transform of length(s), width(s) apart. The thread t
/// of a segment computes the butterflies t, t + threads, … of every stage. Two rules keep a
/// thread's twiddle factors and addresses few: the first radix is the number of samples a thread
/// holds, and the threads are a multiple of every other width, so that all butterflies of a thread
/// in a stage are at the same position of their transforms.
struct SegmentPlan {
    int n = 0;
    int stages = 0;
    int radix[4] = {1, 1, 1, 1};

    CONVOLUME_CONSTEXPR int elements() const { return radix[0]; }
    CONVOLUME_CONSTEXPR int threads() const { return n / elements(); }
    CONVOLUME_CONSTEXPR int length(int stage) const {
        int length = n;
        for (int s = 0; s < stage; ++s) length /= radix[s];
        return length;
    }
    CONVOLUME_CONSTEXPR int width(int stage) const { return length(stage) / radix[stage]; }
    CONVOLUME_CONSTEXPR int last() const { return stages - 1; }
    CONVOLUME_CONSTEXPR bool valid() const {
        for (int s = 1; s < stages; ++s)
            if (threads() % width(s) != 0 || elements() % radix[s] != 0) return false;
        return width(last()) == 1;
    }
};

CONVOLUME_CONSTEXPR SegmentPlan segment_plan(int n) {
    switch (n) {
        case 256:
            return {n, 2, {16, 16, 1, 1}};
        case 512:
            return {n, 3, {16, 2, 16, 1}};
        case 1024:
            return {n, 3, {16, 4, 16, 1}};
        case 2048:
            return {n, 3, {16, 8, 16, 1}};
        case 4096:
            return {n, 3, {16, 16, 16, 1}};
        case 8192:
            return {n, 3, {32, 16, 16, 1}};
        default:
            return {n, 3, {32, 32, 16, 1}};
    }
}

/// The thread blocks of a kernel over segments of N samples. What is held where was measured on an
/// H200.
template <class Real, int N, bool complex_data>
struct SegmentShape {
    static constexpr SegmentPlan plan = segment_plan(N);
    static_assert(plan.valid());
    static constexpr int threads_each = plan.threads();
    /// Segments side by side in a thread block, for two warps at least.
    static constexpr int segments = threads_each < 64 ? 64 / threads_each : 1;
    static constexpr int threads = threads_each * segments;
    static constexpr bool is_long = N > 4096;
    /// Where registers do not hold a segment's spectrum beside its samples, it is in shared memory.
    static constexpr bool spectrum_in_registers = !is_long;
    /// Samples are exchanged whole, or real parts first and then imaginary ones, for half the
    /// memory.
    static constexpr bool whole = !is_long;
    /// Memory for exchanges, used alternately by filters, so that none waits for the one before.
    static constexpr int exchanges = is_long ? 1 : 2;
    /// Twiddle factors are loaded for each use, or made of a few in registers.
    static constexpr bool twiddles_loaded = !is_long && !complex_data;

    CONVOLUME_CONSTEXPR static int padded(int place) { return place + place / 16; }
    static constexpr index_t exchange_bytes =
        (static_cast<index_t>(sizeof(Real)) * (whole ? 2 : 1) * padded(N) + 15) / 16 * 16;
    static constexpr index_t spectrum_bytes =
        spectrum_in_registers ? 0 : index_t{2} * sizeof(Real) * N;
    static constexpr index_t segment_bytes = exchanges * exchange_bytes + spectrum_bytes;
    static constexpr index_t shared_bytes = segments * segment_bytes;
    static constexpr bool fits = shared_bytes <= 232448;
    /// Blocks that a multiprocessor (of compute capability 9) holds: its registers are in four
    /// parts, each for a quarter of the warps.
    static constexpr int blocks_per_unit = [] {
        const int registers = sizeof(Real) == 4 ? 128 : 255;  // of a thread
        const int warps = 4 * (16384 / 32 / registers);
        const auto by_memory = static_cast<int>(232448 / (shared_bytes + 1024));
        const int by_registers = warps * 32 / threads;
        const int blocks = by_memory < by_registers ? by_memory : by_registers;
        return blocks < 1 ? 1 : blocks;
    }();
};

}  // namespace convolume::gpu
