// SPDX-License-Identifier: Apache-2.0
#include <chrono>
#include <thread>
#include <vector>

#include "convolume/error.hpp"
#include "convolume/execution.hpp"
#include "cpu/fftw.hpp"
#include "tests/catch.hpp"

using namespace convolume;
using namespace convolume::cpu;
using Clock = std::chrono::steady_clock;

TEMPLATE_TEST_CASE("a stop ends FFTW's measurements", "", float, double) {
    if (!has_fftw()) SKIP("this build has no FFTW");
    // FFTW measures this distance for seconds: it is unusual, so no stored wisdom has it.
    constexpr index_t length = 98304, count = 16, distance = length + 34;
    std::vector<TestType> rows(count * distance);
    std::vector<std::complex<TestType>> spectra(count * distance);
    const TransformBatch transforms{length, count, 1, distance, 1, distance};
    std::stop_source source;
    const StopScope scope(source.get_token());
    Clock::time_point asked;
    const std::jthread stopper([&] {
        std::this_thread::sleep_for(std::chrono::milliseconds(200));
        asked = Clock::now();
        source.request_stop();
    });
    CHECK_THROWS_AS(FftPlan<TestType>(transforms, TransformKind::real_forward, rows.data(),
                                      spectra.data(), {FftLibrary::fftw, PlanningEffort::measured}),
                    Cancelled);
    const std::chrono::duration<double> took = Clock::now() - asked;
    INFO("it went on for " << took.count() << " s");
    CHECK(took.count() < 1);
}

TEST_CASE("planning does not begin in a stopped scope") {
    std::stop_source source;
    const StopScope scope(source.get_token());
    source.request_stop();
    std::vector<float> row(66);
    std::vector<std::complex<float>> spectrum(34);
    for (const FftLibrary library : {FftLibrary::own, FftLibrary::fftw})
        if (library == FftLibrary::own || has_fftw())
            CHECK_THROWS_AS(FftPlan<float>({64, 1, 1, 66, 1, 34}, TransformKind::real_forward,
                                           row.data(), spectrum.data(), {library}),
                            Cancelled);
}
