// SPDX-License-Identifier: Apache-2.0
#include "convolume/cuda/detail/codelets.hpp"
#include "gpu/fft/plan.hpp"
#include "tests/catch.hpp"
#include "tests/gpu/fft/fft_support.hpp"

namespace convolume::gpu {

namespace {

template <int N>
void check_codelet() {
    const auto samples = random_samples<std::complex<double>>(N, N);
    Samples<double, N> v;
    for (int i = 0; i < N; ++i) {
        const auto& sample = samples[static_cast<std::size_t>(i)];
        v[i] = {sample.real(), sample.imag()};
    }
    dft<N>(&v[0]);
    const Signal wanted = reference_transform(samples, forward_sign);
    Difference difference;
    for (int i = 0; i < N; ++i) {
        difference.add({v[i].re, v[i].im}, wanted[static_cast<std::size_t>(i)]);
    }
    INFO("transform of " << N);
    CHECK(difference.relative() < tolerance<double>(N));
}

template <int... I>
void check_codelets(std::integer_sequence<int, I...>) {
    (check_codelet<I + 1>(), ...);
}

}  // namespace

TEST_CASE("roots of unity are accurate") {
    double worst = 0;
    for (int n = 1; n <= 400; ++n) {
        for (int k = 0; k < n; ++k) {
            const long double angle = -2 * 3.14159265358979323846264338328L * k / n;
            const Complex<double> w = root(k, n);
            worst = std::max(worst, std::abs(static_cast<double>(w.re - std::cos(angle))));
            worst = std::max(worst, std::abs(static_cast<double>(w.im - std::sin(angle))));
        }
    }
    CHECK(worst < 1.2e-16);
    STATIC_REQUIRE(root(1, 4).im == -1);
    STATIC_REQUIRE(root(1, 2).re == -1);
}

TEST_CASE("transforms in registers agree with reference transforms") {
    check_codelets(std::make_integer_sequence<int, 36>{});
}

TEST_CASE("the stages of an FFT plan multiply to its length, and fit a thread block") {
    const PlanLimits limits{.single = 16,
                            .two_stage_elements = 32,
                            .three_stage_elements = 24,
                            .min_threads = 1,
                            .max_threads = 100};
    for (int n = 1; n < 1500; ++n) {
        const TransformPlan plan = make_plan(n, limits);
        if (plan.stages == 0) continue;
        INFO(n);
        CHECK(plan.radix[0] * plan.radix[1] * plan.radix[2] == n);
        CHECK(plan.threads <= limits.max_threads);
        for (int s = 0; s < plan.stages; ++s) {
            CHECK(plan.butterflies_per_thread(s) * plan.radix[s] <= plan.elements);
        }
    }
    CHECK(make_plan(17, limits).stages == 0);
    CHECK(make_plan(16, limits).stages == 1);
    CHECK(make_plan(512, limits).stages == 2);
}

}  // namespace convolume::gpu
