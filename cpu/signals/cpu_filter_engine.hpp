// SPDX-License-Identifier: Apache-2.0
#pragma once
// The filter engine of the CPU: transforms of segments, and direct sums for short filters.

#include "convolume/engines.hpp"
#include "core/filter_engine.hpp"

namespace convolume {

struct CpuFilterEngineOptions {
    std::string name = "cpu:0";
    int index = 0;  ///< number of the engine on timelines
    int threads = 1;
    FftLibrary fft = FftLibrary::automatic;
};

std::shared_ptr<FilterEngine> make_cpu_filter_engine(const CpuFilterEngineOptions& options);

}  // namespace convolume
