// SPDX-License-Identifier: Apache-2.0
#pragma once
// The CUDA kernel of element passes (element_job.hpp). Samples stay in registers, two real ones as
// a complex one, as in rows that lie in memory in this layout.
//
// A thread copies the samples that it needs from memory to places of its own in shared memory. It
// starts early enough that a transform hides the time. It copies the arrays of a row while that is
// transformed back, and the next row's spectrum (or the samples to load) while it works on this
// row. It holds the samples k and N - k of a spectrum together (RowPairs), so that threads only
// meet in the exchanges of transforms.

#include <cstdint>

#include "gpu/fft/element_block.hpp"

namespace convolume::gpu {

/// The work on the samples `v` of a row that a thread holds.
template <int N, ElementKind Kind, bool InPairs, class Elements, class Context>
struct ElementSamples {
    using Shape = ElementShape<N, Kind>;
    using Fft = RadixStages<float, typename Shape::Rows>;
    using ThreadSamples = typename Fft::ThreadSamples;
    static constexpr int last = Shape::plan.last();

    ElementCopies<N, Kind, Context>& copies;
    const ElementWork<Elements>& work;
    const ElementRow row;
    Complex<float> sums{0, 0};  ///< sums of one row, for which single precision is enough

    /// Copies the arrays that the work needs.
    CONVOLUME_DEVICE void copy_arrays() const {
        if constexpr (Kind == ElementKind::load) {
            if (work.loads_ones) return;
            copies.template copy_array<last, InPairs>(newest_of_load, newest(), row);
            if (extrapolates())
                copies.template copy_array<last, InPairs>(before_of_load, before(), row);
        } else if constexpr (Kind == ElementKind::compare) {
            with_data([&](const auto* data) {
                copies.template copy_array<last, InPairs>(data_of_compare, data, row);
            });
            if (work.held_out != nullptr)
                copies.template copy_array<last, InPairs>(held_out_of_compare, held_out(), row);
        } else {
            copies.template copy_array<last, InPairs>(newest_of_update, newest(), row);
            if (extrapolates())
                copies.template copy_array<last, InPairs>(before_of_update, before(), row);
            copies.template copy_array<last, InPairs>(weight_of_update, weight(), row);
            if (has_earlier_change())
                copies.template copy_array<last, InPairs>(change_of_update, change(), row);
        }
    }

    CONVOLUME_DEVICE void load(ThreadSamples& v) const {
        if (work.loads_ones) {
            Fft::template for_each<last>(copies.thread, [&](int sample, int position) {
                const int x = row.distance(position);
                v[sample] = {is_compared(x), is_compared(x + 1)};
            });
            return;
        }
        Fft::template for_each<last>(copies.thread, [&](int sample, int position) {
            const int x = row.distance(position);
            v[sample] =
                copies.template read_pair<InPairs>(newest_of_load, newest(), row, sample, x);
        });
        if (extrapolates())
            Fft::template for_each<last>(copies.thread, [&](int sample, int position) {
                const int x = row.distance(position);
                v[sample] = extrapolated_point(
                    v[sample],
                    copies.template read_pair<InPairs>(before_of_load, before(), row, sample, x));
            });
        if (work.kept == nullptr) return;
        float* const kept = work.kept + row.offset;
        Fft::template for_each<last>(copies.thread, [&](int sample, int position) {
            store_pair<InPairs>(kept, row, row.distance(position), v[sample]);
        });
    }

    /// `v` comes from an inverse transform: imaginary parts have the wrong sign.
    CONVOLUME_DEVICE void compare(ThreadSamples& v, float scale) {
        if (work.held_out != nullptr) add_held_out_errors(v, scale);
        work.elements.with_comparison(
            [&](const auto& compare_sample) { compare(v, scale, compare_sample); });
    }

