// SPDX-License-Identifier: Apache-2.0
// Runs the CUDA kernel of direct filters on the host.

#include "gpu/signals/direct_kernel.hpp"
#include "tests/catch.hpp"
#include "tests/gpu/fft/fft_support.hpp"
#include "tests/gpu/signals/host_segment_block.hpp"
#include "tests/support/filter_oracle.hpp"

namespace convolume::gpu {

namespace {

template <class Sample>
struct HostType {
    using type = Sample;
};
template <class Real>
struct HostType<Complex<Real>> {
    using type = std::complex<Real>;
};

template <class Real, class Sample>
void check_sums(index_t taps, index_t filters, index_t samples, SampleRange range, bool power,
                index_t window) {
    using Shape = SumsShape<Sample>;
    using HostSample = typename HostType<Sample>::type;
    INFO(filters << " filters of " << taps << " taps, " << samples << " samples, window "
                 << window);
    constexpr index_t signals = 2;
    const auto signal = random_samples<HostSample>(signals * samples, 3);
    const auto given = random_samples<HostSample>(filters * taps, 4);
    const index_t padded = round_up(taps, Shape::results);
    std::vector<HostSample> ordered(
        static_cast<std::size_t>(ceil_div(filters, Shape::filters) * Shape::filters * padded));
    for (index_t f = 0; f < filters; ++f)
        for (index_t k = 0; k < taps; ++k)
            ordered[static_cast<std::size_t>((f / Shape::filters * padded + k) * Shape::filters +
                                             f % Shape::filters)] =
                given[static_cast<std::size_t>(f * taps + k)];

    const index_t results = ceil_div(range.count(), window), pitch = results + 2;
    auto made = poisoned<std::complex<Real>>(signals * filters * pitch);
    SumsJob<Real> job;
    job.source = signal.data();
    job.source_stride = samples;
    job.count = samples;
    job.taps = ordered.data();
    job.filters = static_cast<int>(filters);
    job.taps_padded = static_cast<int>(padded);
    job.target = made.data();
    job.filter_stride = pitch;
    job.signal_stride = pitch * filters;
    job.begin = range.begin;
    job.end = range.end;
    job.thread_blocks_per_signal = ceil_div(range.count(), Shape::block_results);
    job.power = power;
    job.window_length = window;
    run_on_host(signals * job.thread_blocks_per_signal, Shape::threads,
                Shape::shared_bytes(job.taps_padded), [&](const HostBlock& block) {
                    sum_filters_directly<Real, Sample>(HostSegmentBlock(block), job);
                });

    for (index_t s = 0; s < signals; ++s)
        for (index_t f = 0; f < filters; ++f) {
            testing::Row x, h, want, got;
            for (index_t i = 0; i < samples; ++i)
                x.push_back(signal[static_cast<std::size_t>(s * samples + i)]);
            for (index_t k = 0; k < taps; ++k)
                h.push_back(given[static_cast<std::size_t>(f * taps + k)]);
            const testing::Row y = testing::filtered(h, x, range);
            for (index_t i = 0; i < range.count(); i += window) {
                const auto value = y[static_cast<std::size_t>(i)];
                want.push_back(power ? std::norm(value) : value);
            }
            const bool real = power || !Shape::complex_data;
            for (index_t i = 0; i < results; ++i) {
                const auto at = static_cast<std::size_t>((s * filters + f) * pitch + i);
                got.push_back(
                    real ? std::complex<double>(reinterpret_cast<const Real*>(made.data())[at])
                         : std::complex<double>(made[at]));
            }
            double level = testing::level(h, x);
            if (power) level *= level;
            CHECK(testing::relative_error(want, got, level) < (sizeof(Real) == 4 ? 5e-7 : 2e-15));
        }
}

template <class Real, class Sample>
void check_all() {
    for (const index_t taps : {1, 2, 7, 8, 9, 40}) {
        check_sums<Real, Sample>(taps, 5, 1100, {0, 1100 + taps - 1}, false, 1);
    }
    check_sums<Real, Sample>(13, 4, 700, {3, 690}, true, 1);
    check_sums<Real, Sample>(13, 3, 1300, {3, 1290}, false, 7);
    check_sums<Real, Sample>(13, 1, 5, {0, 17}, true, 4);
}

}  // namespace

TEST_CASE("direct filters agree with sums in double precision") {
    check_all<float, float>();
    check_all<double, double>();
    check_all<float, Complex<float>>();
    check_all<double, Complex<double>>();
}

}  // namespace convolume::gpu
