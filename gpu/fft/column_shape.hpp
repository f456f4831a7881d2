// SPDX-License-Identifier: Apache-2.0
#pragma once
// The shapes of the thread blocks that transform columns: the plan of a transform, the columns side
// by side, and what registers and shared memory hold.

#include "gpu/fft/pass_types.hpp"
#include "gpu/fft/plan.hpp"

namespace convolume::gpu {

struct ColumnPlan {
    TransformPlan transform;
    int columns = 1;    ///< columns of a thread block
    int registers = 0;  ///< registers that a thread needs, estimated
    /// Whether threads exchange whole samples. Otherwise they exchange their real parts, then their
    /// imaginary parts, with half the shared memory.
    bool exchanges_whole_samples = false;
    /// For passes that transform taps: shared memory keeps the spectrum of the source while the
    /// taps are transformed. It is written where the source was. If false, registers keep it.
    bool spectrum_in_shared_memory = false;
};

/// The shape of a thread block whose plan is Choice::plan().
template <class RealNumber, class Choice>
struct ColumnShape {
    using Real = RealNumber;
    static constexpr ColumnPlan choice = Choice::plan();
    static constexpr TransformPlan plan = choice.transform;
    static constexpr bool exchanges_whole_samples = choice.exchanges_whole_samples,
                          spectrum_in_shared_memory = choice.spectrum_in_shared_memory;
    static constexpr int columns = choice.columns, threads = plan.threads * columns;

    /// Bytes of shared memory: for exchanges and twiddle factors, and for a column tile copied from
    /// device memory.
    static constexpr index_t sample_bytes = 2 * sizeof(Real);
    static constexpr index_t exchange_bytes =
        round_up((exchanges_whole_samples ? sample_bytes : sample_bytes / 2) *
                     plan.exchange_size() * columns,
                 16);
    static constexpr index_t fixed_bytes =
        round_up(exchange_bytes + sample_bytes * plan.twiddle_count(), 16);
    static constexpr index_t prefetch_bytes = sample_bytes * plan.n * columns;

