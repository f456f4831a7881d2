// SPDX-License-Identifier: Apache-2.0
#pragma once
// Runs tasks over engines: one host thread an engine, each taking the next task when it is free.

#include <functional>

#include "core/engine.hpp"

namespace convolume {

/// Calls `run(engine_index, task_index)` once for every task in [0, tasks), each engine from its
/// own thread. The first exception stops the others from taking more tasks and is rethrown here.
void run_on_engines(int engines, index_t tasks, const ExecutionContext& context,
                    const std::function<void(int engine, index_t task)>& run);

}  // namespace convolume