    /// Updates some samples at a time. All values that they need are read before any sample is
    /// stored, since the compiler cannot know that stores do not change them. Conditions on the
    /// pass are checked once for all of them, so that their work overlaps.
    CONVOLUME_DEVICE void update(ThreadSamples& v, float scale) {
        constexpr int samples_at_a_time = 4;
        CONVOLUME_UNROLL
        for (int first = 0; first < Shape::plan.elements; first += samples_at_a_time) {
            Samples<float, samples_at_a_time> point, weights, earlier, next;
            const auto for_each_sample = [&](const auto& use) {
                Fft::template for_each<last>(copies.thread, [&](int sample, int position) {
                    if (sample >= first && sample < first + samples_at_a_time)
                        use(sample, sample - first, row.distance(position));
                });
            };
            const auto read = [&](Samples<float, samples_at_a_time>& to, int array,
                                  const auto* values, const auto& as) {
                for_each_sample([&](int sample, int i, int x) {
                    to[i] = copies.template read_pair<InPairs>(array, values, row, sample, x, as);
                });
            };
            read(point, newest_of_update, newest(), AsNumbers{});
            read(weights, weight_of_update, weight(), AsNumbers{});
            if (extrapolates()) {
                read(earlier, before_of_update, before(), AsNumbers{});
                for_each_sample(
                    [&](int, int i, int) { point[i] = extrapolated_point(point[i], earlier[i]); });
            }
            for_each_sample([&](int, int i, int) { earlier[i] = {0, 0}; });
            if (has_earlier_change())
                read(earlier, change_of_update, change(), AsChanges{work.last_format});

            work.elements.with_update([&](const auto& update_sample) {
                for_each_sample([&](int sample, int i, int) {
                    const Complex<float> back_projected{scale * v[sample].re,
                                                        -scale * v[sample].im};
                    next[i] = {update_sample(point[i].re, back_projected.re, weights[i].re),
                               update_sample(point[i].im, back_projected.im, weights[i].im)};
                });
            });

            float* const target =
                keeps_previous && work.before != nullptr ? work.before : work.newest;
            for_each_sample([&](int, int i, int x) {
                store_pair<InPairs>(target + row.offset, row, x, next[i]);
            });
            if constexpr (Kind == ElementKind::advance)
                for_each_sample([&](int sample, int i, int) { v[sample] = next[i]; });
            if (!keeps_previous || work.change == nullptr) continue;
            for_each_sample([&](int, int i, int x) {
                // All values are 0 outside the row.
                const Complex<float> change_of_sample = next[i] - point[i];
                store_pair<InPairs>(
                    work.change + row.offset, row, x,
                    Complex<ShortFloat>{work.format.shortened(change_of_sample.re),
                                        work.format.shortened(change_of_sample.im)});
                add_change_products(change_of_sample.re, earlier[i].re);
                add_change_products(change_of_sample.im, earlier[i].im);
            });
        }
    }

  private:
    static constexpr bool keeps_previous = Kind != ElementKind::advance;
    CONVOLUME_DEVICE bool extrapolates() const {
        return keeps_previous && work.before != nullptr && !work.restart;
    }
    CONVOLUME_DEVICE bool has_earlier_change() const {
        return keeps_previous && work.change != nullptr && !work.restart;
    }
    CONVOLUME_DEVICE const float* newest() const { return work.newest + row.offset; }
    CONVOLUME_DEVICE const float* before() const { return work.before + row.offset; }
    CONVOLUME_DEVICE const ShortFloat* change() const { return work.change + row.offset; }
    CONVOLUME_DEVICE const float* held_out() const { return work.held_out + row.offset; }
    CONVOLUME_DEVICE const float* weight() const {
        const index_t stored = work.equal_planes.stored(row.plane);
        return work.weight + row.offset + (stored - row.plane) * work.rows * work.count;
    }
    template <class Use>
    CONVOLUME_DEVICE void with_data(const Use& use) const {
        if (work.data_is_uint16)
            use(static_cast<const std::uint16_t*>(work.data) + row.offset);
        else
            use(static_cast<const float*>(work.data) + row.offset);
    }

    /// Returns 1 for a sample that is compared, else 0.
    CONVOLUME_DEVICE float is_compared(int x) const {
        if (!row.contains(x)) return 0;
        if (work.data == nullptr) return 1;
        const auto* const data = static_cast<const float*>(work.data) + row.offset;
        return work.elements.is_compared(data[x]) ? 1.0F : 0.0F;
    }

    CONVOLUME_DEVICE Complex<float> extrapolated_point(Complex<float> newest,
                                                       Complex<float> before) const {
        return {work.elements.point(newest.re, before.re),
                work.elements.point(newest.im, before.im)};
    }