    /// Thread blocks that the registers and the shared memory of a multiprocessor (of compute
    /// capability 9) hold.
    static constexpr int blocks_per_unit = [] {
        const auto by_memory = static_cast<int>(232448 / (fixed_bytes + prefetch_bytes));
        const int by_registers = 65536 / (threads * choice.registers);
        const int blocks = by_memory < by_registers ? by_memory : by_registers;
        return blocks < 1 ? 1 : blocks > 2048 / threads ? 2048 / threads : blocks;
    }();
};

/// Returns the least number of columns of a thread block: a column tile, or less if its registers
/// do not hold one. Blocks of short columns have more.
template <class Real>
constexpr int least_columns(int length) {
    const auto tile = static_cast<int>(tile_columns<Real>);
    return length <= 1024 ? tile : length <= 2048 ? tile / 2 : tile / 4;
}

/// Plans that took less time than those that make_plan() chooses, measured on an H200.
inline constexpr TransformPlan measured_column_plans[] = {
    {1056, 3, {2, 22, 24}, 48, 24, 4},
    {1152, 3, {2, 24, 24}, 48, 24, 4},
};

/// The plan of thread blocks that transform columns, and multiply with spectra.
template <class RealNumber, int N>
struct PlainColumns {
    static constexpr ColumnPlan plan() {
        constexpr int floats = sizeof(RealNumber) / sizeof(float);
        constexpr int least = least_columns<RealNumber>(N);
        ColumnPlan plan;
        plan.transform = make_plan(N, {.single = floats == 1 ? 32 : 16,
                                       .two_stage_elements = floats == 2 ? 18
                                                             : N > 1024  ? 16
                                                                         : 36,
                                       .three_stage_elements = floats == 1 ? 32 : 18,
                                       .max_threads = (N > 1024 ? 800 : 640) / least,
                                       .ideal_elements = N > 1024 ? 16 : 1,
                                       .element_cost = N > 1024 ? 0.03 : 0.02,
                                       .lanes = 32 / floats / least});
        if constexpr (floats == 1)
            for (const TransformPlan& measured : measured_column_plans)
                if (measured.n == N) plan.transform = measured;
        plan.columns = least;
        while (plan.transform.threads * plan.columns < 128) plan.columns *= 2;
        plan.registers = 2 * floats * plan.transform.elements + 44;
        return plan;
    }
};
template <class RealNumber, int N>
using PlainColumnShape = ColumnShape<RealNumber, PlainColumns<RealNumber, N>>;

/// A plan of thread blocks that transform taps, too. Its transform has three radix stages if the
/// third radix is not 1.
struct MeasuredTapsPlan {
    int n, radix[3], threads, columns;
    bool spectrum_in_shared_memory;
};

/// Plans that took least time on an H100, of up to a dozen for each length.
inline constexpr MeasuredTapsPlan measured_taps_plans[] = {
    {64, {4, 16, 1}, 4, 32, false},    {72, {6, 12, 1}, 6, 32, true},
    {80, {20, 4, 1}, 4, 32, false},    {96, {12, 8, 1}, 4, 32, false},
    {108, {6, 18, 1}, 6, 16, false},   {112, {7, 16, 1}, 8, 16, false},
    {120, {15, 8, 1}, 8, 16, false},   {128, {8, 16, 1}, 8, 32, false},
    {150, {15, 10, 1}, 10, 16, false}, {160, {8, 20, 1}, 8, 16, true},
    {168, {21, 8, 1}, 8, 16, false},   {180, {10, 18, 1}, 10, 16, true},
    {192, {8, 24, 1}, 8, 16, true},    {200, {20, 10, 1}, 10, 16, false},
    {216, {18, 12, 1}, 12, 16, false}, {224, {14, 16, 1}, 16, 16, false},
    {240, {15, 16, 1}, 16, 16, false}, {256, {16, 16, 1}, 16, 16, false},
    {288, {12, 24, 1}, 12, 16, false}, {300, {20, 15, 1}, 20, 16, true},
    {320, {20, 16, 1}, 20, 16, true},  {336, {14, 24, 1}, 14, 16, true},
    {360, {12, 30, 1}, 12, 16, true},  {384, {16, 24, 1}, 16, 16, true},
    {400, {20, 20, 1}, 20, 16, true},  {432, {18, 24, 1}, 24, 16, false},
    {448, {16, 28, 1}, 16, 16, true},  {480, {16, 30, 1}, 16, 16, true},
    {512, {32, 16, 1}, 16, 16, false}, {528, {22, 24, 1}, 24, 16, true},
    {576, {24, 24, 1}, 24, 16, false}, {600, {30, 20, 1}, 30, 16, true},
    {640, {32, 20, 1}, 32, 16, true},  {672, {28, 24, 1}, 28, 16, true},
    {720, {30, 24, 1}, 30, 16, true},  {768, {32, 24, 1}, 32, 16, true},
    {800, {32, 25, 1}, 32, 16, true},  {840, {30, 28, 1}, 30, 16, true},
    {864, {32, 27, 1}, 32, 16, true},  {900, {30, 30, 1}, 30, 16, true},
    {960, {32, 30, 1}, 32, 16, true},  {1024, {32, 32, 1}, 32, 16, true},
    {1056, {2, 22, 24}, 48, 8, true},  {1120, {5, 14, 16}, 80, 8, true},
    {1152, {2, 24, 24}, 48, 8, true},  {1200, {3, 20, 20}, 60, 8, true},
    {1280, {8, 8, 20}, 64, 8, true},   {1344, {7, 8, 24}, 56, 8, true},
    {1440, {5, 24, 12}, 60, 8, true},  {1536, {8, 8, 24}, 64, 8, true},
    {1600, {20, 4, 20}, 80, 8, true},  {1792, {4, 28, 16}, 64, 8, true},
    {2048, {32, 4, 16}, 64, 8, true},
};

/// The plan of thread blocks that transform the taps of kernels as well as columns.
template <int N>
struct TapsColumns {
    static constexpr ColumnPlan plan() {
        ColumnPlan plan = PlainColumns<float, N>::plan();
        plan.spectrum_in_shared_memory = plan.transform.stages > 1;
        for (const MeasuredTapsPlan& measured : measured_taps_plans) {
            if (measured.n != N) continue;
            TransformPlan& transform = plan.transform;
            const auto& radix = measured.radix;
            transform = {N, radix[2] > 1 ? 3 : 2, {radix[0], radix[1], radix[2]}, measured.threads};
            for (int stage = 0; stage < transform.stages; ++stage) {
                const int elements = transform.butterflies_per_thread(stage) * radix[stage];
                if (elements > transform.elements) transform.elements = elements;
            }
            plan.columns = measured.columns;
            transform.lanes = measured.columns < 32 ? 32 / measured.columns : 1;
            plan.spectrum_in_shared_memory = measured.spectrum_in_shared_memory;
        }
        plan.exchanges_whole_samples = !plan.spectrum_in_shared_memory;
        // Registers keep one spectrum or two.
        plan.registers = (plan.spectrum_in_shared_memory ? 2 : 4) * plan.transform.elements +
                         (plan.spectrum_in_shared_memory ? 56 : 46);
        return plan;
    }
};
template <int N>
using TapsColumnShape = ColumnShape<float, TapsColumns<N>>;

}  // namespace convolume::gpu
