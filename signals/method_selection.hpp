// SPDX-License-Identifier: Apache-2.0
#pragma once
// Which engine filters, by which method, and in what chunks signals stream through it.

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

/// How results are computed when they stream: so many of each of so many signals at a time.
struct StreamLayout {
    index_t chunk = 0;  ///< 0: not even one result fits the memory
    index_t signals = 1;
    index_t input_samples = 0;  ///< of each signal, at most
    index_t stored = 0;         ///< of each filter and signal, at most
    index_t bytes = 0;          ///< of host memory, an engine on the host included

    /// Samples that are read at a time before they are converted.
    static constexpr index_t raw_samples = index_t{1} << 14;
};
StreamLayout stream_layout(const FilterProblem& problem, const SignalShape& shape,
                           const MethodSelection& choice, index_t limit_bytes);

/// What streaming may take: the caller's limit, or a quarter of what is free.
index_t stream_limit(const FilterOptions& options);

}  // namespace convolume
