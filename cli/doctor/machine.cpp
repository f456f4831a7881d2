// SPDX-License-Identifier: Apache-2.0
#include "cli/doctor/machine.hpp"

#include <fftw3.h>
#include <hwy/targets.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <limits>
#include <sstream>
#include <thread>
#include <vector>

#include "convolume/engines.hpp"
#include "convolume/volume.hpp"

namespace convolume::cli {

namespace {

std::string simd_targets() {
    std::string names;
    for (auto targets = hwy::SupportedTargets(); targets != 0; targets &= targets - 1) {
        if (!names.empty()) names += ' ';
        names += hwy::TargetName(targets & ~(targets - 1));
    }
    return names;
}

Feature cuda() {
    const std::string why_not = gpu_unavailable();
    return {"CUDA", why_not.empty() ? "yes" : why_not, why_not.empty()};
}

}  // namespace

std::vector<Feature> built_features() {
    return {
        {"TIFF", CONVOLUME_HAVE_TIFF ? "yes" : "no; install libtiff-dev and build again",
         CONVOLUME_HAVE_TIFF},
        {"HDF5", CONVOLUME_HAVE_HDF5 ? "yes" : "no; install libhdf5-dev and build again",
         CONVOLUME_HAVE_HDF5},
        {"WAV", CONVOLUME_HAVE_SNDFILE ? "yes" : "no; install libsndfile1-dev and build again",
         CONVOLUME_HAVE_SNDFILE},
        {"NPY", "yes", true},
        {"FFT", std::string(fftwf_version), true},
        {"SIMD", simd_targets(), true},
        cuda(),
    };
}

int processor_count() {
    return static_cast<int>(std::thread::hardware_concurrency());
}

index_t total_memory_bytes() {
    std::ifstream file("/proc/meminfo");
    std::string key;
    index_t kib = 0;
    if (file >> key >> kib && key == "MemTotal:") return kib * 1024;
    return 0;
}

std::string cache_folder() {
    if (const char* cache = std::getenv("XDG_CACHE_HOME"); cache && *cache)
        return std::string(cache) + "/convolume";
    if (const char* home = std::getenv("HOME"); home && *home)
        return std::string(home) + "/.cache/convolume";
    return {};
}

double measure_copy_bandwidth(index_t buffer_bytes, int threads) {
    Buffer source(buffer_bytes, "the bandwidth measurement");
    Buffer target(buffer_bytes, "the bandwidth measurement");
    source.touch(threads);
    target.touch(threads);
    double best_s = std::numeric_limits<double>::infinity();
    for (int run = 0; run < 5; ++run) {
        const auto begin = std::chrono::steady_clock::now();
        const auto copy = [&](int part) {
            const index_t share = ceil_div(buffer_bytes, threads);
            const index_t first = std::min(share * part, buffer_bytes);
            const index_t last = std::min(first + share, buffer_bytes);
            std::memcpy(target.as<char>() + first, source.as<char>() + first,
                        static_cast<std::size_t>(last - first));
        };
        {
            std::vector<std::jthread> team;
            for (int part = 1; part < threads; ++part) team.emplace_back(copy, part);
            copy(0);
        }
        const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - begin;
        best_s = std::min(best_s, taken.count());
    }
    return 2 * static_cast<double>(buffer_bytes) / best_s;
}

}  // namespace convolume::cli
