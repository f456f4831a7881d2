// SPDX-License-Identifier: Apache-2.0
#pragma once
// Comparison of all options of a plan. Structured bindings name every member, so that a new member
// does not compile until it is compared.

#include <tuple>

#include "convolume/engines.hpp"
#include "convolume/options.hpp"

namespace convolume {

/// Return all options as a tuple that can be compared.
inline auto fields_of(const Options& options) {
    const auto& [mode, boundary, operation, center, normalization, precision, nan, method, parts,
                 host, streamed, scratch, executions] = options;
    return std::tie(mode, boundary, operation, center.kind, center.index, normalization, precision,
                    nan, method, parts, host, streamed, scratch, executions);
}
inline auto fields_of(const EngineChoice& engines) {
    const auto& [device, gpus, cpus, threads, cpu_bytes, gpu_bytes, fft, gate, calibrated] =
        engines;
    return std::tie(device, gpus, cpus, threads, cpu_bytes, gpu_bytes, fft, gate, calibrated);
}

}  // namespace convolume
