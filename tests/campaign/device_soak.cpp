// SPDX-License-Identifier: Apache-2.0
// device_soak COUNT [SECONDS]: plans, executes and destroys a convolver, a filter bank or a
// deconvolver on the GPU COUNT times, or until SECONDS are over. Fails if memory of the device or
// the host, or the number of open files, keeps growing.
// device_soak hold BYTES: allocates the device's memory except BYTES, prints "held", and keeps it
// until its standard input ends.
// Ends with 77 (skipped) if there is no GPU.

#include <cuda_runtime_api.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "convolume/convolver.hpp"
#include "convolume/deconvolver.hpp"
#include "convolume/filter_bank.hpp"

namespace {

using namespace convolume;

constexpr double allowed_device_mib = 4, allowed_host_mib = 64;
constexpr int allowed_files = 4;
constexpr int warm_up = 60;  // runs that fill pools, and load cuFFT and code at first use

Volume ramp(const Shape3& shape) {
    Volume volume(shape, PixelType::float32);
    float* const samples = volume.elements<float>();
    for (index_t i = 0; i < element_count(shape); ++i)
        samples[i] = static_cast<float>(i % 97) / 97 + 0.1F;
    return volume;
}

struct ResourceUse {
    double device_mib = 0, host_mib = 0;
    int files = 0;
};

ResourceUse use_now() {
    ResourceUse use;
    std::size_t free_bytes = 0, all_bytes = 0;
    if (cudaMemGetInfo(&free_bytes, &all_bytes) != cudaSuccess) std::abort();
    use.device_mib = static_cast<double>(all_bytes - free_bytes) / (1 << 20);
    std::ifstream status("/proc/self/status");
    for (std::string word; status >> word;)
        if (word == "VmRSS:") {
            status >> use.host_mib;
            use.host_mib /= 1024;
        }
    for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator("/proc/self/fd"))
        ++use.files;
    return use;
}

EngineChoice gpu() {
    EngineChoice choice;
    choice.device = EngineChoice::Device::gpu;
    return choice;
}

void convolve_once(int number) {
    // Sizes alternate: objects that are cached for one size must not leak when the other comes.
    const Shape3 shape{20 + number % 3, 40, 48 + number % 5};
    static const Volume kernel = ramp({5, 7, 9});
    Options options;
    options.mode = Mode::same;
    options.method = number % 2 == 0 ? Method::automatic : Method::dif;
    const Convolver convolver(shape, kernel.view(), options, gpu());
    const Volume image = ramp(shape);
    Volume result(convolver.output_shape(), PixelType::float32);
    convolver.execute(image.view(), result.view());
}

void filter_once(int number) {
    const SignalShape shape{3, 20000 + number % 7};
    static const Volume filters = ramp({1, 4, 63});
    const FilterBank bank(shape, {filters.view()}, {}, gpu());
    const Volume signals = ramp({1, shape.signals, shape.samples});
    Volume results({shape.signals, bank.filters(), bank.result_samples()}, bank.result_type());
    bank.execute(signals.view(), results.view());
}

void deconvolve_once(int number) {
    const Shape3 shape{16 + number % 3, 32, 40};
    static const Volume psf = ramp({5, 5, 5});
    DeconvolveOptions options;
    options.iterations = 2;
    const Deconvolver deconvolver(shape, psf.view(), options, gpu());
    const Volume image = ramp(shape);
    Volume result(shape, PixelType::float32);
    deconvolver.execute(image.view(), result.view());
}

int soak(int count, double seconds) {
    const auto start = std::chrono::steady_clock::now();
    ResourceUse first;
    int done = 0;
    double spent_s = 0;
    for (; done < count && spent_s < seconds; ++done) {
        if (done == warm_up) first = use_now();
        const int number = done / 3;
        done % 3 == 0 ? convolve_once(number)
                      : (done % 3 == 1 ? filter_once(number) : deconvolve_once(number));
        spent_s = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    }
    const ResourceUse last = use_now();
    std::printf(
        "%d of plan, execute, destroy in %.1f s: device memory grew by %.1f MiB, host memory by "
        "%.1f MiB, open files by %d\n",
        done, spent_s, last.device_mib - first.device_mib, last.host_mib - first.host_mib,
        last.files - first.files);
    if (done <= 2 * warm_up) {
        std::printf("FAILED: too few to tell\n");
        return 1;
    }
    const bool grows = last.device_mib - first.device_mib > allowed_device_mib ||
                       last.host_mib - first.host_mib > allowed_host_mib ||
                       last.files - first.files > allowed_files;
    if (grows) std::printf("FAILED: something is not given back\n");
    return grows ? 1 : 0;
}

int hold(std::size_t leave_bytes) {
    std::vector<void*> held;
    std::size_t free_bytes = 0, all_bytes = 0;
    while (cudaMemGetInfo(&free_bytes, &all_bytes) == cudaSuccess && free_bytes > leave_bytes) {
        void* memory = nullptr;
        const std::size_t piece = std::min(free_bytes - leave_bytes, std::size_t{1} << 30);
        if (piece < (std::size_t{2} << 20) || cudaMalloc(&memory, piece) != cudaSuccess) break;
        held.push_back(memory);
    }
    std::printf("held\n");
    std::fflush(stdout);
    while (std::getchar() != EOF) {
    }
    for (void* const memory : held) cudaFree(memory);
    return 0;
}

}  // namespace

int main(int argc, char** argv) {
    if (argc < 2) return 2;
    if (!gpu_unavailable().empty()) {
        std::printf("SKIPPED: %s\n", gpu_unavailable().c_str());
        return 77;
    }
    if (std::strcmp(argv[1], "hold") == 0)
        return argc == 3 ? hold(static_cast<std::size_t>(std::atoll(argv[2]))) : 2;
    return soak(std::atoi(argv[1]), argc > 2 ? std::atof(argv[2]) : 1e9);
}
