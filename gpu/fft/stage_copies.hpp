// SPDX-License-Identifier: Apache-2.0
#pragma once
// How a block of a pass with a stage is shaped, and what its threads copy to registers or to shared
// memory ahead of its use: samples of a thread's own, so that it waits for nobody else.

#include <cstring>
#include <type_traits>

#include "gpu/fft/row_pairs.hpp"
#include "gpu/fft/stage_job.hpp"
#include "gpu/fft/stage_plan.hpp"

namespace convolume::gpu {

/// The arrays of a work: those that there always are come first (used_arrays).
enum LoadArray { newest_of_load = 0, before_of_load = 1 };
enum CompareArray { data_of_compare = 0, held_of_compare = 1 };
enum StepArray { newest_of_step = 0, weight_of_step = 1, before_of_step = 2, change_of_step = 3 };

/// How a block of a pass with a stage is shaped. Its shared memory: for each row a memory for
/// exchanges, the twiddle factors and those of pairs, two sums a thread, and the places for copies.
template <int N, StageWork Work>
struct StageShape {
    using Rows = StagePlan<N>;
    static constexpr Plan value = Rows::value;
    static constexpr int rows = stage_rows_of_block(value.threads);
    static constexpr int threads = value.threads * rows;
    static constexpr index_t sample_bytes = sizeof(Complex<float>);
    /// Shared samples of a row for an exchange: neighboring rows of a warp start in different
    /// banks.
    static constexpr int row_size = [] {
        int size = value.exchange_size();
        while (size % value.lanes != value.threads % value.lanes) ++size;
        return size;
    }();
    static constexpr int exchange_size = row_size * rows;
    static constexpr int tables = value.twiddle_count() + N / 2 + 1;
    static constexpr index_t sums_at = (exchange_size + tables) * sample_bytes;
    static constexpr index_t copies_at = sums_at + threads * index_t{2 * sizeof(double)};

    /// Places of a thread: of its spectrum's samples, the center last, and of those of an array.
    static constexpr int spectrum_places =
        Work == StageWork::load ? 0 : 2 * RowPairs<Rows>::count + 1;
    static constexpr int array_places = value.elements;
    /// The first arrays are copied to registers, as far as there are enough: threads wait for
    /// shared memory most of all. Not those of a load, which belong to the next row.
    static constexpr int array_registers =
        2 * value.butterflies_per_thread(value.last()) * value.radix[value.last()];
    static constexpr int in_registers = [] {
        constexpr int most = 40;
        const int always = Work == StageWork::load ? 0 : Work == StageWork::compare ? 1 : 2;
        return always * array_registers <= most ? always : most / array_registers;
    }();
    /// Twiddle factors are kept in registers, too, where these are enough.
    static constexpr bool keeps_twiddles =
        Stages<float, Rows>::has_second &&
        2 * value.elements + 2 * value.radix[1] + in_registers * array_registers <= 80;
    /// Shared memory without the places of arrays, and what those of the first arrays take: changes
    /// have 16 bits.
    static constexpr index_t least_shared_bytes =
        copies_at + spectrum_places * threads * sample_bytes;
    static constexpr index_t bytes_of_arrays(int count) {
        const index_t each = array_places * threads * sample_bytes;
        const bool changes = Work == StageWork::step && count > change_of_step;
        return count <= in_registers ? 0 : (count - in_registers) * each - (changes ? each / 2 : 0);
    }
    /// Arrays that are copied ahead: all that there may be, or as many as leave the kernel to
    /// devices with 99 KiB of shared memory. Others are read when they are needed.
    static constexpr int arrays = [] {
        int count = most_arrays(Work);
        while (count > in_registers &&
               least_shared_bytes + bytes_of_arrays(count) > index_t{99} * 1024)
            --count;
        return count;
    }();
    static constexpr index_t shared_bytes = least_shared_bytes + bytes_of_arrays(arrays);

    static constexpr int blocks_per_unit = [] {
        constexpr int registers = 128;
        constexpr int always = Work == StageWork::step || Work == StageWork::advance ? 2 : 1;
        const index_t bytes =
            least_shared_bytes + bytes_of_arrays(arrays < always ? arrays : always);
        const auto by_memory = static_cast<int>(232448 / (bytes + 1024));
        const int by_registers = 65536 / ((threads + 31) / 32 * 32 * registers);
        const int blocks = by_memory < by_registers ? by_memory : by_registers;
        const int most = 2048 / threads;
        return blocks < 1 ? 1 : blocks > most ? most : blocks;
    }();
};

/// A row of an array as a thread sees it, from its own first sample on, so that all others are at
/// distances that the compiler knows. Samples lie in pairs where they can be loaded and stored two
/// at a time.
struct StageRow {
    index_t plane;
    int thread, first;  ///< sample of the row; may be outside, as all others may
    int count;
    index_t offset;  ///< of the first sample
    bool in_pairs;

