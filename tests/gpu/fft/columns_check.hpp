// SPDX-License-Identifier: Apache-2.0
#pragma once
// Runs the passes over columns on the host, and compares with reference transforms.

#include <string>

#include "gpu/fft/column_kernel.hpp"
#include "gpu/fft/plan.hpp"
#include "gpu/fft/taps_kernel.hpp"
#include "gpu/fft/varying_kernel.hpp"
#include "tests/catch.hpp"
#include "tests/gpu/fft/fft_support.hpp"
#include "tests/gpu/fft/host_block.hpp"

namespace convolume::gpu {

template <class Real, int N>
struct ColumnsCheck {
    using Sample = std::complex<Real>;
    using Shape = PlainColumnShape<Real, N>;

    template <class ThisShape>
    static void run(ColumnJob<Real> job, bool prefetches) {
        const auto twiddles = plan_twiddles<Real>(ThisShape::plan);
        job.twiddles = twiddles.data();
        job.prefetches = prefetches;
        // There are fewer thread blocks than tiles, so the first thread block takes several tiles.
        index_t bytes = ThisShape::fixed_bytes;
        if (job.prefetches) bytes += ThisShape::prefetch_bytes;
        if (job.prefetches_taps) bytes += ThisShape::prefetch_bytes / N * job.taps;
        run_on_host(2, ThisShape::threads, bytes, [&](const HostBlock& block) {
            if constexpr (transforms_kernels<Real>) {
                if (job.taps > 0) return taps_pass<ThisShape>(block, job);
            }
            column_pass<ThisShape>(block, job);
        });
    }

    static index_t slot(const PositionMap& map, index_t position) {
        const index_t i = ((position - map.begin) % N + N) % N;
        return i < map.count ? (map.first + i) % map.ring : -1;
    }

    /// Number of columns: several tiles, the last of which a wider thread block has only in part.
    static constexpr index_t columns = [] {
        index_t most = Shape::columns;
        if constexpr (transforms_kernels<Real>)
            most = std::max<index_t>(most, TapsColumnShape<N>::columns);
        return round_up(2 * most, tile_columns<Real>) + tile_columns<Real>;
    }();
    static constexpr index_t pitch = columns + 16;

    static Signal column_of(const std::vector<Sample>& data, index_t offset,
                            const PositionMap& map) {
        Signal signal(N);
        for (index_t p = 0; p < N; ++p) {
            const index_t s = slot(map, p);
            if (s >= 0)
                signal[static_cast<std::size_t>(p)] =
                    Signal::value_type(data[static_cast<std::size_t>(s * pitch + offset)]);
        }
        return signal;
    }

    /// Adds the difference of one stored column from `wanted`, at the positions that `map` stores.
    static void compare(const std::vector<Sample>& data, index_t offset, const PositionMap& map,
                        const Signal& wanted, Difference& difference) {
        for (index_t p = 0; p < N; ++p) {
            const index_t s = slot(map, p);
            if (s < 0) continue;
            difference.add(std::complex<double>(data[static_cast<std::size_t>(s * pitch + offset)]),
                           wanted[static_cast<std::size_t>(p)]);
        }
    }

    static void transform(PassDirection direction, const PositionMap& load,
                          const PositionMap& store, bool prefetches) {
        const index_t batches = 2, source_size = load.ring * pitch,
                      target_size = store.ring * pitch;
        auto source = random_samples<Sample>(batches * source_size, N);
        // Slots that the pass must not load hold NaN.
        for (index_t s = 0; s < load.ring; ++s) {
            bool used = false;
            for (index_t p = 0; p < N; ++p) used = used || slot(load, p) == s;
            for (index_t i = 0; !used && i < batches * pitch; ++i) {
                source[static_cast<std::size_t>(i / pitch * source_size + s * pitch + i % pitch)] =
                    Sample(std::numeric_limits<Real>::quiet_NaN());
            }
        }
        auto target = poisoned<Sample>(batches * target_size);
        run<Shape>(
            column_transform_job(
                N, direction, Columns<Real>{source.data(), pitch, columns, batches, source_size},
                load, Columns<Real>{target.data(), pitch, columns, batches, target_size}, store),
            prefetches);
        Difference difference;
        for (index_t batch = 0; batch < batches; ++batch) {
            for (index_t c = 0; c < columns; ++c) {
                const auto signal = column_of(source, batch * source_size + c, load);
                compare(
                    target, batch * target_size + c, store,
                    reference_transform(
                        signal, direction == PassDirection::forward ? forward_sign : inverse_sign),
                    difference);
            }
        }
        INFO("columns of " << N << ", prefetches " << prefetches);
        CHECK(difference.relative() < tolerance<Real>(N));
        index_t untouched = 0;
        for (const Sample& sample : target) untouched += std::isnan(sample.real());
        CHECK(untouched == batches * (target_size - store.count * columns));
    }

