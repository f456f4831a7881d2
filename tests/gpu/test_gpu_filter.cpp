// SPDX-License-Identifier: Apache-2.0
// Runs the conformance suite of all filter engines on the GPU's filter engine.

#include <cuda_runtime_api.h>

#include <atomic>

#include "convolume/error.hpp"
#include "engines/engines.hpp"
#include "gpu/backend.hpp"
#include "tests/gpu/device.hpp"
#include "tests/signals/bank_case.hpp"
#include "tests/support/filter_conformance.hpp"
#include "tests/support/filter_oracle.hpp"
#include "tests/support/random.hpp"

using namespace convolume;
using namespace convolume::testing;

namespace {

GpuOptions limited_to(std::optional<index_t> limit_bytes) {
    GpuOptions options;
    options.devices = {0};
    options.memory_limit_bytes = limit_bytes;
    return options;
}

FilterEngine& engine() {
    static const FilterEngineList engines = gpu::make_filter_engines(limited_to({}));
    return *engines.front();
}

std::vector<float> random_floats(index_t count, std::uint64_t seed) {
    Random random(seed);
    std::vector<float> values(static_cast<std::size_t>(count));
    for (float& value : values) value = static_cast<float>(random.uniform() - 0.5);
    return values;
}

}  // namespace

TEST_CASE("GPU filters: the engine passes the suite of all filter engines", "[gpu]") {
    NEEDS_GPU();
    check_filter_engine(engine(), 1, static_cast<int>(case_count(600)));
}

TEST_CASE("GPU filters: a small memory is worked through in many chunks", "[gpu]") {
    NEEDS_GPU();
    const FilterEngineList engines = gpu::make_filter_engines(limited_to(index_t{6} << 20));
    check_filter_engine(*engines.front(), 2, static_cast<int>(case_count(150)));
}

TEST_CASE("GPU filters: banks in host memory agree with the oracle", "[gpu]") {
    NEEDS_GPU();
    const std::uint64_t seed = test_seed("filter banks on a GPU");
    const FilterEngineList engines = gpu::make_filter_engines(limited_to({}));
    for (std::uint64_t number = 0; number < case_count(80); ++number) {
        Random random(seed, number);
        BankCase c =
            make_bank_case(random, random.integer(1, 5000),
                           {random.integer(1, 90), random.integer(1, 400)}, random.chance(0.4));
        c.options.precision = random.pick({Precision::float32, Precision::float64});
        c.options.mode = random.pick({Mode::full, Mode::same});
        c.options.post = random.pick({PointPost::none, PointPost::power, PointPost::derivative});
        if (random.chance(0.3))
            c.options.window = {WindowPost::Kind::decimate, random.integer(1, 300)};
        INFO("case " << number << ": " << c.describe());
        REQUIRE(run_in_memory(c, engines) == "");
    }
}

TEST_CASE("GPU filters: results do not depend on the segment", "[gpu]") {
    NEEDS_GPU();
    const index_t samples = 100000, taps = 100, filters = 3;
    const auto signal = random_floats(2 * samples, 3), bank = random_floats(2 * taps * filters, 4);
    for (const bool complex_data : {false, true}) {
        FilterSpec spec;
        spec.filters = filters;
        spec.taps = taps;
        spec.complex_data = complex_data;
        const SampleRange range{0, samples + taps - 1};
        std::vector<std::complex<double>> first;
        for (const index_t segment : {256, 512, 1024, 2048, 4096, 8192, 16384, 20000, 262144}) {
            spec.method = FilterMethod::overlap_save;
            spec.segment = segment;
            REQUIRE(engine().estimate(spec, 1, range.count()));
            const auto prepared = engine().prepare(spec, bank.data());
            const index_t width = complex_data ? 2 : 1;
            std::vector<float> made(static_cast<std::size_t>(filters * range.count() * width),
                                    std::nanf(""));
            FilterResult result;
            result.range = range;
            result.data = made.data();
            result.filter_stride = range.count();
            result.signal_stride = filters * range.count();
            engine().filter(spec, *prepared, {signal.data(), 1, samples, 0, samples}, result, {});
            Row row;
            for (const float value : made) row.emplace_back(value);
            if (first.empty()) first = row;
            INFO("segments of " << segment);
            CHECK(relative_error(first, row, 0) < 5e-7);
        }
    }
}

TEST_CASE("GPU filters: the peak of a long signal is found", "[gpu]") {
    NEEDS_GPU();
    const index_t samples = 5000000;
    auto signal = random_floats(samples, 5);
    signal[3141592] = 1000;
    const float taps[] = {0, 0, 1};  // a filter that delays by two samples
    FilterSpec spec;
    spec.taps = 3;
    spec.window = {WindowPost::Kind::peak, samples + 2};
    const auto cost = engine().estimate(spec, 1, samples + 2);
    REQUIRE(cost);
    spec.method = cost->method;
    spec.segment = cost->segment;
    const auto prepared = engine().prepare(spec, taps);
    float value = 0;
    index_t position = 0;
    FilterResult result;
    result.range = {0, samples + 2};
    result.data = &value;
    result.peak_positions = &position;
    result.filter_stride = result.signal_stride = 1;
    engine().filter(spec, *prepared, {signal.data(), 1, samples, 0, samples}, result, {});
    CHECK(position == 3141594);
    CHECK(std::abs(value - 1000) < 1e-2f);
}

TEST_CASE("GPU filters: failures of the device are errors, and the next call works", "[gpu]") {
    NEEDS_GPU();
    NEEDS_FAULT_INJECTION();
    const index_t samples = 300000;
    const auto signal = random_floats(samples, 6), bank = random_floats(50, 7);
    FilterSpec spec;
    spec.taps = 50;
    const auto cost = engine().estimate(spec, 1, samples);
    spec.method = cost->method;
    spec.segment = cost->segment;
    const auto prepared = engine().prepare(spec, bank.data());
    std::vector<float> made(static_cast<std::size_t>(samples));
    FilterResult result;
    result.range = {0, samples};
    result.data = made.data();
    result.filter_stride = result.signal_stride = samples;
    const SignalView view{signal.data(), 1, samples, 0, samples};
    for (const int countdown : {1, 2}) {
        gpu::inject_fault(gpu::InjectedFault::transfer, countdown);
        CHECK_THROWS_AS(engine().filter(spec, *prepared, view, result, {}), Error);
        gpu::inject_fault(gpu::InjectedFault::none, 0);
    }
    std::stop_source stop;
    stop.request_stop();
    ExecutionContext stopped;
    stopped.stop = stop.get_token();
    CHECK_THROWS_AS(engine().filter(spec, *prepared, view, result, stopped), Cancelled);
    engine().filter(spec, *prepared, view, result, {});
    Row got, taps, x;
    for (index_t i = 0; i < 1000; ++i) got.emplace_back(made[static_cast<std::size_t>(i)]);
    for (const float tap : bank) taps.emplace_back(tap);
    for (index_t i = 0; i < 1000; ++i) x.emplace_back(signal[static_cast<std::size_t>(i)]);
    CHECK(relative_error(filtered(taps, x, {0, 1000}), got, 0) < 5e-7);
}
