// SPDX-License-Identifier: Apache-2.0
#include "bindings/released.hpp"

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "bindings/bindings.hpp"

namespace convolume::python {

namespace {

// Least predicted seconds of work for which a thread is started. Shorter work ends before Ctrl-C
// matters.
constexpr double worth_a_thread_s = 0.02;
constexpr std::chrono::milliseconds between_calls{50};

// Runs `work` in another thread, and checks for Ctrl-C until it ends.
void run_in_thread(const ExecutionContext& context, PythonCalls& calls,
                   const std::function<void(const ExecutionContext&)>& work) {
    std::mutex mutex;
    std::condition_variable finished;
    bool done = false;
    std::exception_ptr error;
    std::jthread worker([&] {
        try {
            work(context);
        } catch (...) {
            error = std::current_exception();
        }
        const std::lock_guard lock(mutex);
        done = true;
        finished.notify_one();
    });
    std::unique_lock lock(mutex);
    while (!finished.wait_for(lock, between_calls, [&] { return done; })) {
        lock.unlock();
        calls.call([] {
            if (PyErr_CheckSignals() != 0) throw nb::python_error();
        });
        lock.lock();
    }
    lock.unlock();
    worker.join();
    if (error) std::rethrow_exception(error);
}

}  // namespace

void run_released(double expected_s, const nb::object& progress,
                  const std::function<void(const ExecutionContext&)>& work) {
    std::stop_source stop;
    PythonCalls calls(stop);
    ExecutionContext context;
    context.stop = stop.get_token();
    auto next_call = std::chrono::steady_clock::now();
    if (!progress.is_none())
        context.progress = [&](double fraction) {
            const auto now = std::chrono::steady_clock::now();
            if (now < next_call && fraction < 1) return;
            next_call = now + between_calls;
            calls.call([&] { progress(fraction); });
        };
    try {
        const nb::gil_scoped_release released;
        if (expected_s < worth_a_thread_s)
            work(context);
        else
            run_in_thread(context, calls, work);
    } catch (...) {
        if (!calls.raised()) throw;
    }
    if (calls.raised()) std::rethrow_exception(calls.raised());
}

void plan_released(const std::function<void()>& work) {
    run_released(worth_a_thread_s, nb::none(), [&](const ExecutionContext& context) {
        const StopScope scope(context.stop);
        work();
    });
}

}  // namespace convolume::python
