// SPDX-License-Identifier: Apache-2.0
// Runs functions of the caller inside the CUDA kernels of filters, and in device memory.

#include <cmath>
#include <vector>

#include "convolume/cuda/device_sample_function.cuh"
#include "gpu/backend.hpp"
#include "tests/gpu/device.hpp"
#include "tests/support/filter_oracle.hpp"
#include "tests/support/random.hpp"

using namespace convolume;
using namespace convolume::testing;

namespace {

struct Slope {
    __host__ __device__ float operator()(const float* y) const { return (y[1] - y[-1]) / 2; }
};
/// A function of complex samples with a real result, which reads ahead.
struct ReadAhead {
    __host__ __device__ float operator()(const gpu::Complex<float>* y) const {
        return y[2].re - y[0].im;
    }
};

}  // namespace

TEST_CASE("GPU filters: a caller's function of real data is applied", "[gpu]") {
    NEEDS_GPU();
    Random random(1);
    const index_t samples = 50000, filters = 2;
    for (const index_t taps : {1, 33, 900, 5000}) {
        std::vector<float> signal(static_cast<std::size_t>(samples)),
            bank(static_cast<std::size_t>(filters * taps));
        for (auto* values : {&signal, &bank})
            for (float& value : *values) value = static_cast<float>(random.uniform() - 0.5);
        FilterSpec spec;
        spec.filters = filters;
        spec.taps = taps;
        spec.function = device_sample_function<float>(Slope{}, 1, 1);
        const auto engines = gpu::make_filter_engines();
        const SampleRange range{3, samples + taps - 2};
        const auto cost = engines[0]->estimate(spec, 1, range.count());
        REQUIRE(cost);
        spec.method = cost->method;
        spec.segment = cost->segment;
        INFO(taps << " taps, " << cost->description);
        const auto prepared = engines[0]->prepare(spec, bank.data());
        std::vector<float> made(static_cast<std::size_t>(filters * range.count()), NAN);
        FilterResult result;
        result.range = range;
        result.data = made.data();
        result.filter_stride = range.count();
        result.signal_stride = filters * range.count();
        engines[0]->filter(spec, *prepared, {signal.data(), 1, samples, 0, samples}, result, {});

        for (index_t f = 0; f < filters; ++f) {
            Row taps_of, x, want, got;
            for (index_t k = 0; k < taps; ++k)
                taps_of.emplace_back(bank[static_cast<std::size_t>(f * taps + k)]);
            for (const float value : signal) x.emplace_back(value);
            for (index_t n = range.begin; n < range.end; n += 97) {
                want.push_back(
                    (filtered_sample(taps_of, x, n + 1) - filtered_sample(taps_of, x, n - 1)) /
                    2.0);
                got.emplace_back(
                    made[static_cast<std::size_t>(f * range.count() + n - range.begin)]);
            }
            CHECK(relative_error(want, got, 0) < 5e-7);
        }
    }
}

TEST_CASE("GPU filters: a caller's function of complex data is applied in device memory", "[gpu]") {
    NEEDS_GPU();
    Random random(2);
    const index_t samples = 20000, taps = 65;
    std::vector<gpu::Complex<float>> signal(samples), bank(taps);
    for (auto* values : {&signal, &bank})
        for (auto& value : *values)
            value = {static_cast<float>(random.uniform() - 0.5),
                     static_cast<float>(random.uniform() - 0.5)};
    FilterSpec spec;
    spec.taps = taps;
    spec.complex_data = true;
    spec.function = device_sample_function<gpu::Complex<float>>(ReadAhead{}, 0, 2);
    const SampleRange range{0, samples};
    const auto program = gpu::make_device_filter_program(0, spec, bank.data(), 1, samples);
    gpu::Complex<float>* source = nullptr;
    float* target = nullptr;
    REQUIRE(cudaMalloc(&source, samples * sizeof(*source)) == cudaSuccess);
    REQUIRE(cudaMalloc(&target, samples * sizeof(*target)) == cudaSuccess);
    copy_to_device(source, signal.data(), samples * static_cast<index_t>(sizeof(*source)));
    std::vector<float> made(samples);
    for (int run = 0; run < 2; ++run) {
        REQUIRE(cudaMemset(target, 0xff, samples * sizeof(*target)) == cudaSuccess);
        FilterResult result;
        result.range = range;
        result.data = target;
        result.filter_stride = result.signal_stride = samples;
        program->run({source, 1, samples, 0, samples}, result, nullptr);
        REQUIRE(cudaMemcpy(made.data(), target, samples * sizeof(*target),
                           cudaMemcpyDeviceToHost) == cudaSuccess);
        Row taps_of, x, want, got;
        for (const auto& tap : bank) taps_of.emplace_back(tap.re, tap.im);
        for (const auto& value : signal) x.emplace_back(value.re, value.im);
        for (index_t n = 0; n < samples; n += 7) {
            want.emplace_back(filtered_sample(taps_of, x, n + 2).real() -
                              filtered_sample(taps_of, x, n).imag());
            got.emplace_back(made[static_cast<std::size_t>(n)]);
        }
        CHECK(relative_error(want, got, 0) < 5e-7);
    }
    CHECK(cudaFree(source) == cudaSuccess);
    CHECK(cudaFree(target) == cudaSuccess);
}
