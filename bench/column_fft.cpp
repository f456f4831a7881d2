// SPDX-License-Identifier: Apache-2.0
// Times transforms of the columns of planes, by convolume and by FFTW with estimated and measured
// plans: nanoseconds a complex float sample, one thread, the best of several runs in turns.

#include "cpu/column_fft.hpp"

#include <fftw3.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <functional>
#include <limits>
#include <vector>

#include "convolume/volume.hpp"

using namespace convolume;
using cpu::ColumnFft;
using Complex = std::complex<float>;

namespace {

constexpr index_t columns = ColumnFft<float>::most_columns;
constexpr index_t samples_in_all = 12'000'000;

double measure_seconds(const std::function<void()>& work) {
    const auto start = std::chrono::steady_clock::now();
    work();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

fftwf_plan plan_columns(index_t length, index_t pitch, Complex* data, unsigned effort) {
    const fftwf_iodim64 size{length, pitch, pitch}, batch{columns, 1, 1};
    auto* const samples = reinterpret_cast<fftwf_complex*>(data);
    return fftwf_plan_guru64_dft(1, &size, 1, &batch, samples, samples, FFTW_FORWARD, effort);
}

void compare_with_fftw(index_t length, index_t pitch) {
    const index_t plane = length * pitch;
    const index_t planes = std::max<index_t>(samples_in_all / plane, 1);
    const auto bytes = [](index_t samples) { return samples * index_t{sizeof(Complex)}; };
    Buffer planes_memory(bytes(planes * plane));
    Buffer scratch(bytes(ColumnFft<float>::scratch_samples(length)));
    Buffer tile(bytes(length * columns));
    Complex* const data = planes_memory.as<Complex>();

    const ColumnFft<float> own(length);
    const std::vector<fftwf_plan> plans{plan_columns(length, pitch, data, FFTW_ESTIMATE),
                                        plan_columns(length, pitch, data, FFTW_MEASURE)};
    // Transforms of zeros are zeros, so that values do not grow in repeated runs.
    std::memset(planes_memory.data(), 0, static_cast<std::size_t>(bytes(planes * plane)));
    std::memset(tile.data(), 0, static_cast<std::size_t>(bytes(length * columns)));

    const auto for_each_batch = [&](const std::function<void(Complex*)>& work) {
        for (index_t z = 0; z < planes; ++z)
            for (index_t x = 0; x < pitch; x += columns) work(data + z * plane + x);
    };
    const auto transform = [&](Complex* at, index_t stride) {
        own.forward({at, stride, length}, {at, stride, 0, length}, columns, scratch.as<Complex>());
    };
    const index_t repeats = std::max<index_t>(samples_in_all / (length * columns), 1);
    const std::vector<std::function<void()>> contestants{
        [&] { for_each_batch([&](Complex* at) { transform(at, pitch); }); },
        [&] {
            for_each_batch([&](Complex* at) {
                auto* const samples = reinterpret_cast<fftwf_complex*>(at);
                fftwf_execute_dft(plans[0], samples, samples);
            });
        },
        [&] {
            for_each_batch([&](Complex* at) {
                auto* const samples = reinterpret_cast<fftwf_complex*>(at);
                fftwf_execute_dft(plans[1], samples, samples);
            });
        },
        [&] {
            for (index_t i = 0; i < repeats; ++i) transform(tile.as<Complex>(), columns);
        }};
    std::vector<double> best(contestants.size(), std::numeric_limits<double>::infinity());
    for (int round = 0; round < 5; ++round)
        for (std::size_t i = 0; i < contestants.size(); ++i)
            best[i] = std::min(best[i], measure_seconds(contestants[i]));
    const double in_planes = 1e9 / static_cast<double>(planes * plane);
    std::printf("| %ld | %ld | %.2f | %.2f | %.2f | %.2f |\n", static_cast<long>(length),
                static_cast<long>(pitch), best[0] * in_planes, best[1] * in_planes,
                best[2] * in_planes,
                best[3] * 1e9 / static_cast<double>(repeats * length * columns));
    for (const fftwf_plan plan : plans) fftwf_destroy_plan(plan);
}

}  // namespace

int main() {
    std::printf(
        "| length | row distance | convolume | FFTW, estimated | FFTW, measured | convolume, "
        "in cache |\n|---|---|---|---|---|---|\n");
    for (const index_t length : {128, 270, 512, 540, 1024, 1080})
        compare_with_fftw(length, round_up(length / 2 + 1, columns));
    for (const index_t length : {512, 540, 1024}) compare_with_fftw(length, 512);
}
