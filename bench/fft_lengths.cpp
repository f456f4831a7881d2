// SPDX-License-Identifier: Apache-2.0
// Measures the table of core/fft_size.cpp on this machine, and prints it: time for each sample in a
// batch of 16 forward complex float transforms in cache, relative to length 1024.

#include <fftw3.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <limits>

#include "convolume/volume.hpp"
#include "core/fft_size.hpp"

namespace {

constexpr int batch = 16;
constexpr int longest = 1024;

double seconds_per_sample(int length, fftwf_complex* data) {
    const fftwf_plan plan = fftwf_plan_many_dft(1, &length, batch, data, nullptr, batch, 1, data,
                                                nullptr, batch, 1, FFTW_FORWARD, FFTW_MEASURE);
    const int repeats = std::max(1, 400000 / (length * batch));
    double best = std::numeric_limits<double>::infinity();
    for (int round = 0; round < 7; ++round) {
        const auto start = std::chrono::steady_clock::now();
        for (int i = 0; i < repeats; ++i) fftwf_execute(plan);
        best = std::min(
            best, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() /
                      repeats);
    }
    fftwf_destroy_plan(plan);
    return best / (static_cast<double>(length) * batch);
}

}  // namespace

int main() {
    convolume::Buffer data(longest * batch *
                           static_cast<convolume::index_t>(sizeof(fftwf_complex)));
    data.touch(1);
    auto* const samples = data.as<fftwf_complex>();
    const double unit = seconds_per_sample(longest, samples);
    std::printf("// length 1024: %.2f ns a sample\n", unit * 1e9);
    for (int length = 2; length <= longest; ++length)
        if (convolume::is_7_smooth(length))
            std::printf("{%d, %.2ff},\n", length, seconds_per_sample(length, samples) / unit);
}
