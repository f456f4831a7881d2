// SPDX-License-Identifier: Apache-2.0
#pragma once
// Passes along x with a stage: what happens to samples before a forward transform, between an
// inverse and a forward one, or after an inverse one. Samples stay in registers, two real ones as a
// complex one, like rows that lie in memory as the kernel has them. In single precision.
//
// What a thread needs of memory it copies to places of its own in shared memory, early enough that
// it arrives behind a transform: the arrays of a row while that is transformed back, the next row's
// spectrum (or estimates) while this one is worked on. It holds the samples k and N - k of a
// spectrum together (row_pairs.hpp), so that threads meet in the exchanges of transforms alone.

#include <type_traits>

#include "gpu/fft/stage_copies.hpp"

namespace convolume::gpu {

/// What the stages do to the samples `v` of a thread.
template <int N, StageWork Work, bool InPairs, class Context>
struct StageSamples {
    using Shape = StageShape<N, Work>;
    using Fft = Stages<float, typename Shape::Rows>;
    using Held = typename Fft::Held;
    static constexpr int last = Shape::value.last();

    StageCopies<N, Work, Context>& copies;
    const RowStage& stage;
    const StageRow row;
    Complex<float> sums{0, 0};  ///< of one row: few enough for single precision

    /// Copies of the arrays that the work needs.
    CONVOLUME_DEVICE void copy() const {
        if constexpr (Work == StageWork::load) {
            if (stage.kind == RowStage::Kind::ones) return;
            copies.template copy_array<last, InPairs>(newest_of_load, newest(), row);
            if (moves_ahead())
                copies.template copy_array<last, InPairs>(before_of_load, before(), row);
        } else if constexpr (Work == StageWork::compare) {
            with_data([&](const auto* data) {
                copies.template copy_array<last, InPairs>(data_of_compare, data, row);
            });
            if (stage.held != nullptr)
                copies.template copy_array<last, InPairs>(held_of_compare, held(), row);
        } else {
            copies.template copy_array<last, InPairs>(newest_of_step, newest(), row);
            if (moves_ahead())
                copies.template copy_array<last, InPairs>(before_of_step, before(), row);
            copies.template copy_array<last, InPairs>(weight_of_step, weight(), row);
            if (has_old()) copies.template copy_array<last, InPairs>(change_of_step, change(), row);
        }
    }

    CONVOLUME_DEVICE void point(Held& v) const {
        if (stage.kind == RowStage::Kind::ones) {
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
                v[sample] = ahead(v[sample], copies.template read<InPairs>(before_of_load, before(),
                                                                           row, sample, x));
            });
        if (stage.kept == nullptr) return;
        float* const kept = stage.kept + row.offset;
        Fft::template for_each<last>(copies.thread, [&](int sample, int position) {
            store_pair<InPairs>(kept, row, row.distance(position), v[sample]);
        });
    }

    /// `v` has come from an inverse transform: imaginary parts have the wrong sign.
    CONVOLUME_DEVICE void ratio(Held& v, float scale) {
        if (stage.held != nullptr) add_held_out(v, scale);
        if (stage.misfit)
            ratio_and_sum(v, scale, [](float y, float m, float ratio, float) {
                return richardson_lucy::misfit(y, m, ratio);
            });
        else
            ratio_and_sum(v, scale, [](float, float, float, float blurred) {
                return richardson_lucy::trace_of(blurred);
            });
    }

    /// Some samples at a time: all that they need is read before any is stored, since the compiler
    /// cannot know that stores leave the rest alone. What is asked of the stage is asked for all of
    /// them at once, so that their work overlaps.
    CONVOLUME_DEVICE void step(Held& v, float scale) {
        constexpr int at_a_time = 4;
        CONVOLUME_UNROLL
        for (int first = 0; first < Shape::value.elements; first += at_a_time) {
            Samples<float, at_a_time> point, divisor, old, next;
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
            read(point, newest_of_step, newest(), AsNumbers{});
            read(divisor, weight_of_step, weight(), AsNumbers{});
            if (moves_ahead()) {
                read(old, before_of_step, before(), AsNumbers{});
                each([&](int, int i, int) { point[i] = ahead(point[i], old[i]); });
            }
            each([&](int, int i, int) { old[i] = {0, 0}; });
            if (has_old()) read(old, change_of_step, change(), AsChanges{stage.last_format});

            const auto take = [&](const auto& step_of) {
                each([&](int sample, int i, int) {
                    const Complex<float> back{scale * v[sample].re, -scale * v[sample].im};
                    next[i] = {step_of(point[i].re, back.re, divisor[i].re, stage.least_weight),
                               step_of(point[i].im, back.im, divisor[i].im, stage.least_weight)};
                });
            };
            if (stage.unmatched)
                take([](auto... of) { return richardson_lucy::unmatched_step(of...); });
            else
                take([](auto... of) { return richardson_lucy::step(of...); });

            float* const target =
                remembers && stage.before != nullptr ? stage.before : stage.newest;
            each([&](int, int i, int x) {
                store_pair<InPairs>(target + row.offset, row, x, next[i]);
            });
            if constexpr (Work == StageWork::advance)
                each([&](int sample, int i, int) { v[sample] = next[i]; });
            if (!remembers || stage.change == nullptr) continue;
            each([&](int, int i, int x) {
                // Where there are no voxels all are 0.
                const Complex<float> made = next[i] - point[i];
                store_pair<InPairs>(stage.change + row.offset, row, x,
                                    Complex<ShortFloat>{stage.format.shortened(made.re),
                                                        stage.format.shortened(made.im)});
                add_product(made.re, old[i].re);
                add_product(made.im, old[i].im);
            });
        }
    }

