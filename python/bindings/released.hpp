// SPDX-License-Identifier: Apache-2.0
#pragma once
// Runs work without the interpreter lock. Ctrl-C and functions of the caller can stop it.

#include <nanobind/nanobind.h>

#include <functional>

#include "convolume/execution.hpp"

namespace convolume::python {

/// Runs `work`, which is expected to take `expected_s` seconds, without the interpreter lock.
/// `progress` (a callable or None) is called with the fraction done, at most every 50 ms. Long work
/// runs in a thread of its own, so that the calling thread sees Ctrl-C: the work ends soon after,
/// and KeyboardInterrupt is raised. An exception of `progress` ends the work as well.
void run_released(double expected_s, const nanobind::object& progress,
                  const std::function<void(const ExecutionContext&)>& work);

/// Runs a constructor without the interpreter lock, which Ctrl-C can stop. Constructors take no
/// ExecutionContext, but may take seconds for kernels of many taps.
void plan_released(const std::function<void()>& work);

/// Calls Python functions of the caller from the work, with the interpreter lock. Keeps the first
/// exception that one of them raises, and requests a stop of the work.
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
