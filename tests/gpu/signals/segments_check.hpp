// SPDX-License-Identifier: Apache-2.0
#pragma once
// Runs the CUDA kernels over segments on the host, and compares with sums in double precision.
//
// Lengths differ in the number of radix stages, the radix of the second one, the segments of a
// thread block, and where spectra are kept. The tests of the four types of samples have each of
// these in one of them at least, as all instances would take the compiler a minute.

#include "convolume/cuda/detail/segment_kernel.hpp"
#include "gpu/fft/plan.hpp"
#include "tests/catch.hpp"
#include "tests/gpu/fft/fft_support.hpp"
#include "tests/gpu/signals/host_segment_block.hpp"
#include "tests/support/filter_oracle.hpp"

namespace convolume::gpu {

/// Derivative of real or complex samples: (y[1] - y[-1]) / 2.
struct Slope {
    static constexpr bool present = true;
    template <class Real>
    Real operator()(const Real* y) const {
        return (y[1] - y[-1]) / 2;
    }
    template <class Real>
    Complex<Real> operator()(const Complex<Real>* y) const {
        return Real(0.5) * (y[1] - y[-1]);
    }
};

struct SegmentCase {
    index_t taps = 1, filters = 1, signals = 1, samples = 1;
    SampleRange range;
    bool power = false;
    WindowPost window{};
    bool slope = false;
    int filters_per_block = 1;
};

template <class Real, int N, bool complex_data>
class SegmentsCheck {
  public:
    using Sample = std::conditional_t<complex_data, std::complex<Real>, Real>;
    using Shape = SegmentShape<Real, N, complex_data>;
    using Transform = SegmentTransform<Real, Shape>;

