// SPDX-License-Identifier: Apache-2.0
#pragma once
// Images and kernels that benchmarks convolve on several GPUs, and the error of their results.

#include <algorithm>
#include <cmath>
#include <iostream>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <vector>

#include "convolume/options.hpp"
#include "convolume/volume.hpp"
#include "core/threads.hpp"

namespace convolume::bench {

inline std::size_t size(index_t bytes) {
    return static_cast<std::size_t>(bytes);
}

inline Volume random_volume(const Shape3& shape, unsigned seed,
                            HostMemory memory = HostMemory::ordinary) {
    Volume volume(shape, PixelType::float32, memory);
    float* const samples = volume.elements<float>();
    const index_t count = element_count(shape);
    parallel_for(ceil_div(count, index_t{1} << 16), thread_count(0), [=](index_t block, int) {
        std::mt19937 engine(seed + static_cast<unsigned>(block));
        std::uniform_real_distribution<float> uniform(-0.5f, 1.f);
        for (index_t i = block << 16; i < std::min(count, (block + 1) << 16); ++i)
            samples[i] = uniform(engine);
    });
    return volume;
}

struct Case {
    const char* name;
    Shape3 image, kernel;
    BoundaryKind boundary;
    bool fits_one;          ///< one GPU has memory for it
    index_t max_gibibytes;  ///< of each GPU, with the image; 0: no limit
};
inline constexpr Case cases[] = {
    {"1024x2048x2048", {1024, 2048, 2048}, {64, 64, 64}, BoundaryKind::wrap, true, 0},
    {"512k64", {512, 1024, 1024}, {64, 64, 64}, BoundaryKind::zero, true, 0},
    {"512psf255", {512, 1024, 1024}, {255, 511, 511}, BoundaryKind::zero, true, 0},
    {"512circular", {512, 1024, 1024}, {64, 64, 64}, BoundaryKind::wrap, true, 0},
    {"2048", {2048, 2048, 2048}, {16, 16, 16}, BoundaryKind::wrap, false, 60},
    {"1024k64", {1024, 2048, 2048}, {64, 64, 64}, BoundaryKind::zero, true, 0},
    {"2048k64", {2048, 2048, 2048}, {64, 64, 64}, BoundaryKind::wrap, true, 76},
};

// Returns the relative L2 error at random voxels, against sums in double precision with taps whose
// sum is 1.
inline double sampled_error(const Case& c, const Volume& image, const Volume& kernel,
                            const Volume& result) {
    constexpr index_t samples = 32;
    std::vector<double> differences(size(samples)), norms(size(samples));
    const float* const pixels = static_cast<const float*>(image.view().data);
    const float* const taps = static_cast<const float*>(kernel.view().data);
    parallel_for(samples, thread_count(0), [&](index_t sample, int) {
        std::mt19937 engine(static_cast<unsigned>(sample));
        index_t at[3];
        for (int a = 0; a < 3; ++a)
            at[a] = std::uniform_int_distribution<index_t>(0, c.image[a] - 1)(engine);
        double sum = 0, all_taps = 0;
        for (index_t z = 0; z < c.kernel.z; ++z)
            for (index_t y = 0; y < c.kernel.y; ++y)
                for (index_t x = 0; x < c.kernel.x; ++x) {
                    const index_t tap[3] = {z, y, x};
                    index_t from[3];
                    bool inside = true;
                    for (int a = 0; a < 3; ++a) {
                        from[a] = at[a] + c.kernel[a] / 2 - tap[a];
                        if (c.boundary == BoundaryKind::wrap)
                            from[a] = (from[a] + c.image[a]) % c.image[a];
                        inside = inside && from[a] >= 0 && from[a] < c.image[a];
                    }
                    const double weight = taps[(z * c.kernel.y + y) * c.kernel.x + x];
                    all_taps += weight;
                    if (inside)
                        sum += weight *
                               static_cast<double>(
                                   pixels[(from[0] * c.image.y + from[1]) * c.image.x + from[2]]);
                }
        sum /= all_taps;
        const double found = *static_cast<const float*>(result.view().at(at[0], at[1], at[2]));
        differences[size(sample)] = (found - sum) * (found - sum);
        norms[size(sample)] = sum * sum;
    });
    double difference = 0, norm = 0;
    for (std::size_t i = 0; i < norms.size(); ++i) {
        difference += differences[i];
        norm += norms[i];
    }
    return std::sqrt(difference / norm);
}

// Prints the figures that `work` returns, or its error. Returns whether there was none.
template <class Work>
bool print(const char* name, const Work& work) {
    try {
        std::cout << work().dump() << std::endl;
        return true;
    } catch (const std::exception& error) {
        std::cout << nlohmann::json{{"name", name}, {"error", error.what()}}.dump() << std::endl;
        return false;
    }
}

/// Names of cases, for a program's arguments.
inline std::string case_names() {
    std::string names;
    for (const Case& c : cases) names += std::string(names.empty() ? "" : ", ") + c.name;
    return names;
}
/// Whether a case is chosen by `names`; none chooses all.
inline bool is_chosen(const std::vector<std::string>& names, const std::string& name) {
    return names.empty() || std::find(names.begin(), names.end(), name) != names.end();
}

}  // namespace convolume::bench
