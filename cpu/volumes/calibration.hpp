// SPDX-License-Identifier: Apache-2.0
#pragma once
// Measures what the CPU engine's predictions are made of.

#include "core/machine_rates.hpp"

namespace convolume::cpu {

/// Puts measured rates of transforms, direct sums and memory in place of those in `rates`, with
/// `threads` at work. Takes about two seconds.
void measure_rates(int threads, MachineRates& rates);

}  // namespace convolume::cpu
