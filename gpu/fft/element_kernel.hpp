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
    static constexpr int last = Shape::value.last();

    ElementCopies<N, Kind, Context>& copies;
    const ElementWork<Elements>& work;
    const ElementRow row;
    Complex<float> sums{0, 0};  ///< sums of one row, for which single precision is enough

    /// Copies the arrays that the work needs.
    CONVOLUME_DEVICE void copy() const {
        if constexpr (Kind == ElementKind::load) {
            if (work.ones) return;
            copies.template copy_array<last, InPairs>(newest_of_load, newest(), row);
            if (moves_ahead())
                copies.template copy_array<last, InPairs>(before_of_load, before(), row);
        } else if constexpr (Kind == ElementKind::compare) {
            with_data([&](const auto* data) {
                copies.template copy_array<last, InPairs>(data_of_compare, data, row);
            });
            if (work.held_out != nullptr)
                copies.template copy_array<last, InPairs>(held_out_of_compare, held_out(), row);
        } else {
            copies.template copy_array<last, InPairs>(newest_of_update, newest(), row);
            if (moves_ahead())
                copies.template copy_array<last, InPairs>(before_of_update, before(), row);
            copies.template copy_array<last, InPairs>(weight_of_update, weight(), row);
            if (has_old())
                copies.template copy_array<last, InPairs>(change_of_update, change(), row);
        }
    }

    CONVOLUME_DEVICE void load(ThreadSamples& v) const {
        if (work.ones) {
            Fft::template for_each<last>(copies.thread, [&](int sample, int position) {
                const int x = row.distance(position);
                v[sample] = {is_compared(x), is_compared(x + 1)};
            });
            return;
        }
        Fft::template for_each<last>(copies.thread, [&](int sample, int position) {
            const int x = row.distance(position);
            v[sample] = copies.template read<InPairs>(newest_of_load, newest(), row, sample, x);
        });
        if (moves_ahead())
            Fft::template for_each<last>(copies.thread, [&](int sample, int position) {
                const int x = row.distance(position);
                v[sample] = point_of(v[sample], copies.template read<InPairs>(
                                                    before_of_load, before(), row, sample, x));
            });
        if (work.kept == nullptr) return;
        float* const kept = work.kept + row.offset;
        Fft::template for_each<last>(copies.thread, [&](int sample, int position) {
            store_pair<InPairs>(kept, row, row.distance(position), v[sample]);
        });
    }

    /// `v` comes from an inverse transform: imaginary parts have the wrong sign.
    CONVOLUME_DEVICE void compare(ThreadSamples& v, float scale) {
        if (work.held_out != nullptr) add_held_out(v, scale);
        work.elements.with_comparison([&](const auto& of) { compare(v, scale, of); });
    }

    /// Updates some samples at a time. All values that they need are read before any sample is
    /// stored, since the compiler cannot know that stores do not change them. Conditions on the
    /// pass are checked once for all of them, so that their work overlaps.
    CONVOLUME_DEVICE void update(ThreadSamples& v, float scale) {
        constexpr int at_a_time = 4;
        CONVOLUME_UNROLL
        for (int first = 0; first < Shape::value.elements; first += at_a_time) {
            Samples<float, at_a_time> point, weights, old, next;
            const auto each = [&](const auto& use) {
                Fft::template for_each<last>(copies.thread, [&](int sample, int position) {
                    if (sample >= first && sample < first + at_a_time)
                        use(sample, sample - first, row.distance(position));
                });
            };
            const auto read = [&](Samples<float, at_a_time>& to, int array, const auto* values,
                                  const auto& as) {
                each([&](int sample, int i, int x) {
                    to[i] = copies.template read<InPairs>(array, values, row, sample, x, as);
                });
            };
            read(point, newest_of_update, newest(), AsNumbers{});
            read(weights, weight_of_update, weight(), AsNumbers{});
            if (moves_ahead()) {
                read(old, before_of_update, before(), AsNumbers{});
                each([&](int, int i, int) { point[i] = point_of(point[i], old[i]); });
            }
            each([&](int, int i, int) { old[i] = {0, 0}; });
            if (has_old()) read(old, change_of_update, change(), AsChanges{work.last_format});

            work.elements.with_update([&](const auto& of) {
                each([&](int sample, int i, int) {
                    const Complex<float> back{scale * v[sample].re, -scale * v[sample].im};
                    next[i] = {of(point[i].re, back.re, weights[i].re),
                               of(point[i].im, back.im, weights[i].im)};
                });
            });

            float* const target = remembers && work.before != nullptr ? work.before : work.newest;
            each([&](int, int i, int x) {
                store_pair<InPairs>(target + row.offset, row, x, next[i]);
            });
            if constexpr (Kind == ElementKind::advance)
                each([&](int sample, int i, int) { v[sample] = next[i]; });
            if (!remembers || work.change == nullptr) continue;
            each([&](int, int i, int x) {
                // All values are 0 outside the row.
                const Complex<float> made = next[i] - point[i];
                store_pair<InPairs>(work.change + row.offset, row, x,
                                    Complex<ShortFloat>{work.format.shortened(made.re),
                                                        work.format.shortened(made.im)});
                add_product(made.re, old[i].re);
                add_product(made.im, old[i].im);
            });
        }
    }

  private:
    static constexpr bool remembers = Kind != ElementKind::advance;
    CONVOLUME_DEVICE bool moves_ahead() const {
        return remembers && work.before != nullptr && !work.restart;
    }
    CONVOLUME_DEVICE bool has_old() const {
        return remembers && work.change != nullptr && !work.restart;
    }
    CONVOLUME_DEVICE const float* newest() const { return work.newest + row.offset; }
    CONVOLUME_DEVICE const float* before() const { return work.before + row.offset; }
    CONVOLUME_DEVICE const ShortFloat* change() const { return work.change + row.offset; }
    CONVOLUME_DEVICE const float* held_out() const { return work.held_out + row.offset; }
    CONVOLUME_DEVICE const float* weight() const {
        const index_t stored = work.alike.stored(row.plane);
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
        if (!row.holds(x)) return 0;
        if (work.data == nullptr) return 1;
        const auto* const data = static_cast<const float*>(work.data) + row.offset;
        return work.elements.is_compared(data[x]) ? 1.0F : 0.0F;
    }

    CONVOLUME_DEVICE Complex<float> point_of(Complex<float> newest, Complex<float> before) const {
        return {work.elements.point(newest.re, before.re),
                work.elements.point(newest.im, before.im)};
    }

    template <class Compare>
    CONVOLUME_DEVICE void compare(ThreadSamples& v, float scale, const Compare& of) {
        with_data([&](const auto* data) {
            Fft::template for_each<last>(copies.thread, [&](int sample, int position) {
                const int x = row.distance(position);
                const Complex<float> recorded =
                    copies.template read<InPairs>(data_of_compare, data, row, sample, x);
                v[sample] = {of(recorded.re, scale * v[sample].re, row.holds(x), sums.re),
                             of(recorded.im, -scale * v[sample].im,
                                row.template holds_second<InPairs>(x), sums.re)};
            });
        });
    }

    CONVOLUME_DEVICE void add_held_out(const ThreadSamples& v, float scale) {
        const auto add = [&](float recorded, float value, bool inside) {
            const float error = inside && work.elements.is_compared(recorded)
                                    ? work.elements.held_out_error(recorded, value)
                                    : 0.0F;
            sums.im += error * error;
        };
        Fft::template for_each<last>(copies.thread, [&](int sample, int position) {
            const int x = row.distance(position);
            const Complex<float> recorded =
                copies.template read<InPairs>(held_out_of_compare, held_out(), row, sample, x);
            add(recorded.re, scale * v[sample].re, row.holds(x));
            add(recorded.im, -scale * v[sample].im, row.template holds_second<InPairs>(x));
        });
    }

    CONVOLUME_DEVICE void add_product(float made, float old) {
        sums.re += made * old;
        sums.im += old * old;
    }
};