    template <class Compare>
    CONVOLUME_DEVICE void compare(ThreadSamples& v, float scale, const Compare& compare_sample) {
        with_data([&](const auto* data) {
            Fft::template for_each<last>(copies.thread, [&](int sample, int position) {
                const int x = row.distance(position);
                const Complex<float> recorded =
                    copies.template read_pair<InPairs>(data_of_compare, data, row, sample, x);
                v[sample] = {
                    compare_sample(recorded.re, scale * v[sample].re, row.contains(x), sums.re),
                    compare_sample(recorded.im, -scale * v[sample].im,
                                   row.template contains_second<InPairs>(x), sums.re)};
            });
        });
    }

    CONVOLUME_DEVICE void add_held_out_errors(const ThreadSamples& v, float scale) {
        const auto add_error = [&](float recorded, float value, bool is_inside) {
            const float error = is_inside && work.elements.is_compared(recorded)
                                    ? work.elements.held_out_error(recorded, value)
                                    : 0.0F;
            sums.im += error * error;
        };
        Fft::template for_each<last>(copies.thread, [&](int sample, int position) {
            const int x = row.distance(position);
            const Complex<float> recorded =
                copies.template read_pair<InPairs>(held_out_of_compare, held_out(), row, sample, x);
            add_error(recorded.re, scale * v[sample].re, row.contains(x));
            add_error(recorded.im, -scale * v[sample].im, row.template contains_second<InPairs>(x));
        });
    }

