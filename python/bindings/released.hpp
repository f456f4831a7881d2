// SPDX-License-Identifier: Apache-2.0
#pragma once
// Work without Python's lock, which Ctrl-C and callers' functions can stop.

#include <nanobind/nanobind.h>

#include <functional>

#include "convolume/execution.hpp"

namespace convolume::python {

/// Runs `work` without the interpreter lock. `progress` (a callable or None) is called with the
/// fraction done, now and then. Work that is expected to take long runs in a thread of its own, so
/// that this one sees Ctrl-C: it ends soon after, and KeyboardInterrupt is raised. What `progress`
/// raises ends it as well.
void run_released(double expected_s, const nanobind::object& progress,
                  const std::function<void(const ExecutionContext&)>& work);

/// The same for constructors, which take no ExecutionContext: kernels of many taps take seconds.
void plan_released(const std::function<void()>& work);

/// Keeps the first exception that a caller's Python function raised, and asks the work to stop.
/// The interpreter lock is taken for the call alone.
class PythonCalls {
  public:
    explicit PythonCalls(std::stop_source& stop) : stop_(stop) {}
    template <class Call>
    void call(const Call& function) {
        const nanobind::gil_scoped_acquire lock;
        if (raised_) return;
        try {
            function();
        } catch (...) {
            raise(std::current_exception());
        }
    }
    void raise(std::exception_ptr error) {
        raised_ = std::move(error);
        stop_.request_stop();
    }
    const std::exception_ptr& raised() const { return raised_; }

  private:
    std::stop_source& stop_;
    std::exception_ptr raised_;
};

}  // namespace convolume::python
