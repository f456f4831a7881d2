// SPDX-License-Identifier: Apache-2.0
#pragma once
// Tests that every engine must pass. The test file of a back end makes an engine and calls them:
// see tests/cpu/test_cpu_engine.cpp.

#include <functional>

#include "core/engine.hpp"

namespace convolume::testing {

using EnginePointer = std::shared_ptr<Engine>;

/// Compares random blocks of every algorithm, kind and precision with circular sums: parts of every
/// split, kept sub-ranges, gathers with zeros and reversed. Every block runs twice into poisoned
/// memory, and the source must not change. There are `cases` blocks of each kind.
void check_engine_results(const EnginePointer& engine, std::uint64_t cases = 400);

/// Reads sources of every type, and checks that integer targets are rounded, clamped and counted,
/// and that non-finite samples are read as 0.
void check_engine_pixel_types(const EnginePointer& engine);

/// Convolves with source and target in the same memory.
void check_engine_in_place(const EnginePointer& engine);

/// Checks that estimate() bounds the memory of prepare() and convolve(), and that
/// release_workspaces() frees it. `use` and `reset_peak` count the engine's kind of memory.
void check_engine_memory(const EnginePointer& engine,
                         const std::function<MemoryUse()>& use = memory_use,
                         const std::function<void()>& reset_peak = reset_memory_peak);

/// Uses one kernel from several threads at once.
void check_engine_concurrency(const EnginePointer& engine);

/// Checks that a requested stop is thrown as Cancelled.
void check_engine_cancellation(const EnginePointer& engine);

}  // namespace convolume::testing
