// SPDX-License-Identifier: Apache-2.0
// FFTW's planner is shared by the whole process. Callers may use it while the library does.

#include <fftw3.h>

#include <atomic>
#include <thread>
#include <vector>

#include "convolume/convolver.hpp"
#include "tests/catch.hpp"
#include "tests/interface/problems.hpp"

using namespace convolume;
using namespace convolume::testing;

namespace {

// Makes FFTW plans of many lengths in both precisions, as an independent part of a program would.
void plan_and_destroy(int first_length) {
    constexpr int longest = 4096;
    fftwf_complex* const singles = fftwf_alloc_complex(longest);
    fftw_complex* const doubles = fftw_alloc_complex(longest);
    for (int length = first_length; length < longest; length += 37) {
        const fftwf_plan single =
            fftwf_plan_dft_1d(length, singles, singles, FFTW_FORWARD, FFTW_ESTIMATE);
        const fftw_plan twice =
            fftw_plan_dft_1d(length, doubles, doubles, FFTW_FORWARD, FFTW_ESTIMATE);
        fftwf_destroy_plan(single);
        fftw_destroy_plan(twice);
    }
    fftwf_free(singles);
    fftw_free(doubles);
}

}  // namespace

TEST_CASE("callers may plan with FFTW while Convolvers are constructed") {
    const Volume kernel = random_volume({3, 4, 5}, 1);
    std::atomic<bool> stop{false};
    std::atomic<int> planned{0};
    {
        std::vector<std::jthread> callers;
        for (int t = 0; t < 2; ++t)
            callers.emplace_back([&, t] {
                for (int round = 0; round < 3 || !stop; ++round) plan_and_destroy(16 + t + round);
                ++planned;
            });
        std::vector<std::jthread> makers;
        for (int t = 0; t < 2; ++t)
            makers.emplace_back([&, t] {
                EngineChoice engines;
                engines.fft = FftLibrary::fftw;
                for (int i = 0; i < 40; ++i) {
                    Options options;
                    options.method = Method::in_core;
                    options.precision = i % 2 == 0 ? Precision::float32 : Precision::float64;
                    const Convolver convolver({8, 16 + i, 20 + t}, kernel.view(), options, engines);
                }
            });
        makers.clear();
        stop = true;
    }
    CHECK(planned == 2);
}