    static void convolve(const PositionMap& load, const PositionMap& store, bool prefetches,
                         bool conjugate_kernel = false) {
        REQUIRE(load.ring == store.ring);
        constexpr index_t batches = 2;
        const index_t data_size = load.ring * pitch, kernel_size = N * pitch;
        // Batches have kernels of their own, or share one.
        const index_t kernel_stride = conjugate_kernel ? 0 : kernel_size;
        auto data = random_samples<Sample>(batches * data_size, N);
        auto kernel = random_samples<Sample>(batches * kernel_size, N + 1);
        const auto before = data;
        run<Shape>(
            convolve_job(
                N, Columns<Real>{data.data(), pitch, columns, batches, data_size}, load, store,
                {{kernel.data(), pitch, columns, batches, kernel_stride}, 0, conjugate_kernel}),
            prefetches);
        Difference difference;
        for (index_t batch = 0; batch < batches; ++batch) {
            for (index_t c = 0; c < columns; ++c) {
                const index_t first = batch * data_size + c;
                auto signal = reference_transform(column_of(before, first, load), forward_sign);
                for (index_t k = 0; k < N; ++k) {
                    const std::complex<double> factor(
                        kernel[static_cast<std::size_t>(batch * kernel_stride + k * pitch + c)]);
                    signal[static_cast<std::size_t>(k)] *=
                        conjugate_kernel ? std::conj(factor) : factor;
                }
                compare(data, first, store, reference_transform(signal, inverse_sign), difference);
            }
        }
        INFO("columns of " << N << ", prefetches " << prefetches);
        CHECK(difference.relative() < 2 * tolerance<Real>(N));
        // Slots that the pass does not store keep their values.
        for (index_t s = 0; s < store.ring; ++s) {
            bool stored = false;
            for (index_t p = 0; p < N; ++p) stored = stored || slot(store, p) == s;
            if (!stored) {
                const auto at = static_cast<std::size_t>(s * pitch);
                CHECK(data[at] == before[at]);
            }
        }
    }

    /// Convolves with a kernel of random taps, in thread blocks of a shape.
    template <class ThisShape>
    static void convolve_taps(const PositionMap& load, const PositionMap& store, index_t taps,
                              bool prefetches, bool taps_staged, bool conjugate_kernel) {
        constexpr index_t batches = 2;
        const index_t data_size = load.ring * pitch, kernel_size = taps * pitch;
        auto data = random_samples<Sample>(batches * data_size, N);
        auto kernel = random_samples<Sample>(batches * kernel_size, N + 1);
        const auto before = data;
        auto job = convolve_job(
            N, Columns<Real>{data.data(), pitch, columns, batches, data_size}, load, store,
            {{kernel.data(), pitch, columns, batches, kernel_size}, taps, conjugate_kernel});
        job.prefetches_taps = taps_staged;
        run<ThisShape>(job, prefetches);
        Difference difference;
        for (index_t batch = 0; batch < batches; ++batch) {
            for (index_t c = 0; c < columns; ++c) {
                const index_t first = batch * data_size + c;
                auto signal = reference_transform(column_of(before, first, load), forward_sign);
                const auto factors = reference_transform(
                    column_of(kernel, batch * kernel_size + c, {0, taps, 0, taps}), forward_sign);
                for (std::size_t k = 0; k < signal.size(); ++k)
                    signal[k] *= conjugate_kernel ? std::conj(factors[k]) : factors[k];
                compare(data, first, store, reference_transform(signal, inverse_sign), difference);
            }
        }
        INFO("columns of " << N << ", taps " << taps << ", prefetches " << prefetches << taps_staged
                           << ", spectrum_in_shared_memory "
                           << ThisShape::spectrum_in_shared_memory);
        CHECK(difference.relative() < 2 * tolerance<Real>(N));
    }

