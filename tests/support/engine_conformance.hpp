// SPDX-License-Identifier: Apache-2.0
#pragma once
// One suite for every engine. A back end's test file makes an engine and calls these: see
// tests/cpu/test_cpu_engine.cpp.

#include <functional>

#include "core/engine.hpp"

namespace convolume::testing {

using EnginePointer = std::shared_ptr<Engine>;

/// Random blocks of every algorithm, kind and precision, parts of every split, kept sub-ranges,
/// gathers with zeros and reversed: against circular sums. Every block runs twice into poisoned
/// memory, and the source must survive. `cases` of each kind.
void check_engine_results(const EnginePointer& engine, std::uint64_t cases = 400);

/// Sources of every type; integer targets rounded, clamped and counted; non-finite samples
/// read as 0.
void check_engine_pixel_types(const EnginePointer& engine);

/// Source and target in the same memory.
void check_engine_in_place(const EnginePointer& engine);

/// estimate() bounds what prepare() and convolve() take; release_workspaces() gives it back. `use`
/// and `reset_peak` count the engine's kind of memory.
void check_engine_memory(const EnginePointer& engine,
                         const std::function<MemoryUse()>& use = memory_use,
                         const std::function<void()>& reset_peak = reset_memory_peak);

/// Several threads use one kernel at once.
void check_engine_concurrency(const EnginePointer& engine);

/// A requested stop is thrown as Cancelled.
void check_engine_cancellation(const EnginePointer& engine);

}  // namespace convolume::testing
