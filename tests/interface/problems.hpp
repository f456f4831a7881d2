// SPDX-License-Identifier: Apache-2.0
#pragma once
// Small problems for Convolver, FilterBank and Deconvolver.

#include <cstring>
#include <vector>

#include "convolume/convolume.hpp"
#include "tests/support/random.hpp"
#include "tests/support/volumes.hpp"

namespace convolume::testing {

inline EngineChoice on_cpu(int threads = 2) {
    EngineChoice choice;
    choice.device = EngineChoice::Device::cpu;
    choice.threads = threads;
    return choice;
}

/// Returns float32 samples in [0.5, 1.5), different for each `number`.
inline Volume random_volume(const Shape3& shape, std::uint64_t number) {
    Random random(20240229, number);
    return to_volume(random.array(shape, false, 1), PixelType::float32);
}

/// Returns a float32 volume filled with a value that no result has.
inline Volume poisoned(const Shape3& shape) {
    Volume volume(shape, PixelType::float32);
    poison(volume.view());
    return volume;
}

}  // namespace convolume::testing
