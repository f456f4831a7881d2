// SPDX-License-Identifier: Apache-2.0
#pragma once
// The thread blocks of element passes: how their threads share rows, the shared memory that they
// take, and the samples that each thread copies to registers or to shared memory ahead of their
// use. A thread copies samples for itself alone, so that it waits for no other thread.

#include <cstring>
#include <type_traits>

#include "convolume/cuda/detail/complex.hpp"
#include "gpu/fft/element_job.hpp"
#include "gpu/fft/plan.hpp"
#include "gpu/fft/row_kernel.hpp"
#include "gpu/fft/row_pairs.hpp"

namespace convolume::gpu {

/// Returns the cheapest paired plan for rows of n complex samples, of two or three radix stages.
/// The plan has stages = 0 if n is not a multiple of 4. With fewer samples a thread, more threads
/// are resident. Threads without work in a radix stage cost time.
CONVOLUME_CONSTEXPR TransformPlan make_element_plan(int n) {
    constexpr int most_threads = 224, most_elements = 20, ideal_elements = 12;
    TransformPlan best;
    double best_cost = 1e30;
    const auto consider_plan = [&](int stages, int a, int b, int c) {
        const int pairs = n / a / 2;
        for (int threads = pairs; threads <= most_threads && threads <= n; ++threads) {
            TransformPlan plan{n, stages, {a, b, c}, threads, 0, 16, true};
            double work = 0;
            for (int s = 0; s < stages; ++s) {
                const int elements = plan.butterflies_per_thread(s) * plan.radix[s];
                if (elements > plan.elements) plan.elements = elements;
                work += static_cast<double>(elements) * threads / n;
            }
            if (plan.elements > most_elements) continue;
            const int excess_elements = plan.elements - ideal_elements;
            const int samples = plan.butterflies_per_thread(plan.last()) * plan.radix[plan.last()];
            const double cost = work + 0.5 * stages +
                                0.05 * (excess_elements < 0 ? -excess_elements : excess_elements) +
                                (plan.butterflies_per_thread(1) > 1 ? 0.4 : 0) + 0.02 * samples +
                                (samples > 10 ? 0.08 * (samples - 10) : 0);
            if (cost < best_cost) {
                best_cost = cost;
                best = plan;
            }
        }
    };
    if (!is_smooth(n)) return best;
    for (int a = 2; a <= 16; a += 2) {
        if (n % (2 * a) != 0) continue;
        for (int b = 2; b <= 16; ++b) {
            if (n % (a * b) != 0) continue;
            const int c = n / (a * b);
            if (c == 1) consider_plan(2, a, b, 1);
            if (c >= 2 && c <= 16) consider_plan(3, a, b, c);
        }
    }
    return best;
}

/// Plans that took less time than those that make_element_plan() chooses by a rule of thumb,
/// measured on an H200 (528: on an H100).
inline constexpr TransformPlan measured_element_plans[] = {
    {144, 3, {4, 6, 6}, 24, 8, 16, true},   {160, 3, {4, 10, 4}, 20, 10, 16, true},
    {512, 3, {8, 8, 8}, 64, 16, 16, true},  {528, 3, {6, 8, 11}, 48, 16, 16, true},
    {560, 3, {8, 5, 14}, 40, 16, 16, true}, {576, 3, {6, 8, 12}, 48, 16, 16, true},
};

template <int N>
struct ElementPlan {
    static constexpr TransformPlan plan = [] {
        for (const TransformPlan& measured : measured_element_plans)
            if (measured.n == N) return measured;
        return make_element_plan(N);
    }();
    static_assert(plan.stages > 1);
};

/// Returns the number of rows of a thread block: those that fill their warps best with few threads,
/// since threads often wait for one another. Measured on an H200, over lengths from 150 to 2048.
CONVOLUME_CONSTEXPR int element_rows_of_block(int threads_of_row) {
    int best = 1;
    double best_score = -1;
    for (int count = 1; count * threads_of_row <= 224; ++count) {
        const int block = count * threads_of_row;
        const double score = share_of_warps_filled(block) - 0.002 * block;
        if (block >= 86 && score > best_score) {
            best = count;
            best_score = score;
        }
    }
    return best;
}

/// The arrays of each kind of pass. Arrays that every pass of the kind has come first
/// (used_arrays).
enum LoadArray { newest_of_load = 0, before_of_load = 1 };
enum CompareArray { data_of_compare = 0, held_out_of_compare = 1 };
enum UpdateArray {
    newest_of_update = 0,
    weight_of_update = 1,
    before_of_update = 2,
    change_of_update = 3
};

/// The shape of a thread block of an element pass. Its shared memory has a memory for the exchanges
/// of each row, the twiddle factors and those of pairs, two sums a thread, and the places for
/// copies.
template <int N, ElementKind Kind>
struct ElementShape {
    using Rows = ElementPlan<N>;
    static constexpr TransformPlan plan = Rows::plan;
    static constexpr int rows = element_rows_of_block(plan.threads);
    static constexpr int threads = plan.threads * rows;
    static constexpr index_t sample_bytes = sizeof(Complex<float>);
    /// Shared samples of a row for an exchange: neighboring rows of a warp start in different
    /// banks.
    static constexpr int row_size = [] {
        int size = plan.exchange_size();
        while (size % plan.lanes != plan.threads % plan.lanes) ++size;
        return size;
    }();
    static constexpr int exchange_size = row_size * rows;
    static constexpr int table_samples = plan.twiddle_count() + N / 2 + 1;
    static constexpr index_t sums_offset = (exchange_size + table_samples) * sample_bytes;
    static constexpr index_t copies_offset = sums_offset + threads * index_t{2 * sizeof(double)};