  private:
    static constexpr bool remembers = Work != StageWork::advance;
    CONVOLUME_DEVICE bool moves_ahead() const {
        return remembers && stage.before != nullptr && !stage.restart;
    }
    CONVOLUME_DEVICE bool has_old() const {
        return remembers && stage.change != nullptr && !stage.restart;
    }
    CONVOLUME_DEVICE const float* newest() const { return stage.newest + row.offset; }
    CONVOLUME_DEVICE const float* before() const { return stage.before + row.offset; }
    CONVOLUME_DEVICE const ShortFloat* change() const { return stage.change + row.offset; }
    CONVOLUME_DEVICE const float* held() const { return stage.held + row.offset; }
    CONVOLUME_DEVICE const float* weight() const {
        const index_t stored = stage.alike.stored(row.plane);
        return stage.weight + row.offset + (stored - row.plane) * stage.rows * stage.count;
    }
    template <class Use>
    CONVOLUME_DEVICE void with_data(const Use& use) const {
        if (stage.narrow_data)
            use(static_cast<const std::uint16_t*>(stage.data) + row.offset);
        else
            use(static_cast<const float*>(stage.data) + row.offset);
    }

    /// 1 or 0.
    CONVOLUME_DEVICE float is_compared(int x) const {
        if (!row.holds(x)) return 0;
        if (stage.data == nullptr) return 1;
        const auto* const data = static_cast<const float*>(stage.data) + row.offset;
        return richardson_lucy::is_compared(data[x]) ? 1.0F : 0.0F;
    }

    CONVOLUME_DEVICE Complex<float> ahead(Complex<float> newest, Complex<float> before) const {
        return {stage.ahead(newest.re, before.re), stage.ahead(newest.im, before.im)};
    }

    template <class Summand>
    CONVOLUME_DEVICE void ratio_and_sum(Held& v, float scale, const Summand& summand) {
        // Without a branch, so that the work of many samples overlaps.
        const auto ratio_of = [&](float recorded, float blurred, bool inside) {
            const bool compared = inside && richardson_lucy::is_compared(recorded);
            const float m = stage.model.expected(blurred);
            const float ratio = richardson_lucy::quotient(recorded, m);
            const float added = summand(recorded, m, ratio, blurred);
            sums.re += compared ? added : 0;
            return compared ? ratio - stage.less : 0;
        };
        with_data([&](const auto* data) {
            Fft::template for_each<last>(copies.thread, [&](int sample, int position) {
                const int x = row.distance(position);
                const Complex<float> recorded =
                    copies.template read<InPairs>(data_of_compare, data, row, sample, x);
                v[sample] = {ratio_of(recorded.re, scale * v[sample].re, row.holds(x)),
                             ratio_of(recorded.im, -scale * v[sample].im,
                                      row.template holds_second<InPairs>(x))};
            });
        });
    }

    CONVOLUME_DEVICE void add_held_out(const Held& v, float scale) {
        const auto add = [&](float value, float blurred, bool inside) {
            const float away = inside && richardson_lucy::is_compared(value)
                                   ? value - stage.held_share * stage.model.expected(blurred)
                                   : 0.0F;
            sums.im += away * away;
        };
        Fft::template for_each<last>(copies.thread, [&](int sample, int position) {
            const int x = row.distance(position);
            const Complex<float> values =
                copies.template read<InPairs>(held_of_compare, held(), row, sample, x);
            add(values.re, scale * v[sample].re, row.holds(x));
            add(values.im, -scale * v[sample].im, row.template holds_second<InPairs>(x));
        });
    }

    CONVOLUME_DEVICE void add_product(float made, float old) {
        sums.re += made * old;
        sums.im += old * old;
    }
};

/// The sums of a block, always in the same order.
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