    CONVOLUME_DEVICE void add_change_products(float change_of_sample, float earlier) {
        sums.re += change_of_sample * earlier;
        sums.im += earlier * earlier;
    }
};

/// Adds up the sums of a thread block's threads, always in the same order.
template <class Shape, class Context>
CONVOLUME_DEVICE void store_sums(const Context& context, double* target) {
    if (target == nullptr) return;
    context.sync();
    if (context.thread() >= 2) return;
    const auto* const thread_sums =
        reinterpret_cast<const double*>(context.shared() + Shape::sums_offset) + context.thread();
    double sum = 0;
    CONVOLUME_NO_UNROLL
    for (int i = 0; i < Shape::threads; ++i) sum += thread_sums[2 * i];
    target[2 * context.block() + context.thread()] = sum;
}

/// The index of a row among those of all planes, its plane and its y. Advancing needs no division.
struct RowIndex {
    int index, plane, y;
    CONVOLUME_DEVICE RowIndex(int of, int rows) : index(of), plane(of / rows), y(of % rows) {}
    CONVOLUME_DEVICE void advance(const RowIndex& by, int rows) {
        index += by.index;
        plane += by.plane;
        y += by.y;
        if (y < rows) return;
        y -= rows;
        ++plane;
    }
    CONVOLUME_DEVICE Complex<float>* spectrum(const RowJob<float>& job) const {
        return spectrum_row(job, index_t{plane}, index_t{y});
    }
    template <class Elements>
    CONVOLUME_DEVICE ElementRow row(const ElementWork<Elements>& work, int thread) const {
        return ElementRow(work, index_t{plane}, index_t{index}, thread);
    }
};

/// Calls use(samples) with the ElementSamples of the row.
template <int N, ElementKind Kind, class Elements, class Context, class Use>
CONVOLUME_DEVICE void with_samples(ElementCopies<N, Kind, Context>& copies,
                                   const ElementWork<Elements>& work, const ElementRow& row,
                                   const Use& use) {
    if (row.in_pairs)
        use(ElementSamples<N, Kind, true, Elements, Context>{copies, work, row});
    else
        use(ElementSamples<N, Kind, false, Elements, Context>{copies, work, row});
}

/// Copies the first data of a row that a pass needs: the samples to load, or the spectrum.
template <int N, ElementKind Kind, class Elements, class Context>
CONVOLUME_DEVICE void copy_row_start(ElementCopies<N, Kind, Context>& copies,
                                     const ElementJob<Elements>& job, const RowIndex& at) {
    if constexpr (Kind == ElementKind::load)
        with_samples(copies, job.work, at.row(job.work, copies.thread),
                     [](const auto& samples) { samples.copy_arrays(); });
    else
        copies.copy_spectrum(at.spectrum(job.rows));
}

/// Returns the twiddle factors in the form for transforms: some in registers, or all in the table.
template <class Shape>
CONVOLUME_DEVICE auto transform_twiddles(int thread, const Complex<float>* table) {
    if constexpr (Shape::keeps_twiddles)
        return typename RadixStages<float, typename Shape::Rows>::KeptTwiddles(thread, table);
    else
        return table;
}

/// Stores the spectrum of the samples `v` of a row after their forward transform.
template <class Rows, class ThreadSamples>
CONVOLUME_DEVICE void store_spectrum(Complex<float>* row, const RowPairs<Rows>& pairs,
                                     const Complex<float>* pair_twiddles, ThreadSamples& v) {
    if (!pairs.has_pairs()) return;
    const auto targets = pairs.pointers_in_row(row);
    pairs.split(
        v, pair_twiddles,
        [&](int j, Complex<float> a, Complex<float> b) {
            *targets.sample_of(j) = a;
            *targets.opposite_sample_of(j) = b;
        },
        [&](Complex<float> center) { row[RowPairs<Rows>::n / 2] = center; });
}

/// The body of the CUDA kernel for rows of N complex samples.
template <int N, ElementKind Kind, class Elements, class Context>
CONVOLUME_DEVICE void element_pass(const Context& context, const ElementJob<Elements>& job) {
    using Shape = ElementShape<N, Kind>;
    using Fft = RadixStages<float, typename Shape::Rows>;
    constexpr int last = Shape::plan.last(), threads = Shape::plan.threads;

    const int row_in_group = context.thread() / threads;
    const int thread = context.thread() % threads;
    auto* const memory = reinterpret_cast<Complex<float>*>(context.shared());
    Complex<float>* const twiddles = memory + Shape::exchange_size;
    const Complex<float>* const pair_twiddles = twiddles + Shape::plan.twiddle_count();
    copy_table(context, twiddles, job.rows.twiddles, Shape::table_samples, Shape::threads);
    auto* const sums =
        reinterpret_cast<double*>(context.shared() + Shape::sums_offset) + 2 * context.thread();
    sums[0] = sums[1] = 0;
    ElementCopies<N, Kind, Context> copies{
        context,
        reinterpret_cast<Complex<float>*>(context.shared() + Shape::copies_offset),
        thread,
        {}};
    const WholeExchange<float, Context> exchanger{context, memory + row_in_group * Shape::row_size};
    const RowPairs<typename Shape::Rows> pairs{thread};
    const auto rows = static_cast<int>(job.rows.rows);
    const int count = static_cast<int>(job.rows.planes) * rows;
    const auto stride = static_cast<int>(context.blocks()) * Shape::rows;
    const RowIndex at_stride(stride, rows);

    RowIndex next(static_cast<int>(context.block()) * Shape::rows + row_in_group, rows);
    const auto copy_next = [&] {
        if (next.index < count) copy_row_start(copies, job, next);
        context.end_copy_group();
    };
    copy_next();
    context.sync();
    const auto factors = transform_twiddles<Shape>(thread, twiddles);
    for (int first = next.index - row_in_group; first < count; first += stride) {
        const RowIndex at = next;
        const bool is_inside = at.index < count;
        const ElementRow row = at.row(job.work, thread);
        next.advance(at_stride, rows);
        const auto with_row_samples = [&](const auto& work) {
            if (!is_inside) return;
            with_samples(copies, job.work, row, [&](auto samples) {
                work(samples);
                sums[0] += static_cast<double>(samples.sums.re);
                sums[1] += static_cast<double>(samples.sums.im);
            });
        };
        typename Fft::ThreadSamples v;
        context.wait_copies();
        if constexpr (Kind == ElementKind::load) {
            Fft::template for_each<last>(thread, [&](int sample, int) { v[sample] = {0, 0}; });
            with_row_samples([&](auto& samples) { samples.load(v); });
            copy_next();
        } else {
            if (is_inside) {
                copies.merge_spectrum(pairs, pair_twiddles, v);
                with_samples(copies, job.work, row,
                             [](const auto& samples) { samples.copy_arrays(); });
            }
            context.end_copy_group();
            copy_next();
            Fft::forward(exchanger, thread, v, factors);
            context.wait_copies_but_last_group();
        }
        if constexpr (Kind == ElementKind::compare)
            with_row_samples([&](auto& samples) { samples.compare(v, job.rows.scale); });
        else if constexpr (Kind != ElementKind::load)
            with_row_samples([&](auto& samples) { samples.update(v, job.rows.scale); });
        if constexpr (Kind != ElementKind::update) {
            Fft::back(exchanger, thread, v, factors);
            if (is_inside) store_spectrum(at.spectrum(job.rows), pairs, pair_twiddles, v);
        }
    }
    store_sums<Shape>(context, job.sums);
}

}  // namespace convolume::gpu
