// SPDX-License-Identifier: Apache-2.0
#pragma once
// The radices of transforms of columns, and what their stages cost.

#include <vector>

#include "convolume/shape.hpp"

namespace convolume::cpu {

/// Returns the radices whose product is `length` and whose stages take least time; empty if a prime
/// factor exceeds 13.
std::vector<int> radices_of(index_t length);

/// Returns the time of the stages for a sample, relative to a stage of radix 2.
double cost_of(const std::vector<int>& radices);

}  // namespace convolume::cpu