    /// Places of a thread: for its samples of a spectrum, the center last, and for those of an
    /// array.
    static constexpr int spectrum_places =
        Kind == ElementKind::load ? 0 : 2 * RowPairs<Rows>::count + 1;
    static constexpr int places_per_array = plan.elements;
    /// The first arrays are copied to registers, as far as there are enough, since threads mostly
    /// wait for shared memory. Arrays of a load are not, because they belong to the next row.
    static constexpr int array_registers =
        2 * plan.butterflies_per_thread(plan.last()) * plan.radix[plan.last()];
    static constexpr int arrays_in_registers = [] {
        constexpr int most = 40;
        const int least_arrays = Kind == ElementKind::load      ? 0
                                 : Kind == ElementKind::compare ? 1
                                                                : 2;
        return least_arrays * array_registers <= most ? least_arrays : most / array_registers;
    }();
    /// Twiddle factors are kept in registers, too, if there are enough.
    static constexpr bool keeps_twiddles =
        plan.stages > 2 && RadixStages<float, Rows>::keeps_factors &&
        2 * plan.elements + 2 * plan.radix[1] + arrays_in_registers* array_registers <= 80;
    /// Bytes of shared memory without the places of arrays, and bytes of the places of the first
    /// arrays. Changes have 16 bits.
    static constexpr index_t least_shared_bytes =
        copies_offset + spectrum_places * threads * sample_bytes;
    static constexpr index_t bytes_of_arrays(int count) {
        const index_t array_bytes = places_per_array * threads * sample_bytes;
        const bool includes_changes = Kind == ElementKind::update && count > change_of_update;
        return count <= arrays_in_registers ? 0
                                            : (count - arrays_in_registers) * array_bytes -
                                                  (includes_changes ? array_bytes / 2 : 0);
    }
    /// Number of arrays that are copied ahead of their use: all, or as many as let devices with 99
    /// KiB of shared memory run the CUDA kernel. Others are read when they are needed.
    static constexpr int arrays = [] {
        int count = most_arrays(Kind);
        while (count > arrays_in_registers &&
               least_shared_bytes + bytes_of_arrays(count) > index_t{99} * 1024)
            --count;
        return count;
    }();
    static constexpr index_t shared_bytes = least_shared_bytes + bytes_of_arrays(arrays);

