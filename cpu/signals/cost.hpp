// SPDX-License-Identifier: Apache-2.0
#pragma once
// Predicted cost of a filter bank on the CPU for each method and segment.

#include "core/filter_engine.hpp"

namespace convolume::cpu {

/// Predicts the cost of the method that `spec` names; segment 0: the best segment. Returns nothing
/// if the method cannot have such a segment.
std::optional<FilterCost> filter_cost(const FilterSpec& spec, index_t signals, index_t outputs,
                                      int threads);

}  // namespace convolume::cpu
