// SPDX-License-Identifier: Apache-2.0
#pragma once
// Passes along x with a stage: what happens to samples before a forward transform, between an
// inverse and a forward one, or after an inverse one. Samples stay in registers, two real ones as a
// complex one, like rows that lie in memory as the kernel has them. In single precision.

#include "gpu/fft/row_kernel.hpp"
#include "gpu/fft/stage_job.hpp"

namespace convolume::gpu {

/// The rows of a block are those of row_pass; behind them lie two sums a thread.
template <int N>
struct StageShape : RowShape<float, N> {
    using Rows = RowShape<float, N>;
    static constexpr index_t sums_at = Rows::shared_bytes;
    static constexpr index_t shared_bytes =
        Rows::shared_bytes + Rows::threads * index_t{2 * sizeof(double)};
    /// Blocks that registers hold: arrays on their way need many more than rows alone. Measured on
    /// an H200: with 96 to 128 registers a thread, more blocks gain less than what is spilled
    /// costs.
    static constexpr int blocks_per_unit = [] {
        constexpr int registers = 168;
        const int blocks = 65536 / ((Rows::threads + 31) / 32 * 32 * registers);
        return blocks < 1 ? 1 : blocks > Rows::blocks_per_unit ? Rows::blocks_per_unit : blocks;
    }();
};

/// A row of an array. Samples lie in pairs where they can be loaded and stored two at a time.
struct StageRow {
    index_t offset;
    int begin, count;  ///< of the transform's samples
    bool in_pairs;

