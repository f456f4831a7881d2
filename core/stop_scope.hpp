// SPDX-License-Identifier: Apache-2.0
#pragma once
// The StopScope of the current thread, which threads that work for it adopt.

#include <functional>
#include <list>
#include <stop_token>

#include "convolume/execution.hpp"

namespace convolume {

/// Returns the innermost scope; null if there is none.
const StopScope* current_stop_scope() noexcept;

/// Throws Cancelled if a stop was requested in the current scope. For long loops on one thread;
/// parallel_for() and parallel_ranges() check between ranges.
void throw_if_stopped();

/// Makes another thread's scope, which may be null, the current scope of this thread during its own
/// lifetime.
class AdoptedStopScope {
  public:
    explicit AdoptedStopScope(const StopScope* scope) noexcept;
    ~AdoptedStopScope();
    AdoptedStopScope(const AdoptedStopScope&) = delete;
    AdoptedStopScope& operator=(const AdoptedStopScope&) = delete;

  private:
    const StopScope* previous_;
};

/// Calls `react` when a stop is requested in the current scope, from the requesting thread, or at
/// once if a stop was requested before. Ends with the object's lifetime. For work that can only be
/// stopped from outside.
class StopCallbacks {
  public:
    explicit StopCallbacks(const std::function<void()>& react);
    StopCallbacks(const StopCallbacks&) = delete;
    StopCallbacks& operator=(const StopCallbacks&) = delete;

  private:
    std::list<std::stop_callback<std::function<void()>>> callbacks_;
};

}  // namespace convolume