    static void run(const SegmentCase& c) {
        INFO("segments of " << N << (complex_data ? ", complex" : ", real") << ", " << c.filters
                            << " filters of " << c.taps << " taps, " << c.samples << " samples, ["
                            << c.range.begin << ", " << c.range.end << "), power " << c.power
                            << ", window " << to_string(c.window) << ", slope " << c.slope);
        const auto signal = random_samples<Sample>(c.signals * c.samples, 7);
        const auto taps = random_samples<Sample>(c.filters * c.taps, 8);
        const std::vector<Complex<Real>> twiddles = plan_twiddles<Real>(Shape::plan);

        auto spectra = poisoned<std::complex<Real>>(c.filters * N);
        SpectraJob<Real> filters;
        filters.taps = taps.data();
        filters.filters = static_cast<int>(c.filters);
        filters.taps_each = static_cast<int>(c.taps);
        filters.twiddles = twiddles.data();
        filters.spectra = reinterpret_cast<Complex<Real>*>(spectra.data());
        run_on_host(ceil_div(c.filters, Shape::segments), Shape::threads, Shape::shared_bytes,
                    [&](const HostBlock& block) {
                        transform_filters<Real, N, complex_data>(HostSegmentBlock(block), filters);
                    });

        const index_t results = c.window.stored(c.range.count());
        const index_t pitch = results + 3, halo = c.slope ? 1 : 0;
        const bool real_results = !complex_data || c.power;
        auto made = poisoned<std::complex<Real>>(c.signals * c.filters * pitch);
        std::vector<index_t> positions(made.size(), -7);
        SegmentJob<Real> job;
        job.source = signal.data();
        job.source_stride = c.samples;
        job.count = c.samples;
        job.twiddles = twiddles.data();
        job.spectra = reinterpret_cast<const Complex<Real>*>(spectra.data());
        job.target = made.data();
        job.positions = positions.data();
        job.filter_stride = pitch;
        job.signal_stride = pitch * c.filters;
        job.begin = c.range.begin;
        job.end = c.range.end;
        job.skip = static_cast<int>(c.taps - 1 + halo);
        job.useful = static_cast<int>(N - job.skip - halo);
        if (c.window.kind == WindowPost::Kind::peak)
            job.useful = static_cast<int>(job.useful / c.window.length * c.window.length);
        job.segments_per_signal = ceil_div(c.range.count(), job.useful);
        job.segments = c.signals * job.segments_per_signal;
        job.filters = static_cast<int>(c.filters);
        job.filters_per_block = c.filters_per_block;
        job.power = c.power;
        job.window = c.window.kind;
        job.window_length = c.window.length;
        const index_t per_block = Shape::segments * (complex_data ? 1 : 2);
        const index_t blocks =
            ceil_div(job.segments, per_block) * ceil_div(c.filters, c.filters_per_block);
        run_on_host(blocks, Shape::threads, Shape::shared_bytes, [&](const HostBlock& block) {
            const HostSegmentBlock context(block);
            if (c.slope)
                filter_segments<Real, N, complex_data>(context, job, Slope{});
            else
                filter_segments<Real, N, complex_data>(context, job, NoFunction{});
        });

        const auto row_of = [](const std::vector<Sample>& all, index_t row, index_t length) {
            testing::Row values;
            for (index_t i = 0; i < length; ++i)
                values.push_back(all[static_cast<std::size_t>(row * length + i)]);
            return values;
        };
        for (index_t s = 0; s < c.signals; ++s)
            for (index_t f = 0; f < c.filters; ++f) {
                const testing::Row x = row_of(signal, s, c.samples), h = row_of(taps, f, c.taps);
                const testing::Row y =
                    testing::filtered(h, x, {c.range.begin - 1, c.range.end + 1});
                testing::Row want, got;
                for (index_t i = 1; i + 1 < static_cast<index_t>(y.size()); ++i) {
                    const auto at = static_cast<std::size_t>(i);
                    if (c.slope)
                        want.push_back((y[at + 1] - y[at - 1]) / 2.0);
                    else
                        want.push_back(c.power ? std::norm(y[at]) : y[at]);
                }
                const index_t row = (s * c.filters + f) * pitch;
                const auto stored = [&](index_t i) -> std::complex<double> {
                    const auto at = static_cast<std::size_t>(row + i);
                    if (real_results) return reinterpret_cast<const Real*>(made.data())[at];
                    return std::complex<double>(made[at]);
                };
                if (c.window.kind != WindowPost::Kind::none) {
                    testing::Row all = std::move(want);
                    want.clear();
                    index_t w = 0;
                    for (const auto& window : testing::windows_of(c.window, c.range.count())) {
                        auto best = static_cast<std::size_t>(window.begin);
                        if (c.window.kind == WindowPost::Kind::peak) {
                            for (index_t i = window.begin; i < window.end; ++i)
                                if (all[static_cast<std::size_t>(i)].real() > all[best].real())
                                    best = static_cast<std::size_t>(i);
                            CHECK(positions[static_cast<std::size_t>(row + w)] ==
                                  c.range.begin + static_cast<index_t>(best));
                        }
                        want.push_back(all[best]);
                        ++w;
                    }
                }
                for (index_t i = 0; i < results; ++i) got.push_back(stored(i));
                double level = testing::level(h, x);
                if (c.power) level *= level;
                // A square has twice the relative error of its base. In double precision, the
                // reference sums have rounding errors, too.
                const double own = std::sqrt(static_cast<double>(c.taps)) * 0.25 *
                                   std::numeric_limits<double>::epsilon();
                const double bound = ((sizeof(Real) == 4 ? 5e-7 : 2e-15) + own) * (c.power ? 2 : 1);
                const double error = testing::relative_error(want, got, level);
                INFO("relative error " << error << ", bound " << bound);
                CHECK(error < bound);
                // The memory behind the results is still NaN.
                for (index_t i = results; i < pitch; ++i) CHECK(stored(i) != stored(i));
            }
    }

    /// Checks every post-processing, several filters and signals, and an odd number of segments.
    static void all() {
        SegmentCase c;
        c.taps = N / 5;
        c.filters = 3;
        c.signals = 2;
        c.samples = 2 * N + 13;
        c.range = {5, c.samples + c.taps - 1 - 2};
        c.filters_per_block = 2;
        run(c);
        c.filters_per_block = 3;
        c.power = true;
        run(c);
        for (const index_t length : {3, 70}) {
            for (const auto kind : {WindowPost::Kind::decimate, WindowPost::Kind::peak}) {
                c.window = {kind, length};
                run(c);
            }
        }
        c.window = {WindowPost::Kind::decimate, 2 * N};
        run(c);
        if constexpr (Shape::exchanges_whole || !complex_data) {
            c.power = false;
            c.window = {};
            c.slope = true;
            run(c);
        }
        run({1, 1, 1, 1, {0, 1}});
        run({N, 1, 1, 3, {0, N + 2}});
    }
};

}  // namespace convolume::gpu
