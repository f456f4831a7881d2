// SPDX-License-Identifier: Apache-2.0
#pragma once
// Which engine filters, and by which method.

#include "signals/filter_problem.hpp"

namespace convolume {

struct MethodSelection {
    std::shared_ptr<FilterEngine> engine;
    FilterCost cost;
};

/// The least predicted seconds for signals of `shape` among engines and methods that the options
/// leave; with a memory limit, among those that keep it on the host, if any does. Throws
/// Unavailable where there are none, InvalidArgument where another segment would do.
MethodSelection select_method(const FilterProblem& problem, const SignalShape& shape,
                              const FilterOptions& options, const FilterEngineList& engines);

}  // namespace convolume
