// SPDX-License-Identifier: Apache-2.0
#pragma once
// Facts about the build and the machine, for `convolume doctor`.

#include <string>
#include <vector>

#include "convolume/shape.hpp"

namespace convolume::cli {

struct Feature {
    std::string name;
    std::string state;  ///< a version, or one sentence on what is missing and how to get it
    bool present;
};

/// File formats, FFT library, SIMD targets and devices that this build has.
std::vector<Feature> built_features();

int processor_count();
index_t total_memory_bytes();

/// Where FFT plans are remembered; empty when neither XDG_CACHE_HOME nor HOME is set.
std::string cache_folder();

/// Bytes read plus bytes written per second by all threads that copy memory at once.
double measure_copy_bandwidth(index_t buffer_bytes, int threads);

}  // namespace convolume::cli