/// Adds up the sums of a thread block's threads, always in the same order.
template <class Shape, class Context>
CONVOLUME_DEVICE void store_sums(const Context& context, double* target) {
    if (target == nullptr) return;
    context.sync();
    if (context.thread() >= 2) return;
    const auto* const of_threads =
        reinterpret_cast<const double*>(context.shared() + Shape::sums_at) + context.thread();
    double sum = 0;
    CONVOLUME_NO_UNROLL
    for (int i = 0; i < Shape::threads; ++i) sum += of_threads[2 * i];
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
CONVOLUME_DEVICE void copy_first(ElementCopies<N, Kind, Context>& copies,
                                 const ElementJob<Elements>& job, const RowIndex& at) {
    if constexpr (Kind == ElementKind::load)
        with_samples(copies, job.work, at.row(job.work, copies.thread),
                     [](const auto& samples) { samples.copy(); });
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
    if (!pairs.has_any()) return;
    const auto targets = pairs.of_row(row);
    pairs.split(
        v, pair_twiddles,
        [&](int j, Complex<float> a, Complex<float> b) {
            *targets.of(j) = a;
            *targets.opposite_of(j) = b;
        },
        [&](Complex<float> center) { row[RowPairs<Rows>::n / 2] = center; });
}

/// The body of the CUDA kernel for rows of N complex samples.
template <int N, ElementKind Kind, class Elements, class Context>
CONVOLUME_DEVICE void element_pass(const Context& context, const ElementJob<Elements>& job) {
    using Shape = ElementShape<N, Kind>;
    using Fft = RadixStages<float, typename Shape::Rows>;
    constexpr int last = Shape::value.last(), threads = Shape::value.threads;

    const int row_in_group = context.thread() / threads;
    const int thread = context.thread() % threads;
    auto* const memory = reinterpret_cast<Complex<float>*>(context.shared());
    Complex<float>* const twiddles = memory + Shape::exchange_size;
    const Complex<float>* const pair_twiddles = twiddles + Shape::value.twiddle_count();
    copy_table(context, twiddles, job.rows.twiddles, Shape::tables, Shape::threads);
    auto* const sums =
        reinterpret_cast<double*>(context.shared() + Shape::sums_at) + 2 * context.thread();
    sums[0] = sums[1] = 0;
    ElementCopies<N, Kind, Context> copies{
        context,
        reinterpret_cast<Complex<float>*>(context.shared() + Shape::copies_at),
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
        if (next.index < count) copy_first(copies, job, next);
        context.end_copy_group();
    };
    copy_next();
    context.sync();
    const auto factors = transform_twiddles<Shape>(thread, twiddles);
    for (int first = next.index - row_in_group; first < count; first += stride) {
        const RowIndex at = next;
        const bool inside = at.index < count;
        const ElementRow row = at.row(job.work, thread);
        next.advance(at_stride, rows);
        const auto on_samples = [&](const auto& work) {
            if (!inside) return;
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
            on_samples([&](auto& samples) { samples.load(v); });
            copy_next();
        } else {
            if (inside) {
                copies.merge_spectrum(pairs, pair_twiddles, v);
                with_samples(copies, job.work, row, [](const auto& samples) { samples.copy(); });
            }
            context.end_copy_group();
            copy_next();
            Fft::forward(exchanger, thread, v, factors);
            context.wait_copies_but_last_group();
        }
        if constexpr (Kind == ElementKind::compare)
            on_samples([&](auto& samples) { samples.compare(v, job.rows.scale); });
        else if constexpr (Kind != ElementKind::load)
            on_samples([&](auto& samples) { samples.update(v, job.rows.scale); });
        if constexpr (Kind != ElementKind::update) {
            Fft::back(exchanger, thread, v, factors);
            if (inside) store_spectrum(at.spectrum(job.rows), pairs, pair_twiddles, v);
        }
    }
    store_sums<Shape>(context, job.sums);
}

}  // namespace convolume::gpu
