// SPDX-License-Identifier: Apache-2.0
#pragma once
// How long an iteration of a walk takes: the bus, or the GPU's memory, whichever is slower. Only
// ways to walk are compared, so that little has to be exact.

#include "deconvolve/plane_walk.hpp"

namespace convolume::deconvolve {

struct WalkRates {
    double to_device = 1, to_host = 1, memory = 1;  ///< bytes a second
};

/// Bytes of a walk, however many iterations it takes.
struct WalkTraffic {
    double up = 0, down = 0;  ///< over the bus
    double arrays = 0;        ///< of the arrays, read and written by an iteration in the GPU
};

/// `plane_bytes`: of a plane's spectrum.
inline double iteration_seconds(const gpu::PairAxis& z, double plane_bytes, index_t depth,
                                index_t together, const WalkTraffic& traffic,
                                const WalkRates& rates) {
    const auto planes = static_cast<double>(z.object);
    const auto steps = static_cast<double>(depth);
    const auto taps = static_cast<double>(z.taps);
    // The first step's planes come up, and the last one's go down, while nothing else goes on.
    const double ends = 1 + 2 * std::min(1.0, steps / planes);
    const double bus = ends * std::max(traffic.up / rates.to_device, traffic.down / rates.to_host);
    // Rows and columns read and write a plane six times. Each of two passes along z reads the
    // planes that it sees and the kernel's taps, and writes those of a step.
    constexpr double share_of_peak = 0.6;
    const double seen = (steps + taps - 1) / steps, kernel = taps / steps;
    const double passes = (12 + 2 * (1 + seen + kernel)) * plane_bytes * planes;
    const double gpu = (passes + traffic.arrays) / (share_of_peak * rates.memory);
    return std::max(bus / static_cast<double>(together), gpu);
}

}  // namespace convolume::deconvolve