    CONVOLUME_DEVICE StageRow(const RowStage& stage, index_t plane, index_t y)
        : offset((plane * stage.rows + y) * stage.count),
          begin(stage.begin),
          count(stage.count),
          in_pairs((stage.begin & 1) == 0 && (stage.count & 1) == 0) {}
    /// The first sample of a pair in the array; either may be outside.
    CONVOLUME_DEVICE int first(int position) const { return 2 * position - begin; }
    CONVOLUME_DEVICE bool holds(int x) const { return x >= 0 && x < count; }
};

/// The pair from sample x of `values` on, which begins with the row; `beyond` where there is none.
template <bool InPairs>
CONVOLUME_DEVICE Complex<float> load_pair(const float* values, const StageRow& row, int x,
                                          float beyond) {
    Complex<float> pair{beyond, beyond};
    if constexpr (InPairs) {
        if (row.holds(x)) pair = *reinterpret_cast<const Complex<float>*>(values + x);
    } else {
        if (row.holds(x)) pair.re = values[x];
        if (row.holds(x + 1)) pair.im = values[x + 1];
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

/// What the stages do to the samples `v` of a thread.
template <int N, bool InPairs>
struct StageSamples {
    using Shape = StageShape<N>;
    using Fft = Stages<float, Shape>;
    using Held = typename Fft::Held;
    static constexpr int last = Shape::value.last(), elements = Shape::value.elements;
    /// Samples whose arrays are under way at a time.
    static constexpr int at_a_time = 4;

    const RowStage& stage;
    const StageRow row;
    int thread;
    Complex<float> sums{0, 0};  ///< of one row: few enough for single precision

    CONVOLUME_DEVICE void point(Held& v) const {
        if (stage.kind == RowStage::Kind::ones) {
            Fft::template for_each<0>(thread, [&](int sample, int position) {
                const int x = row.first(position);
                v[sample] = {row.holds(x) ? 1.0F : 0.0F, row.holds(x + 1) ? 1.0F : 0.0F};
            });
            return;
        }
        const float* const newest = stage.newest + row.offset;
        Fft::template for_each<0>(thread, [&](int sample, int position) {
            v[sample] = load_pair<InPairs>(newest, row, row.first(position), 0);
        });
        if (stage.before != nullptr && !stage.restart) move_ahead(v);
        if (stage.kept == nullptr) return;
        float* const kept = stage.kept + row.offset;
        Fft::template for_each<0>(thread, [&](int sample, int position) {
            store_pair<InPairs>(kept, row, row.first(position), v[sample]);
        });
    }

    /// `v` has come from an inverse transform: imaginary parts have the wrong sign.
    CONVOLUME_DEVICE void ratio(Held& v, float scale) {
        const float* const data = stage.data + row.offset;
        Held recorded;
        Fft::template for_each<last>(thread, [&](int sample, int position) {
            recorded[sample] = load_pair<InPairs>(data, row, row.first(position), 0);
        });
        if (stage.held != nullptr) add_held_out(v, scale);
        Fft::template for_each<last>(thread, [&](int sample, int position) {
            const int x = row.first(position);
            v[sample] = {ratio_of(recorded[sample].re, scale * v[sample].re, row.holds(x)),
                         ratio_of(recorded[sample].im, -scale * v[sample].im, row.holds(x + 1))};
        });
    }

    CONVOLUME_DEVICE void step(const Held& v, float scale, index_t plane, index_t y) {
        float* const newest = stage.newest + row.offset;
        float* const target = stage.before == nullptr ? newest : stage.before + row.offset;
        const bool as_it_is = stage.before == nullptr || stage.restart;
        float* const change = stage.change == nullptr ? nullptr : stage.change + row.offset;
        const bool has_old = change != nullptr && !stage.restart;
        const float* const weight =
            stage.weight + StageRow(stage, stage.alike.stored(plane), y).offset;
        CONVOLUME_UNROLL
        for (int first = 0; first < elements; first += at_a_time) {
            Samples<float, at_a_time> value, before, old, divisor;
            const auto each = [&](const auto& use) {
                Fft::template for_each<last>(thread, [&](int sample, int position) {
                    if (sample >= first && sample < first + at_a_time)
                        use(sample, sample - first, row.first(position));
                });
            };
            each([&](int, int i, int x) {
                value[i] = load_pair<InPairs>(newest, row, x, 0);
                divisor[i] = load_pair<InPairs>(weight, row, x, 1);
                before[i] = old[i] = {0, 0};
                if (!as_it_is) before[i] = load_pair<InPairs>(target, row, x, 0);
                if (has_old) old[i] = load_pair<InPairs>(change, row, x, 0);
            });
            each([&](int sample, int i, int x) {
                const Complex<float> point =
                    as_it_is ? value[i]
                             : Complex<float>{stage.ahead(value[i].re, before[i].re),
                                              stage.ahead(value[i].im, before[i].im)};
                const Complex<float> next{richardson_lucy::step(point.re, scale * v[sample].re,
                                                                divisor[i].re, stage.least_weight),
                                          richardson_lucy::step(point.im, -scale * v[sample].im,
                                                                divisor[i].im, stage.least_weight)};
                store_pair<InPairs>(target, row, x, next);
                if (change == nullptr) return;
                // Where there are no voxels all are 0.
                const Complex<float> made = next - point;
                store_pair<InPairs>(change, row, x, made);
                add_product(made.re, old[i].re);
                add_product(made.im, old[i].im);
            });
        }
    }

  private:
    CONVOLUME_DEVICE void move_ahead(Held& v) const {
        const float* const before = stage.before + row.offset;
        Held old;
        Fft::template for_each<0>(thread, [&](int sample, int position) {
            old[sample] = load_pair<InPairs>(before, row, row.first(position), 0);
        });
        Fft::template for_each<0>(thread, [&](int sample, int) {
            v[sample] = {stage.ahead(v[sample].re, old[sample].re),
                         stage.ahead(v[sample].im, old[sample].im)};
        });
    }

    CONVOLUME_DEVICE float ratio_of(float recorded, float blurred, bool inside) {
        if (!inside) return 0;
        const float m = stage.model.expected(blurred);
        const float ratio = richardson_lucy::quotient(recorded, m);
        sums.re += richardson_lucy::misfit(recorded, m, ratio);
        return ratio;
    }

    CONVOLUME_DEVICE void add_held_out(const Held& v, float scale) {
        const float* const held = stage.held + row.offset;
        const auto add = [&](float value, float blurred, bool inside) {
            const float away =
                inside ? value - stage.held_share * stage.model.expected(blurred) : 0.0F;
            sums.im += away * away;
        };
        Fft::template for_each<last>(thread, [&](int sample, int position) {
            const int x = row.first(position);
            const Complex<float> values = load_pair<InPairs>(held, row, x, 0);
            add(values.re, scale * v[sample].re, row.holds(x));
            add(values.im, -scale * v[sample].im, row.holds(x + 1));
        });
    }

    CONVOLUME_DEVICE void add_product(float made, float old) {
        sums.re += made * old;
        sums.im += old * old;
    }
};

/// The sums of a block, always in the same order.
template <int N, class Context>
CONVOLUME_DEVICE void store_sums(const Context& context, double* target) {
    if (target == nullptr) return;
    context.sync();
    if (context.thread() >= 2) return;
    const auto* const of_threads =
        reinterpret_cast<const double*>(context.shared() + StageShape<N>::sums_at) +
        context.thread();
    double sum = 0;
    CONVOLUME_NO_UNROLL
    for (int i = 0; i < StageShape<N>::threads; ++i) sum += of_threads[2 * i];
    target[2 * context.block() + context.thread()] = sum;
}

/// The body of the kernel for rows of N complex samples.
template <int N, StageWork Work, class Context>
CONVOLUME_DEVICE void stage_pass(const Context& context, const StageJob& job) {
    using Shape = StageShape<N>;
    using Fft = Stages<float, Shape>;
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
    context.sync();
    const WholeLane<float, Context> lane{context, shared};
    const index_t count = job.rows.planes * job.rows.rows;

    for (index_t first = context.block() * Shape::rows; first < count;
         first += context.blocks() * Shape::rows) {
        const index_t index = first + row_in_group;
        const bool inside = index < count;
        const index_t plane = index / job.rows.rows;
        const Row<float> row{plane, index - plane * job.rows.rows, shared, N, thread, threads};
        const auto on_samples = [&](const auto& work) {
            if (!inside) return;
            const StageRow at(job.stage, plane, row.y);
            const auto then_sums = [&](auto samples) {
                work(samples);
                sums[0] += static_cast<double>(samples.sums.re);
                sums[1] += static_cast<double>(samples.sums.im);
            };
            if (at.in_pairs)
                then_sums(StageSamples<N, true>{job.stage, at, thread});
            else
                then_sums(StageSamples<N, false>{job.stage, at, thread});
        };
        typename Fft::Held v;
        const auto from_shared = [&] {
            Fft::template for_each<0>(
                thread, [&](int sample, int position) { v[sample] = shared[position]; });
        };
        const auto to_shared = [&] {
            context.sync();
            Fft::template for_each<last>(
                thread, [&](int sample, int position) { shared[position] = v[sample]; });
            context.sync();
        };

        if constexpr (Work == StageWork::load) {
            Fft::template for_each<0>(thread, [&](int sample, int) { v[sample] = {0, 0}; });
            on_samples([&](auto& samples) { samples.point(v); });
        } else {
            context.sync();
            if (inside) merge_row<N, threads>(context, job.rows, row, pair_twiddles);
            context.sync();
            from_shared();
            Fft::forward(lane, thread, v, twiddles);
        }
        if constexpr (Work == StageWork::compare) {
            on_samples([&](auto& samples) { samples.ratio(v, job.rows.scale); });
            to_shared();
            from_shared();
        }
        if constexpr (Work == StageWork::step) {
            on_samples([&](auto& samples) { samples.step(v, job.rows.scale, plane, row.y); });
        } else {
            Fft::forward(lane, thread, v, twiddles);
            to_shared();
            if (inside) split_row<N, threads>(job.rows, row, pair_twiddles);
        }
    }
    store_sums<N>(context, job.sums);
}

}  // namespace convolume::gpu