    /// Convolves with three kernels of random weights, or projects back.
    static void convolve_varying(const PositionMap& load, const PositionMap& store, bool adjoint) {
        if constexpr (transforms_kernels<Real>) {
            constexpr index_t kernels = 3;
            auto data = random_samples<Sample>(load.ring * pitch, N);
            auto kernel = random_samples<Sample>(kernels * N * pitch, N + 1);
            const auto before = data;
            const index_t planes = (adjoint ? store : load).count;
            std::vector<float> weights;
            for (const Sample& sample : random_samples<Sample>(kernels * planes, N + 2))
                weights.push_back(sample.real() > 0 ? sample.real() : 0);
            auto job = varying_convolve_job(N, Columns<Real>{data.data(), pitch, columns, 1, 0},
                                            load, store,
                                            {{kernel.data(), pitch, columns, 1, 0},
                                             kernels,
                                             N * pitch,
                                             weights.data(),
                                             planes,
                                             adjoint});
            const auto twiddles = plan_twiddles<Real>(Shape::plan);
            job.columns.twiddles = twiddles.data();
            run_on_host(2, Shape::threads, Shape::fixed_bytes,
                        [&](const HostBlock& block) { varying_column_pass<Shape>(block, job); });
            const auto weigh = [&](Signal& signal, index_t k, const PositionMap& map) {
                for (index_t i = 0; i < map.count; ++i)
                    signal[static_cast<std::size_t>(((map.begin + i) % N + N) % N)] *=
                        weights[static_cast<std::size_t>(k * planes + i)];
            };
            Difference difference;
            for (index_t c = 0; c < columns; ++c) {
                Signal sum(N);
                for (index_t k = 0; k < kernels; ++k) {
                    auto signal = column_of(before, c, load);
                    if (!adjoint) weigh(signal, k, load);
                    signal = reference_transform(signal, forward_sign);
                    for (index_t f = 0; f < N; ++f) {
                        const std::complex<double> factor(
                            kernel[static_cast<std::size_t>((k * N + f) * pitch + c)]);
                        signal[static_cast<std::size_t>(f)] *= adjoint ? std::conj(factor) : factor;
                    }
                    signal = reference_transform(signal, inverse_sign);
                    if (adjoint) weigh(signal, k, store);
                    for (std::size_t p = 0; p < sum.size(); ++p) sum[p] += signal[p];
                }
                compare(data, c, store, sum, difference);
            }
            INFO("columns of " << N << ", varying kernels, adjoint " << adjoint);
            CHECK(difference.relative() < 3 * tolerance<Real>(N));
        }
    }

    static void all() {
        const PositionMap whole{0, N, 0, N};
        // Some positions, starting at the end of the transform, in a ring buffer that wraps around.
        const index_t some = (N + 1) / 2;
        const PositionMap ring{N - some / 2, some, some, some + 1};
        const PositionMap early{0, some, 0, some + 1};
        transform(PassDirection::forward, whole, whole, true);
        transform(PassDirection::inverse, whole, ring, false);
        transform(PassDirection::forward, ring, whole, false);
        transform(PassDirection::inverse, early, ring, true);
        convolve(whole, whole, true);
        convolve(early, ring, true);
        convolve(ring, early, false);
        convolve(early, ring, true, true);
        convolve(ring, early, false, true);
        if constexpr (transforms_kernels<Real>) {
            using Taps = TapsColumnShape<N>;
            convolve_taps<Taps>(early, ring, (N + 2) / 3, true, true, false);
            convolve_taps<Taps>(ring, early, 1, true, false, true);
            convolve_taps<Taps>(whole, whole, N, Taps::spectrum_in_shared_memory, false, true);
            convolve_taps<Shape>(early, ring, (N + 2) / 3, true, true, true);
            convolve_taps<Shape>(whole, whole, N, false, false, false);
        }
        convolve_varying(early, ring, false);
        convolve_varying(ring, early, true);
        convolve_varying(whole, whole, true);
    }
};

/// Returns a number that measured plans share if their CUDA kernels differ in radices alone: in no
/// code that tests/gpu/fft/test_codelets.cpp does not test.
constexpr int kind_of_taps_plan(const MeasuredTapsPlan& measured) {
    const bool has_three_stages = measured.radix[2] > 1;
    int kind = 2 * has_three_stages + measured.spectrum_in_shared_memory;
    for (const int radix : measured.radix)  // threads may have equally many butterflies, or not
        kind = 2 * kind + (radix > 1 && measured.n / radix % measured.threads != 0);
    return kind;
}

/// Returns whether no plan before the i-th is of its kind.
constexpr bool is_first_of_kind(std::size_t i) {
    for (std::size_t k = 0; k < i; ++k)
        if (kind_of_taps_plan(measured_taps_plans[k]) == kind_of_taps_plan(measured_taps_plans[i]))
            return false;
    return true;
}

/// Checks the numbers of every measured plan, and convolves with taps in thread blocks of the first
/// of each kind. The others would take the compiler half a minute.
template <std::size_t... I>
void check_measured_taps_plans(std::index_sequence<I...>) {
    const auto check = [](auto index) {
        constexpr int N = measured_taps_plans[index].n;
        using Shape = TapsColumnShape<N>;
        static_assert(Shape::plan.radix[0] * Shape::plan.radix[1] * Shape::plan.radix[2] == N);
        static_assert(Shape::plan.elements * Shape::plan.threads >= N);
        static_assert(Shape::threads <= 1024 && Shape::threads % 32 == 0);
        if constexpr (is_first_of_kind(index))
            ColumnsCheck<float, N>::template convolve_taps<Shape>(
                {0, N / 2, 0, N}, {N / 8, N / 2, 0, N}, N / 8 + 1, true, true, false);
    };
    (check(std::integral_constant<std::size_t, I>{}), ...);
}

template <class Real, int... N>
void check_columns() {
    (ColumnsCheck<Real, N>::all(), ...);
}

}  // namespace convolume::gpu
