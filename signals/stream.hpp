// SPDX-License-Identifier: Apache-2.0
#pragma once
// Signals that stream from a source through an engine to a sink.

#include "convolume/filter_bank.hpp"
#include "signals/method_selection.hpp"

namespace convolume {

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
