// SPDX-License-Identifier: Apache-2.0
#pragma once
// How a block of a pass with a stage is shaped, and what its threads copy to shared memory ahead of
// its use: samples of a thread's own, so that it waits for nobody else.

#include "gpu/fft/row_kernel.hpp"
#include "gpu/fft/stage_job.hpp"

namespace convolume::gpu {

/// Lengths whose passes with a stage take 7 to 25 % less time with other plans than those of rows,
/// measured on an H200: threads with fewer samples, of which more are resident.
inline constexpr Plan measured_stage_plans[] = {
    {300, 3, {5, 5, 12}, 30, 12, 16},  {320, 3, {8, 5, 8}, 40, 10, 16},
    {384, 3, {6, 8, 8}, 48, 12, 16},   {540, 3, {6, 9, 10}, 60, 12, 16},
    {600, 3, {6, 10, 10}, 60, 12, 16}, {640, 3, {10, 8, 8}, 80, 10, 16},
    {768, 3, {12, 8, 8}, 96, 12, 16},  {1200, 3, {10, 10, 12}, 120, 12, 16},
};
template <int N>
struct StagePlan {
    static constexpr Plan value = [] {
        for (const Plan& plan : measured_stage_plans)
            if (plan.n == N) return plan;
        return RowPlan<float, N>::value;
    }();
};

/// Rows of a block with a stage: those that fill their warps best in few threads, since all wait
/// for one another often. Measured on an H200, over lengths from 150 to 2048.
CONVOLUME_CONSTEXPR int stage_rows_of_block(int threads_of_row) {
    int best = 1;
    double best_score = -1;
    for (int count = 1; count * threads_of_row <= 224; ++count) {
        const int block = count * threads_of_row;
        const double score = filled(block) - 0.002 * block;
        if (block >= 86 && score > best_score) {
            best = count;
            best_score = score;
        }
    }
    return best;
}

/// The rows of a block are as those of row_pass; behind them lie two sums a thread, and the places
/// for copies.
template <int N, StageWork Work>
struct StageShape
    : RowBlock<float, N, stage_rows_of_block(StagePlan<N>::value.threads), StagePlan<N>> {
    using Rows = RowBlock<float, N, stage_rows_of_block(StagePlan<N>::value.threads), StagePlan<N>>;
    static constexpr index_t sample_bytes = sizeof(Complex<float>);
    static constexpr index_t sums_at = Rows::shared_bytes;
    static constexpr index_t copies_at = sums_at + Rows::threads * index_t{2 * sizeof(double)};

    /// Places of a thread: of its spectrum's samples, and of those of an array.
    static constexpr int spectrum_places =
        Work == StageWork::load ? 0 : 2 * pairs_of_thread<N, Rows::value.threads>;
    static constexpr int array_places = Rows::value.elements;
    /// Arrays that are copied ahead: all that there may be, or as many as leave the kernel to
    /// devices with 99 KiB of shared memory. Others are read when they are needed.
    static constexpr int arrays = [] {
        constexpr int most = most_arrays(Work);
        constexpr index_t array = array_places * Rows::threads * sample_bytes;
        constexpr index_t left =
            index_t{99} * 1024 - copies_at - spectrum_places * Rows::threads * sample_bytes;
        return left < 0 ? 0 : left / array < most ? static_cast<int>(left / array) : most;
    }();
    static constexpr index_t array_bytes = array_places * Rows::threads * sample_bytes;
    /// Without the places of arrays; with all.
    static constexpr index_t least_shared_bytes =
        copies_at + spectrum_places * Rows::threads * sample_bytes;
    static constexpr index_t shared_bytes = least_shared_bytes + arrays * array_bytes;

    static constexpr int blocks_per_unit = [] {
        constexpr int registers = 168;
        constexpr int always = Work == StageWork::step || Work == StageWork::advance ? 2 : 1;
        const index_t bytes =
            least_shared_bytes + (arrays < always ? arrays : always) * array_bytes;
        const auto by_memory = static_cast<int>(232448 / (bytes + 1024));
        const int by_registers = 65536 / ((Rows::threads + 31) / 32 * 32 * registers);
        const int blocks = by_memory < by_registers ? by_memory : by_registers;
        const int most = 2048 / Rows::threads;
        return blocks < 1 ? 1 : blocks > most ? most : blocks;
    }();
};

/// A row of an array as a thread sees it, from its own first sample on, so that all others are at
/// distances that the compiler knows. Samples lie in pairs where they can be loaded and stored two
/// at a time.
struct StageRow {
    index_t plane, y;
    int thread, first;  ///< sample of the row; may be outside, as all others may
    int count;
    index_t offset;  ///< of the first sample
    bool in_pairs;

