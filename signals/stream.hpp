// SPDX-License-Identifier: Apache-2.0
#pragma once
// Streaming of signals in chunks, from a source through an engine to a sink.

#include "convolume/filter_bank.hpp"
#include "signals/filter_problem.hpp"

namespace convolume {

/// Numbers of results and of signals that are computed at a time, and the bytes that they take.
struct StreamLayout {
    /// Results of each filter and signal; 0: not even one result fits the memory limit.
    index_t chunk = 0;
    index_t signals = 1;
    index_t input_samples = 0;  ///< largest number of samples of each signal in a chunk
    /// Largest number of stored samples of each filter and signal in a chunk.
    index_t stored = 0;
    index_t bytes = 0;  ///< bytes of host memory, including a CPU engine

    /// Samples that are read at a time before they are converted.
    static constexpr index_t raw_samples = index_t{1} << 14;
};
StreamLayout stream_layout(const FilterProblem& problem, const SignalShape& shape,
                           const MethodSelection& choice, index_t limit_bytes);

/// Returns the memory limit of streaming: the caller's, or a quarter of the free memory.
index_t stream_limit(const FilterOptions& options);

/// Everything that streaming needs, except its source and sink.
struct StreamJob {
    const FilterProblem& problem;  ///< problem whose method and segment are chosen
    const SignalShape& shape;
    NanPolicy nan;
    const StreamLayout& layout;
    FilterEngine& engine;
    const PreparedFilters& prepared;
};

/// Streams all signals. One thread reads ahead, one writes results, and the caller's thread drives
/// the engine.
ExecutionReport stream_signals(const StreamJob& job, SignalSource& source, ResultSink& sink,
                               const ExecutionContext& context);

}  // namespace convolume
