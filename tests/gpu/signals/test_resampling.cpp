// SPDX-License-Identifier: Apache-2.0
// Runs the CUDA kernels of resampling on the host.

#include <complex>

#include "gpu/signals/resample_kernel.hpp"
#include "tests/catch.hpp"
#include "tests/gpu/fft/fft_support.hpp"
#include "tests/gpu/signals/host_segment_block.hpp"

namespace convolume::gpu {

namespace {

template <class Real>
std::complex<double> value_of(Complex<Real> z) {
    return {z.re, z.im};
}
template <class Real>
std::complex<double> value_of(Real x) {
    return x;
}

// Returns result n by its definition: zeros are inserted, and every product is added.
template <class Sample, class Tap>
std::complex<double> defined_result(const ResampleSpec& spec, const std::vector<Tap>& taps,
                                    const Sample* signal, index_t samples, index_t n) {
    std::complex<double> sum = 0;
    for (index_t k = 0; k < spec.taps; ++k) {
        const index_t place = n * spec.options.down + spec.options.origin - k;
        if (place % spec.options.up != 0) continue;
        index_t i = place / spec.options.up;
        if (spec.options.extension == SignalExtension::edge)
            i = std::clamp<index_t>(i, 0, samples - 1);
        if (i >= 0 && i < samples)
            sum += value_of(taps[static_cast<std::size_t>(k)]) * value_of(signal[i]);
    }
    return sum;
}

template <class Sample, class Tap>
void run_block(const PhaseShape& shape, const HostSegmentBlock& block,
               const PhaseJob<Sample, Tap>& job) {
    if (!shape.has_tile) return sum_phases_without_tile(block, job);
    if (shape.rows == 4)
        return shape.is_padded ? sum_phases_of_tile<4, true, true>(block, job)
                               : sum_phases_of_tile<4, true, false>(block, job);
    if (shape.has_taps)
        return shape.is_padded ? sum_phases_of_tile<1, true, true>(block, job)
                               : sum_phases_of_tile<1, true, false>(block, job);
    return shape.is_padded ? sum_phases_of_tile<1, false, true>(block, job)
                           : sum_phases_of_tile<1, false, false>(block, job);
}

struct Case {
    index_t up, down, taps, samples;
    index_t shared_limit = 96 << 10;
    SignalExtension extension = SignalExtension::constant;
};

template <class Sample, class Tap, class HostSample, class HostTap>
void check_case(const Case& one) {
    using Real = real_of<HostSample>;
    INFO(one.up << '/' << one.down << ", " << one.taps << " taps, " << one.samples << " samples");
    constexpr index_t signals = 2;
    const auto signal = random_samples<HostSample>(signals * one.samples, 3);
    const auto given = random_samples<HostTap>(one.taps, 4);
    const auto* const source = reinterpret_cast<const Sample*>(signal.data());
    const std::vector<Tap> taps(reinterpret_cast<const Tap*>(given.data()),
                                reinterpret_cast<const Tap*>(given.data()) + one.taps);
    ResampleSpec spec;
    spec.options.up = one.up;
    spec.options.down = one.down;
    spec.options.origin = one.taps / 2;
    spec.options.extension = one.extension;
    spec.taps = one.taps;
    const index_t per_phase = spec.taps_per_phase(), cycle = spec.cycle();
    std::vector<Tap> table(static_cast<std::size_t>(per_phase * cycle));
    for (index_t j = 0; j < per_phase; ++j)
        for (index_t n = 0; n < cycle; ++n)
            if (const index_t tap = spec.phase(n) + j * one.up; tap < one.taps)
                table[static_cast<std::size_t>(j * cycle + n)] =
                    taps[static_cast<std::size_t>(tap)];

    const PhaseShape shape = phase_shape(spec, sizeof(Sample), sizeof(Tap), one.shared_limit);
    const index_t results = ceil_div(one.samples * one.up, one.down) + 2;
    auto made = poisoned<HostSample>(signals * results);
    PhaseJob<Sample, Tap> job;
    job.source = source;
    job.taps = table.data();
    job.target = reinterpret_cast<Sample*>(made.data());
    job.results = results;
    job.blocks_per_signal = ceil_div(results, shape.block_results());
    job.up = one.up;
    job.down = one.down;
    job.origin = spec.options.origin;
    job.tile_bytes = shape.tile_bytes;
    job.taps_per_phase = static_cast<int>(per_phase);
    job.cycle = static_cast<int>(cycle);
    job.samples_per_cycle = static_cast<int>(spec.samples_per_cycle());
    job.columns = shape.columns;
    job.signal = {one.extension, Sample{}, one.samples};
    run_on_host(signals * job.blocks_per_signal, PhaseShape::threads, shape.shared_bytes,
                [&](const HostBlock& block) { run_block(shape, HostSegmentBlock(block), job); });

    double worst = 0;
    for (index_t s = 0; s < signals; ++s)
        for (index_t n = 0; n < results; ++n) {
            const auto want = defined_result(spec, taps, source + s * one.samples, one.samples, n);
            const auto got = value_of(job.target[s * results + n]);
            if (!(std::abs(want - got) <= worst)) worst = std::abs(want - got);
        }
    CHECK(worst < (sizeof(Real) == 4 ? 1e-6 : 2e-15) * static_cast<double>(4 + per_phase));
}

template <class Real>
void check_types(const Case& one) {
    using HostComplex = std::complex<Real>;
    check_case<Real, Real, Real, Real>(one);
    check_case<Complex<Real>, Real, HostComplex, Real>(one);
    check_case<Complex<Real>, Complex<Real>, HostComplex, HostComplex>(one);
}

}  // namespace

TEST_CASE("resampling on a device agrees with its definition") {
    const Case one = GENERATE(Case{160, 147, 161, 1500}, Case{1, 2, 41, 3000}, Case{2, 1, 41, 700},
                              Case{3, 2, 7, 1}, Case{5, 7, 3, 50}, Case{4, 6, 90, 400},
                              Case{1, 100, 401, 9000}, Case{1, 1, 9, 600});
    check_types<float>(one);
    check_types<double>(one);
}

TEST_CASE("resampling on a device uses less shared memory if taps or samples are many") {
    // Taps in global memory, then samples too.
    check_types<float>({997, 1000, 997 * 4, 700, 4 << 10});
    check_types<float>({3, 500, 3001, 20000, 1 << 10});
    check_types<double>({7, 3, 700, 300, 1 << 10, SignalExtension::edge});
}

TEST_CASE("resampling on a device extends signals at both ends") {
    check_types<float>({3, 2, 31, 40, 96 << 10, SignalExtension::edge});
}

TEST_CASE("resampling on a device has a shape for every factor") {
    ResampleSpec spec;
    spec.options.up = 160;
    spec.options.down = 147;
    spec.taps = 3201;
    const PhaseShape shape = phase_shape(spec, 4, 4, 96 << 10);
    CHECK((shape.rows == 4 && shape.has_taps && shape.columns == 960));
    CHECK(shape.shared_bytes < 48 << 10);
    spec.options.up = 2147483647;
    spec.options.down = 2147483629;
    CHECK_FALSE(phase_shape(spec, 4, 4, 96 << 10).has_tile);
}

}  // namespace convolume::gpu