/// Which of all rows one is. Going on needs no division.
struct StageRows {
    int index, plane, y;
    CONVOLUME_DEVICE StageRows(int of, int rows) : index(of), plane(of / rows), y(of % rows) {}
    CONVOLUME_DEVICE void advance(const StageRows& by, int rows) {
        index += by.index;
        plane += by.plane;
        y += by.y;
        if (y < rows) return;
        y -= rows;
        ++plane;
    }
};

/// The body of the kernel for rows of N complex samples.
template <int N, StageWork Work, class Context>
CONVOLUME_DEVICE void stage_pass(const Context& context, const StageJob& job) {
    using Shape = StageShape<N, Work>;
    using Fft = Stages<float, typename Shape::Rows>;
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
    StageCopies<N, Work, Context> copies{
        context,
        reinterpret_cast<Complex<float>*>(context.shared() + Shape::copies_at),
        thread,
        {}};
    const WholeLane<float, Context> lane{context, memory + row_in_group * Shape::row_size};
    const RowPairs<typename Shape::Rows> pairs{thread};
    const auto rows = static_cast<int>(job.rows.rows);
    const int count = static_cast<int>(job.rows.planes) * rows;
    const auto stride = static_cast<int>(context.blocks()) * Shape::rows;
    const StageRows at_stride(stride, rows);

    const auto spectrum_at = [&](const StageRows& at) {
        return spectrum_row(job.rows, index_t{at.plane}, index_t{at.y});
    };
    const auto row_of = [&](const StageRows& at) {
        return StageRow(job.stage, index_t{at.plane}, index_t{at.index}, thread);
    };
    const auto with_samples = [&](const StageRow& row, const auto& use) {
        if (row.in_pairs)
            use(StageSamples<N, Work, true, Context>{copies, job.stage, row});
        else
            use(StageSamples<N, Work, false, Context>{copies, job.stage, row});
    };
    // What the row needs first.
    const auto copy_first = [&](const StageRows& at) {
        if (at.index < count) {
            if constexpr (Work == StageWork::load)
                with_samples(row_of(at), [](const auto& samples) { samples.copy(); });
            else
                copies.copy_spectrum(spectrum_at(at));
        }
        context.end_copy_group();
    };

    StageRows next(static_cast<int>(context.block()) * Shape::rows + row_in_group, rows);
    copy_first(next);
    context.sync();
    const auto factors = [&] {
        if constexpr (Shape::keeps_twiddles)
            return typename Fft::KeptTwiddles(thread, twiddles);
        else
            return static_cast<const Complex<float>*>(twiddles);
    }();
    for (int first = next.index - row_in_group; first < count; first += stride) {
        const StageRows at = next;
        const bool inside = at.index < count;
        const StageRow row = row_of(at);
        next.advance(at_stride, rows);
        const auto on_samples = [&](const auto& work) {
            if (!inside) return;
            with_samples(row, [&](auto samples) {
                work(samples);
                sums[0] += static_cast<double>(samples.sums.re);
                sums[1] += static_cast<double>(samples.sums.im);
            });
        };
        typename Fft::Held v;
        context.wait_copies();
        if constexpr (Work == StageWork::load) {
            Fft::template for_each<last>(thread, [&](int sample, int) { v[sample] = {0, 0}; });
            on_samples([&](auto& samples) { samples.point(v); });
            copy_first(next);
        } else {
            if (inside) {
                if (pairs.has_any())
                    pairs.merge(v, pair_twiddles, copies.center(),
                                [&](int j, Complex<float>& a, Complex<float>& b) {
                                    a = copies.spectrum(2 * j);
                                    b = copies.spectrum(2 * j + 1);
                                });
                with_samples(row, [](const auto& samples) { samples.copy(); });
            }
            context.end_copy_group();
            copy_first(next);
            Fft::forward(lane, thread, v, factors);
            context.wait_copies_but_last_group();
        }
        if constexpr (Work == StageWork::compare)
            on_samples([&](auto& samples) { samples.ratio(v, job.rows.scale); });
        else if constexpr (Work != StageWork::load)
            on_samples([&](auto& samples) { samples.step(v, job.rows.scale); });
        if constexpr (Work != StageWork::step) {
            Fft::back(lane, thread, v, factors);
            if (!inside || !pairs.has_any()) continue;
            Complex<float>* const target = spectrum_at(at);
            const auto targets = pairs.of_row(target);
            pairs.split(
                v, pair_twiddles,
                [&](int j, Complex<float> a, Complex<float> b) {
                    *targets.of(j) = a;
                    *targets.opposite_of(j) = b;
                },
                [&](Complex<float> center) { target[N / 2] = center; });
        }
    }
    store_sums<Shape>(context, job.sums);
}

}  // namespace convolume::gpu