    CONVOLUME_DEVICE StageRow(const RowStage& stage, index_t plane_of_row, index_t y_of_row,
                              int thread_of_row)
        : plane(plane_of_row),
          y(y_of_row),
          thread(thread_of_row),
          first(2 * thread_of_row - stage.begin),
          count(stage.count),
          offset((plane_of_row * stage.rows + y_of_row) * stage.count + first),
          in_pairs((stage.begin & 1) == 0 && (stage.count & 1) == 0) {}
    /// How far a pair's first sample is from the thread's.
    CONVOLUME_DEVICE int distance(int position) const { return 2 * (position - thread); }
    CONVOLUME_DEVICE bool holds(int x) const {
        return static_cast<unsigned>(first + x) < static_cast<unsigned>(count);
    }
    /// The second sample of the pair of x.
    template <bool InPairs>
    CONVOLUME_DEVICE bool holds_second(int x) const {
        return holds(InPairs ? x : x + 1);
    }
};

/// The pair from sample x of `values` on, both as the thread of the row sees them; 0 where there is
/// none.
template <bool InPairs, class T>
CONVOLUME_DEVICE Complex<float> load_pair(const T* values, const StageRow& row, int x) {
    Complex<float> pair{0, 0};
    if constexpr (InPairs) {
        const auto* const samples = reinterpret_cast<const Complex<T>*>(values + x);
        if (row.holds(x)) pair = {static_cast<float>(samples->re), static_cast<float>(samples->im)};
    } else {
        if (row.holds(x)) pair.re = static_cast<float>(values[x]);
        if (row.holds(x + 1)) pair.im = static_cast<float>(values[x + 1]);
    }
    return pair;
}

template <bool InPairs>
CONVOLUME_DEVICE void store_pair(float* values, const StageRow& row, int x, Complex<float> pair) {
    if constexpr (InPairs) {
        if (row.holds(x)) *reinterpret_cast<Complex<float>*>(values + x) = pair;
    } else {
        if (row.holds(x)) values[x] = pair.re;
        if (row.holds(x + 1)) values[x + 1] = pair.im;
    }
}

/// The arrays of a work: those that there always are come first (used_arrays).
enum LoadArray { newest_of_load = 0, before_of_load = 1 };
enum CompareArray { data_of_compare = 0, held_of_compare = 1 };
enum StepArray { newest_of_step = 0, weight_of_step = 1, before_of_step = 2, change_of_step = 3 };

/// A thread's places for copies.
template <int N, StageWork Work, class Context>
struct StageCopies {
    using Shape = StageShape<N, Work>;
    using Fft = Stages<float, typename Shape::Rows>;

    const Context& context;
    Complex<float>* places;  ///< `stride` apart
    int thread;              ///< of its row
    static constexpr int stride = Shape::threads;

    CONVOLUME_DEVICE Complex<float>& spectrum(int i) const { return places[i * stride]; }
    CONVOLUME_DEVICE Complex<float>& of_array(int array, int sample) const {
        return places[(Shape::spectrum_places + array * Shape::array_places + sample) * stride];
    }

    CONVOLUME_DEVICE void copy_spectrum(const Complex<float>* row) const {
        constexpr int threads = Shape::value.threads;
        const Complex<float>* const first = row + thread;
        const Complex<float>* const last = row + (N - thread);
        each_pair<N, threads>(thread, [&](int j, int) {
            context.template copy_few_async<8>(&spectrum(2 * j), first + j * threads);
            context.template copy_few_async<8>(&spectrum(2 * j + 1), last - j * threads);
        });
    }

    /// `Stage`: where the samples of a transform are then wanted.
    template <int Stage, bool InPairs, class T>
    CONVOLUME_DEVICE void copy_array(int array, const T* values, const StageRow& row) const {
        if (array >= Shape::arrays) return;
        Fft::template for_each<Stage>(thread, [&](int sample, int position) {
            const int x = row.distance(position);
            Complex<float>& place = of_array(array, sample);
            if constexpr (sizeof(T) != sizeof(float)) {
                place = load_pair<InPairs>(values, row, x);
            } else if constexpr (InPairs) {
                context.template copy_few_or_zeros_async<8>(&place, values + x, row.holds(x));
            } else {
                context.template copy_few_or_zeros_async<4>(&place.re, values + x, row.holds(x));
                context.template copy_few_or_zeros_async<4>(&place.im, values + x + 1,
                                                            row.holds(x + 1));
            }
        });
    }

    /// What was copied, or what memory has where that was not.
    template <bool InPairs, class T>
    CONVOLUME_DEVICE Complex<float> read(int array, const T* values, const StageRow& row,
                                         int sample, int x) const {
        if (array < Shape::arrays) return of_array(array, sample);
        return load_pair<InPairs>(values, row, x);
    }
};

}  // namespace convolume::gpu