    static constexpr int blocks_per_unit = [] {
        constexpr int registers = 128;
        constexpr int least_arrays =
            Kind == ElementKind::update || Kind == ElementKind::advance ? 2 : 1;
        const index_t bytes =
            least_shared_bytes + bytes_of_arrays(arrays < least_arrays ? arrays : least_arrays);
        const auto blocks_by_memory = static_cast<int>(232448 / (bytes + 1024));
        const int blocks_by_registers = 65536 / ((threads + 31) / 32 * 32 * registers);
        const int blocks =
            blocks_by_memory < blocks_by_registers ? blocks_by_memory : blocks_by_registers;
        const int most = 2048 / threads;
        return blocks < 1 ? 1 : blocks > most ? most : blocks;
    }();
};

/// A row of an array as a thread sees it: all samples are at distances from the thread's first one
/// that the compiler knows. Samples are in pairs if they can be loaded and stored two at a time.
struct ElementRow {
    index_t plane;
    /// Index of the thread, and its first sample; all samples may be outside the row.
    int thread, first;
    int count;
    index_t offset;  ///< offset of the thread's first sample
    bool in_pairs;

    /// `index`: index of the row among the rows of all planes.
    template <class Elements>
    CONVOLUME_DEVICE ElementRow(const ElementWork<Elements>& work, index_t plane_of_row,
                                index_t index, int thread_of_row)
        : plane(plane_of_row),
          thread(thread_of_row),
          first(2 * thread_of_row - work.begin),
          count(work.count),
          offset(index * work.count + first),
          in_pairs((work.begin & 1) == 0 && (work.count & 1) == 0) {}
    /// Returns the distance from the thread's first sample to the first sample of a pair.
    CONVOLUME_DEVICE int distance(int position) const { return 2 * (position - thread); }
    CONVOLUME_DEVICE bool contains(int x) const {
        return static_cast<unsigned>(first + x) < static_cast<unsigned>(count);
    }
    /// Whether the row has the second sample of the pair at x.
    template <bool InPairs>
    CONVOLUME_DEVICE bool contains_second(int x) const {
        return contains(InPairs ? x : x + 1);
    }
};

/// Conversions of an array's samples to numbers.
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

/// Returns the pair from sample x of `values` on, both as the thread of the row sees them. Samples
/// outside the row are 0.
template <bool InPairs, class T>
CONVOLUME_DEVICE Complex<T> load_pair(const T* values, const ElementRow& row, int x) {
    Complex<T> pair{};
    if constexpr (InPairs) {
        if (row.contains(x)) pair = *reinterpret_cast<const Complex<T>*>(values + x);
    } else {
        if (row.contains(x)) pair.re = values[x];
        if (row.contains(x + 1)) pair.im = values[x + 1];
    }
    return pair;
}

template <bool InPairs, class T>
CONVOLUME_DEVICE void store_pair(T* values, const ElementRow& row, int x, Complex<T> pair) {
    if constexpr (InPairs) {
        if (row.contains(x)) *reinterpret_cast<Complex<T>*>(values + x) = pair;
    } else {
        if (row.contains(x)) values[x] = pair.re;
        if (row.contains(x + 1)) values[x + 1] = pair.im;
    }
}

/// Returns the bits of a pair as a pair of floats.
template <class T>
CONVOLUME_DEVICE Complex<float> pack_bits(Complex<T> pair) {
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
CONVOLUME_DEVICE Complex<T> unpack_bits(Complex<float> bits) {
    if constexpr (std::is_same_v<T, float>) {
        return bits;
    } else {
        Complex<T> pair;
        std::memcpy(&pair, &bits.re, sizeof(pair));
        return pair;
    }
}

/// The copies that one thread makes ahead of their use.
template <int N, ElementKind Kind, class Context>
struct ElementCopies {
    using Shape = ElementShape<N, Kind>;
    using Fft = RadixStages<float, typename Shape::Rows>;

    const Context& context;
    Complex<float>* places;  ///< places of the thread block
    int thread;              ///< index among the threads of a row
    Samples<float, Shape::places_per_array>
        register_copies[Shape::arrays_in_registers > 0 ? Shape::arrays_in_registers : 1];

    /// Returns the place i of the thread, which is next to those of other threads.
    template <class T>
    CONVOLUME_DEVICE T& place(Complex<float>* first, int i) const {
        return reinterpret_cast<T*>(first)[i * Shape::threads + context.thread()];
    }
    CONVOLUME_DEVICE Complex<float>& spectrum_place(int i) const {
        return place<Complex<float>>(places, i);
    }
    /// Returns the place of a pair of an array of T, which has 16 or 32 bits.
    template <class T>
    CONVOLUME_DEVICE Complex<T>& array_place(int array, int sample) const {
        const int before =
            Shape::spectrum_places + (array - Shape::arrays_in_registers) * Shape::places_per_array;
        return place<Complex<T>>(places + before * Shape::threads, sample);
    }

    CONVOLUME_DEVICE Complex<float>& center() const {
        return spectrum_place(Shape::spectrum_places - 1);
    }

    CONVOLUME_DEVICE void copy_spectrum(const Complex<float>* row) const {
        const RowPairs<typename Shape::Rows> pairs{thread};
        if (!pairs.has_pairs()) return;
        const auto samples = pairs.pointers_in_row(row);
        CONVOLUME_UNROLL
        for (int j = 0; j < pairs.count; ++j) {
            context.template copy_few_async<8>(&spectrum_place(2 * j), samples.sample_of(j));
            context.template copy_few_async<8>(&spectrum_place(2 * j + 1),
                                               samples.opposite_sample_of(j));
        }
        if (pairs.has_center()) context.template copy_few_async<8>(&center(), row + N / 2);
    }

    /// Computes the samples before the inverse transform from the copied spectrum.
    CONVOLUME_DEVICE void merge_spectrum(const RowPairs<typename Shape::Rows>& pairs,
                                         const Complex<float>* pair_twiddles,
                                         typename Fft::ThreadSamples& v) const {
        if (!pairs.has_pairs()) return;
        pairs.merge(v, pair_twiddles, center(), [&](int j, Complex<float>& a, Complex<float>& b) {
            a = spectrum_place(2 * j);
            b = spectrum_place(2 * j + 1);
        });
    }

    /// `Stage`: radix stage before which the samples of the transform are needed.
    template <int Stage, bool InPairs, class T>
    CONVOLUME_DEVICE void copy_array(int array, const T* values, const ElementRow& row) {
        if (array >= Shape::arrays) return;
        Fft::template for_each<Stage>(thread, [&](int sample, int position) {
            const int x = row.distance(position);
            if (array < Shape::arrays_in_registers) {
                register_copies[array][sample] = pack_bits(load_pair<InPairs>(values, row, x));
                return;
            }
            Complex<T>& place = array_place<T>(array, sample);
            if constexpr (InPairs) {
                context.template copy_few_or_zeros_async<2 * sizeof(T)>(&place, values + x,
                                                                        row.contains(x));
            } else if constexpr (sizeof(T) != sizeof(float)) {
                place = load_pair<InPairs>(values, row, x);
            } else {
                context.template copy_few_or_zeros_async<4>(&place.re, values + x, row.contains(x));
                context.template copy_few_or_zeros_async<4>(&place.im, values + x + 1,
                                                            row.contains(x + 1));
            }
        });
    }

    /// Returns a pair that was copied, or else reads it from memory.
    template <bool InPairs, class T, class As = AsNumbers>
    CONVOLUME_DEVICE Complex<float> read_pair(int array, const T* values, const ElementRow& row,
                                              int sample, int x, const As& as = {}) const {
        const Complex<T> pair = array < Shape::arrays_in_registers
                                    ? unpack_bits<T>(register_copies[array][sample])
                                : array < Shape::arrays ? array_place<T>(array, sample)
                                                        : load_pair<InPairs>(values, row, x);
        return {as(pair.re), as(pair.im)};
    }
};

}  // namespace convolume::gpu
