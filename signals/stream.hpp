// SPDX-License-Identifier: Apache-2.0
#pragma once
// Signals that stream from a source through an engine to a sink, and in what chunks.

#include "convolume/filter_bank.hpp"
#include "signals/filter_problem.hpp"

namespace convolume {

/// Number of results, and of signals, that are computed at a time when signals stream.
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

/// Memory limit of streaming: the caller's, or a quarter of the free memory.
index_t stream_limit(const FilterOptions& options);

struct StreamJob {
    const FilterProblem& problem;  ///< method and segment chosen
    const SignalShape& shape;
    NanPolicy nan;
    const StreamLayout& layout;
    FilterEngine& engine;
    const PreparedFilters& prepared;
};

/// One thread reads ahead, one writes behind, the caller's drives the engine.
ExecutionReport stream_signals(const StreamJob& job, SignalSource& source, ResultSink& sink,
                               const ExecutionContext& context);

}  // namespace convolume
