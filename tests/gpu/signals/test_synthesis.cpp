// SPDX-License-Identifier: Apache-2.0
// Runs the CUDA kernels that put signals together on the host, and compares with direct sums in
// double precision.

#include "gpu/signals/synthesis_kernel.hpp"
#include "tests/catch.hpp"
#include "tests/gpu/fft/fft_support.hpp"
#include "tests/gpu/signals/host_segment_block.hpp"

namespace convolume::gpu {

namespace {

struct SynthesisCase {
    int channels, step, terms;
    index_t first, rows, begin, end;
};

std::size_t at(index_t i) {
    return static_cast<std::size_t>(i);
}

template <bool slides, class Real>
void check_samples(const SynthesisCase& c) {
    INFO(c.channels << " channels, step " << c.step << ", " << c.terms << " terms");
    constexpr index_t signals = 2;
    const auto rows =
        random_samples<std::complex<Real>>(signals * c.rows * c.channels, 3);
    const auto taps = random_samples<Real>(index_t{c.channels} * c.terms, 4);
    const SynthesisPattern pattern = synthesis_pattern<Real>(c.channels, c.step, c.terms);
    REQUIRE(pattern.slides == slides);
    auto got = poisoned<std::complex<Real>>(signals * c.end + 1);
    SynthesisJob<Real> job;
    job.rows = rows.data();
    job.row = c.channels;
    job.signal_rows = job.rows_end = c.rows;
    job.taps = taps.data();
    job.target = got.data();
    job.target_stride = c.end;
    job.begin = c.begin;
    job.end = c.end;
    job.blocks = pattern.blocks(c.end - c.begin);
    job.first = c.first;
    job.channels = c.channels;
    job.step = c.step;
    job.terms = c.terms;
    run_on_host(signals * job.blocks, SynthesisPattern::threads, 16, [&](const HostBlock& block) {
        join_frames<slides, true, Real>(HostSegmentBlock(block), job);
    });
    for (index_t s = 0; s < signals; ++s) {
        Difference difference;
        for (index_t t = c.begin; t < c.end; ++t) {
            std::complex<double> want = 0;
            for (index_t n = 0; n < c.rows; ++n) {
                const index_t l = c.first + n * c.step - t;
                if (l >= 0 && l < static_cast<index_t>(taps.size()))
                    want += static_cast<double>(taps[at(l)]) *
                            std::complex<double>(
                                rows[at((s * c.rows + n) * c.channels + t % c.channels)]);
            }
            difference.add(std::complex<double>(got[at(s * c.end + t)]), want);
        }
        CHECK(difference.relative() < (sizeof(Real) == 4 ? 1e-6 : 1e-14));
    }
    CHECK(got[at(signals * c.end)] != got[at(signals * c.end)]);
}

}  // namespace

TEST_CASE("a CUDA kernel puts samples of one phase together") {
    check_samples<true, float>({64, 64, 5, 3, 60, 0, 3700});
    check_samples<true, float>({64, 48, 16, 0, 90, 128, 5000});
    check_samples<true, double>({32, 16, 4, 31, 100, 0, 1500});
    check_samples<true, double>({1, 1, 7, 0, 300, 0, 310});
}
TEST_CASE("a CUDA kernel puts samples of several phases together") {
    check_samples<false, float>({50, 37, 3, 12, 80, 5, 3000});
    check_samples<false, double>({7, 5, 2, 0, 200, 0, 1010});
}

}  // namespace convolume::gpu