    /// `index`: of the row among those of all planes.
    CONVOLUME_DEVICE StageRow(const RowStage& stage, index_t plane_of_row, index_t index,
                              int thread_of_row)
        : plane(plane_of_row),
          thread(thread_of_row),
          first(2 * thread_of_row - stage.begin),
          count(stage.count),
          offset(index * stage.count + first),
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

/// How an array's samples become numbers.
struct AsNumbers {
    template <class T>
    CONVOLUME_DEVICE float operator()(T value) const {
        return static_cast<float>(value);
    }
};
struct AsChanges {
    ShortFormat format;
    CONVOLUME_DEVICE float operator()(ShortFloat value) const { return format.lengthened(value); }
};

/// The pair from sample x of `values` on, both as the thread of the row sees them; 0 where there is
/// none.
template <bool InPairs, class T>
CONVOLUME_DEVICE Complex<T> load_pair(const T* values, const StageRow& row, int x) {
    Complex<T> pair{};
    if constexpr (InPairs) {
        if (row.holds(x)) pair = *reinterpret_cast<const Complex<T>*>(values + x);
    } else {
        if (row.holds(x)) pair.re = values[x];
        if (row.holds(x + 1)) pair.im = values[x + 1];
    }
    return pair;
}

template <bool InPairs, class T>
CONVOLUME_DEVICE void store_pair(T* values, const StageRow& row, int x, Complex<T> pair) {
    if constexpr (InPairs) {
        if (row.holds(x)) *reinterpret_cast<Complex<T>*>(values + x) = pair;
    } else {
        if (row.holds(x)) values[x] = pair.re;
        if (row.holds(x + 1)) values[x + 1] = pair.im;
    }
}

/// A pair as the bits of one of float.
template <class T>
CONVOLUME_DEVICE Complex<float> packed(Complex<T> pair) {
    if constexpr (std::is_same_v<T, float>) {
        return pair;
    } else {
        static_assert(sizeof(pair) == sizeof(float));
        Complex<float> bits{0, 0};
        std::memcpy(&bits.re, &pair, sizeof(pair));
        return bits;
    }
}
template <class T>
CONVOLUME_DEVICE Complex<T> unpacked(Complex<float> bits) {
    if constexpr (std::is_same_v<T, float>) {
        return bits;
    } else {
        Complex<T> pair;
        std::memcpy(&pair, &bits.re, sizeof(pair));
        return pair;
    }
}

/// A thread's copies.
template <int N, StageWork Work, class Context>
struct StageCopies {
    using Shape = StageShape<N, Work>;
    using Fft = Stages<float, typename Shape::Rows>;

    const Context& context;
    Complex<float>* places;  ///< of the block
    int thread;              ///< of its row
    Samples<float, Shape::array_places> kept[Shape::in_registers > 0 ? Shape::in_registers : 1];

    /// A thread's places are next to those of other threads.
    template <class T>
    CONVOLUME_DEVICE T& place(Complex<float>* first, int i) const {
        return reinterpret_cast<T*>(first)[i * Shape::threads + context.thread()];
    }
    CONVOLUME_DEVICE Complex<float>& spectrum(int i) const {
        return place<Complex<float>>(places, i);
    }
    /// A pair of an array of T, which has 16 or 32 bits.
    template <class T>
    CONVOLUME_DEVICE Complex<T>& of_array(int array, int sample) const {
        const int before =
            Shape::spectrum_places + (array - Shape::in_registers) * Shape::array_places;
        return place<Complex<T>>(places + before * Shape::threads, sample);
    }

    CONVOLUME_DEVICE Complex<float>& center() const { return spectrum(Shape::spectrum_places - 1); }

    CONVOLUME_DEVICE void copy_spectrum(const Complex<float>* row) const {
        const RowPairs<typename Shape::Rows> pairs{thread};
        if (!pairs.has_any()) return;
        const auto samples = pairs.of_row(row);
        CONVOLUME_UNROLL
        for (int j = 0; j < pairs.count; ++j) {
            context.template copy_few_async<8>(&spectrum(2 * j), samples.of(j));
            context.template copy_few_async<8>(&spectrum(2 * j + 1), samples.opposite_of(j));
        }
        if (pairs.has_center()) context.template copy_few_async<8>(&center(), row + N / 2);
    }

    /// `Stage`: where the samples of a transform are then wanted.
    template <int Stage, bool InPairs, class T>
    CONVOLUME_DEVICE void copy_array(int array, const T* values, const StageRow& row) {
        if (array >= Shape::arrays) return;
        Fft::template for_each<Stage>(thread, [&](int sample, int position) {
            const int x = row.distance(position);
            if (array < Shape::in_registers) {
                kept[array][sample] = packed(load_pair<InPairs>(values, row, x));
                return;
            }
            Complex<T>& place = of_array<T>(array, sample);
            if constexpr (InPairs) {
                context.template copy_few_or_zeros_async<2 * sizeof(T)>(&place, values + x,
                                                                        row.holds(x));
            } else if constexpr (sizeof(T) != sizeof(float)) {
                place = load_pair<InPairs>(values, row, x);
            } else {
                context.template copy_few_or_zeros_async<4>(&place.re, values + x, row.holds(x));
                context.template copy_few_or_zeros_async<4>(&place.im, values + x + 1,
                                                            row.holds(x + 1));
            }
        });
    }

    /// What was copied, or what memory has where that was not.
    template <bool InPairs, class T, class As = AsNumbers>
    CONVOLUME_DEVICE Complex<float> read(int array, const T* values, const StageRow& row,
                                         int sample, int x, const As& as = {}) const {
        const Complex<T> pair = array < Shape::in_registers ? unpacked<T>(kept[array][sample])
                                : array < Shape::arrays     ? of_array<T>(array, sample)
                                                            : load_pair<InPairs>(values, row, x);
        return {as(pair.re), as(pair.im)};
    }
};

}  // namespace convolume::gpu
