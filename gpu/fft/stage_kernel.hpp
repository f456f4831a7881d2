// SPDX-License-Identifier: Apache-2.0
#pragma once
// Passes along x with a stage: what happens to samples before a forward transform, between an
// inverse and a forward one, or after an inverse one. Samples stay in registers, two real ones as a
// complex one, like rows that lie in memory as the kernel has them. In single precision.
//
// What a thread needs of memory it copies to places of its own in shared memory, early enough that
// it arrives behind a transform: the arrays of a row while that is transformed back, the next row's
// spectrum (or estimates) while this one is worked on.

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

    const StageCopies<N, Work, Context>& copies;
    const RowStage& stage;
    const StageRow row;
    Complex<float> sums{0, 0};  ///< of one row: few enough for single precision

    /// Copies of the arrays that the work needs.
    CONVOLUME_DEVICE void copy() const {
        if constexpr (Work == StageWork::load) {
            if (stage.kind == RowStage::Kind::ones) return;
            copies.template copy_array<0, InPairs>(newest_of_load, newest(), row, 0);
            if (moves_ahead())
                copies.template copy_array<0, InPairs>(before_of_load, before(), row, 0);
        } else if constexpr (Work == StageWork::compare) {
            with_data([&](const auto* data) {
                copies.template copy_array<last, InPairs>(data_of_compare, data, row, 0);
            });
            if (stage.held != nullptr)
                copies.template copy_array<last, InPairs>(held_of_compare, held(), row, 0);
        } else {
            copies.template copy_array<last, InPairs>(newest_of_step, newest(), row, 0);
            if (moves_ahead())
                copies.template copy_array<last, InPairs>(before_of_step, before(), row, 0);
            copies.template copy_array<last, InPairs>(weight_of_step, weight(), row, 1);
            if (has_old())
                copies.template copy_array<last, InPairs>(change_of_step, change(), row, 0);
        }
    }

    CONVOLUME_DEVICE void point(Held& v) const {
        if (stage.kind == RowStage::Kind::ones) {
            Fft::template for_each<0>(copies.thread, [&](int sample, int position) {
                const int x = row.first(position);
                v[sample] = {is_compared(x), is_compared(x + 1)};
            });
            return;
        }
        Fft::template for_each<0>(copies.thread, [&](int sample, int position) {
            const int x = row.first(position);
            v[sample] = copies.template read<InPairs>(newest_of_load, newest(), row, sample, x, 0);
        });
        if (moves_ahead())
            Fft::template for_each<0>(copies.thread, [&](int sample, int position) {
                const int x = row.first(position);
                v[sample] = ahead(v[sample], copies.template read<InPairs>(before_of_load, before(),
                                                                           row, sample, x, 0));
            });
        if (stage.kept == nullptr) return;
        float* const kept = stage.kept + row.offset;
        Fft::template for_each<0>(copies.thread, [&](int sample, int position) {
            store_pair<InPairs>(kept, row, row.first(position), v[sample]);
        });
    }

    /// `v` has come from an inverse transform: imaginary parts have the wrong sign.
    CONVOLUME_DEVICE void ratio(Held& v, float scale) {
        if (stage.held != nullptr) add_held_out(v, scale);
        with_data([&](const auto* data) {
            Fft::template for_each<last>(copies.thread, [&](int sample, int position) {
                const int x = row.first(position);
                const Complex<float> recorded =
                    copies.template read<InPairs>(data_of_compare, data, row, sample, x, 0);
                v[sample] = {ratio_of(recorded.re, scale * v[sample].re, row.holds(x)),
                             ratio_of(recorded.im, -scale * v[sample].im, row.holds(x + 1))};
            });
        });
    }

    /// Some samples at a time: all that they need is read before any is stored, since the compiler
    /// cannot know that stores leave the rest alone.
    CONVOLUME_DEVICE void step(const Held& v, float scale) {
        constexpr int at_a_time = 4;
        CONVOLUME_UNROLL
        for (int first = 0; first < Shape::value.elements; first += at_a_time) {
            Samples<float, at_a_time> point, divisor, old;
            const auto each = [&](const auto& use) {
                Fft::template for_each<last>(copies.thread, [&](int sample, int position) {
                    if (sample >= first && sample < first + at_a_time)
                        use(sample, sample - first, row.first(position));
                });
            };
            each([&](int sample, int i, int x) {
                const auto read = [&](int array, const float* values, float beyond) {
                    return copies.template read<InPairs>(array, values, row, sample, x, beyond);
                };
                point[i] = read(newest_of_step, newest(), 0);
                if (moves_ahead()) point[i] = ahead(point[i], read(before_of_step, before(), 0));
                divisor[i] = read(weight_of_step, weight(), 1);
                old[i] = {0, 0};
                if (has_old()) old[i] = read(change_of_step, change(), 0);
            });
            each([&](int sample, int i, int x) {
                const Complex<float> next{
                    stepped(point[i].re, scale * v[sample].re, divisor[i].re),
                    stepped(point[i].im, -scale * v[sample].im, divisor[i].im)};
                store_step(x, next, next - point[i], old[i]);
            });
        }
    }

  private:
    CONVOLUME_DEVICE bool moves_ahead() const { return stage.before != nullptr && !stage.restart; }
    CONVOLUME_DEVICE bool has_old() const { return stage.change != nullptr && !stage.restart; }
    CONVOLUME_DEVICE const float* newest() const { return stage.newest + row.offset; }
    CONVOLUME_DEVICE const float* before() const { return stage.before + row.offset; }
    CONVOLUME_DEVICE const float* change() const { return stage.change + row.offset; }
    CONVOLUME_DEVICE const float* held() const { return stage.held + row.offset; }
    CONVOLUME_DEVICE const float* weight() const {
        return stage.weight + StageRow(stage, stage.alike.stored(row.plane), row.y).offset;
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

    CONVOLUME_DEVICE float ratio_of(float recorded, float blurred, bool inside) {
        if (!inside || !richardson_lucy::is_compared(recorded)) return 0;
        const float m = stage.model.expected(blurred);
        const float ratio = richardson_lucy::quotient(recorded, m);
        sums.re += richardson_lucy::misfit(recorded, m, ratio);
        return ratio - stage.less;
    }

    CONVOLUME_DEVICE void add_held_out(const Held& v, float scale) {
        const auto add = [&](float value, float blurred, bool inside) {
            const float away = inside && richardson_lucy::is_compared(value)
                                   ? value - stage.held_share * stage.model.expected(blurred)
                                   : 0.0F;
            sums.im += away * away;
        };
        Fft::template for_each<last>(copies.thread, [&](int sample, int position) {
            const int x = row.first(position);
            const Complex<float> values =
                copies.template read<InPairs>(held_of_compare, held(), row, sample, x, 0);
            add(values.re, scale * v[sample].re, row.holds(x));
            add(values.im, -scale * v[sample].im, row.holds(x + 1));
        });
    }

    CONVOLUME_DEVICE float stepped(float point, float correction, float weight) const {
        return stage.unmatched
                   ? richardson_lucy::unmatched_step(point, correction, weight, stage.least_weight)
                   : richardson_lucy::step(point, correction, weight, stage.least_weight);
    }

    CONVOLUME_DEVICE void store_step(int x, Complex<float> next, Complex<float> made,
                                     Complex<float> old) {
        float* const target = stage.before == nullptr ? stage.newest : stage.before;
        store_pair<InPairs>(target + row.offset, row, x, next);
        if (stage.change == nullptr) return;
        // Where there are no voxels all are 0.
        store_pair<InPairs>(stage.change + row.offset, row, x, made);
        add_product(made.re, old.re);
        add_product(made.im, old.im);
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

/// The body of the kernel for rows of N complex samples.
template <int N, StageWork Work, class Context>
CONVOLUME_DEVICE void stage_pass(const Context& context, const StageJob& job) {
    using Shape = StageShape<N, Work>;
    using Fft = Stages<float, typename Shape::Rows>;
    constexpr int last = Shape::value.last(), threads = Shape::value.threads;

    const int row_in_group = context.thread() / threads;
    const int thread = context.thread() % threads;
    auto* const memory = reinterpret_cast<Complex<float>*>(context.shared());
    Complex<float>* const shared = memory + row_in_group * Shape::row_size;
    Complex<float>* const twiddles = memory + Shape::rows * Shape::row_size;
    const Complex<float>* const pair_twiddles = twiddles + Shape::value.twiddle_count();
    copy_table(context, twiddles, job.rows.twiddles, Shape::tables, Shape::threads);
    auto* const sums =
        reinterpret_cast<double*>(context.shared() + Shape::sums_at) + 2 * context.thread();
    sums[0] = sums[1] = 0;
    const StageCopies<N, Work, Context> copies{
        context,
        reinterpret_cast<Complex<float>*>(context.shared() + Shape::copies_at) + context.thread(),
        thread};
    const WholeLane<float, Context> lane{context, shared};
    const index_t count = job.rows.planes * job.rows.rows;
    const index_t stride = context.blocks() * Shape::rows;

    const auto row_at = [&](index_t index) {
        const index_t plane = index / job.rows.rows;
        return Row<float>{plane, index - plane * job.rows.rows, shared, N, thread, threads};
    };
    const auto with_samples = [&](const Row<float>& row, const auto& use) {
        const StageRow at(job.stage, row.plane, row.y);
        if (at.in_pairs)
            use(StageSamples<N, Work, true, Context>{copies, job.stage, at});
        else
            use(StageSamples<N, Work, false, Context>{copies, job.stage, at});
    };
    // What the row needs first.
    const auto copy_first = [&](index_t index) {
        if (index < count) {
            const Row<float> row = row_at(index);
            if constexpr (Work == StageWork::load)
                with_samples(row, [](const auto& samples) { samples.copy(); });
            else
                copies.copy_spectrum(spectrum_row(job.rows, row));
        }
        context.end_copy_group();
    };

    copy_first(context.block() * Shape::rows + row_in_group);
    context.sync();
    for (index_t first = context.block() * Shape::rows; first < count; first += stride) {
        const index_t index = first + row_in_group;
        const bool inside = index < count;
        const Row<float> row = row_at(inside ? index : 0);
        const auto on_samples = [&](const auto& work) {
            if (!inside) return;
            with_samples(row, [&](auto samples) {
                work(samples);
                sums[0] += static_cast<double>(samples.sums.re);
                sums[1] += static_cast<double>(samples.sums.im);
            });
        };
        typename Fft::Held v;
        const auto from_shared = [&] {
            Fft::template for_each<0>(
                thread, [&](int sample, int position) { v[sample] = shared[position]; });
        };
        // `Stage`: where the samples are.
        const auto split = [&](auto stage) {
            context.sync();
            Fft::template for_each<decltype(stage)::value>(
                thread, [&](int sample, int position) { shared[position] = v[sample]; });
            context.sync();
            if (inside) split_row<N, threads>(job.rows, row, pair_twiddles);
        };

        context.wait_copies();
        if constexpr (Work == StageWork::load) {
            Fft::template for_each<0>(thread, [&](int sample, int) { v[sample] = {0, 0}; });
            on_samples([&](auto& samples) { samples.point(v); });
            copy_first(index + stride);
        } else {
            context.sync();
            if (inside) {
                merge_pairs<N, threads>(row, pair_twiddles,
                                        [&](int j, int, Complex<float>& a, Complex<float>& b) {
                                            a = copies.spectrum(2 * j);
                                            b = copies.spectrum(2 * j + 1);
                                        });
                with_samples(row, [](const auto& samples) { samples.copy(); });
            }
            context.end_copy_group();
            copy_first(index + stride);
            context.sync();
            from_shared();
            Fft::forward(lane, thread, v, twiddles);
            context.wait_copies_but_last_group();
        }
        if constexpr (Work == StageWork::compare) {
            on_samples([&](auto& samples) { samples.ratio(v, job.rows.scale); });
            Fft::back(lane, thread, v, twiddles);
            split(std::integral_constant<int, 0>{});
        } else if constexpr (Work == StageWork::step) {
            on_samples([&](auto& samples) { samples.step(v, job.rows.scale); });
        } else {
            Fft::forward(lane, thread, v, twiddles);
            split(std::integral_constant<int, last>{});
        }
    }
    store_sums<Shape>(context, job.sums);
}

}  // namespace convolume::gpu
