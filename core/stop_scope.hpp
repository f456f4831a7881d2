// SPDX-License-Identifier: Apache-2.0
#pragma once
// The StopScope that this thread is in, which threads that work for it adopt.

#include <functional>
#include <list>
#include <stop_token>

#include "convolume/execution.hpp"

namespace convolume {

/// The innermost one; null where there is none.
const StopScope* current_stop_scope() noexcept;

/// Throws Cancelled where a stop was requested in the current scope. For long loops that are not
/// shared by threads: parallel_for() and parallel_ranges() look between ranges.
void throw_if_stopped();

/// Makes another thread's scope, which may be null, the current one while it lives.
class AdoptedStopScope {
  public:
    explicit AdoptedStopScope(const StopScope* scope) noexcept;
    ~AdoptedStopScope();
    AdoptedStopScope(const AdoptedStopScope&) = delete;
    AdoptedStopScope& operator=(const AdoptedStopScope&) = delete;

  private:
    const StopScope* before_;
};

/// Calls `react`, from the thread that asks for the stop, when one is requested in the current
/// scope while this lives; at once where it was requested before. For what can only be stopped from
/// outside.
class OnStop {
  public:
    explicit OnStop(const std::function<void()>& react);
    OnStop(const OnStop&) = delete;
    OnStop& operator=(const OnStop&) = delete;

  private:
    std::list<std::stop_callback<std::function<void()>>> callbacks_;
};

}  // namespace convolume
