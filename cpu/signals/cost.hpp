// SPDX-License-Identifier: Apache-2.0
#pragma once
// What a filter bank costs on the CPU with each method, and the segments that are worth trying.

#include "core/filter_engine.hpp"

namespace convolume::cpu {

/// Nothing where the method cannot have such a segment. `work` names a method; segment 0: the best.
std::optional<FilterCost> filter_cost(const FilterWork& work, index_t signals, index_t outputs,
                                      int threads);

}  // namespace convolume::cpu
