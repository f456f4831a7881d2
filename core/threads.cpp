// SPDX-License-Identifier: Apache-2.0
#include "core/threads.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <exception>

#include "convolume/error.hpp"
#include "core/stop_scope.hpp"
#include "core/thread_backend.hpp"

namespace convolume {

void check_threads(int threads) {
    if (threads < 0 || threads > most_threads)
        throw InvalidArgument(message(threads, " threads were asked for: give 1 to ", most_threads,
                                      ", or 0 for all"));
}

int thread_count(int threads) {
    check_threads(threads);
    if (threads > 0) return threads;
    static const int all = std::clamp(backend_thread_count(), 1, most_threads);
    return all;
}

// Waking a thread that then joins takes as long as some 10 µs of work. So the caller begins a loop
// of many items alone, and invites as many threads as the rest of the work justifies.

namespace {

// Time that the caller works alone before it decides how many threads the rest justifies.
constexpr std::chrono::microseconds trial_time{3};
constexpr std::chrono::duration<double, std::micro> work_per_thread{10};

}  // namespace

SharedLoop::SharedLoop(index_t count, int threads, detail::RangeFunction function, const void* work)
    : count_(count),
      threads_(static_cast<int>(std::min<index_t>(threads, count))),
      function_(function),
      work_(work) {}

void SharedLoop::run(int thread) {
    index_t begin = 0, end = 0;
    while (take(begin, end)) run_range(begin, end, thread);
}

// Computes a few items on the caller alone; returns how many threads the rest justifies.
int SharedLoop::begin_as_single_thread() {
    const Clock::time_point start = Clock::now();
    index_t done = 0;
    for (index_t step = 1; has_ranges(); step = std::min(2 * step, count_)) {
        const index_t end = done + std::min(step, next_range_items(done));
        next_.store(end);
        run_range(done, end, 0);
        done = end;
        const Clock::duration spent = Clock::now() - start;
        if (spent >= trial_time) return threads_worth_of_rest(done, spent);
    }
    return 1;
}

// Returns how many threads the rest justifies, if `items` took `spent`.
int SharedLoop::threads_worth_of_rest(index_t items, Clock::duration spent) const {
    const index_t rest = count_ - std::min(count_, next_.load(std::memory_order_relaxed));
    const double threads = static_cast<double>(rest) / static_cast<double>(items) *
                           (std::chrono::duration<double, std::micro>(spent) / work_per_thread);
    return threads < threads_ - 1 ? 1 + static_cast<int>(threads) : threads_;
}

void SharedLoop::run_range(index_t begin, index_t end, int thread) {
    try {
        const AdoptedStopScope adopted(scope_);
        throw_if_stopped();
        function_(work_, begin, end, thread);
    } catch (...) {
        if (!failed_.exchange(true)) error_ = std::current_exception();
        next_.store(count_);
    }
}

// Ranges become smaller towards the end, so that all threads finish at about the same time.
index_t SharedLoop::next_range_items(index_t begin) const {
    return std::max<index_t>(1, (count_ - begin) / (index_t{4} * threads_));
}

bool SharedLoop::take(index_t& begin, index_t& end) {
    begin = next_.load(std::memory_order_relaxed);
    do {
        if (begin >= count_) return false;
        end = begin + next_range_items(begin);
    } while (!next_.compare_exchange_weak(begin, end));
    return true;
}

namespace {

// Computes the whole range on this thread, in pieces only if a stop may be requested between them.
void run_alone(index_t count, detail::RangeFunction function, const void* work) {
    constexpr index_t pieces = 64;
    const index_t step = current_stop_scope() == nullptr ? count : ceil_div(count, pieces);
    for (index_t begin = 0; begin < count; begin += step) {
        throw_if_stopped();
        function(work, begin, std::min(begin + step, count), 0);
    }
}

}  // namespace

void detail::run_shared(index_t count, int threads, RangeFunction function, const void* work) {
    if (count <= 0) return;
    if (threads <= 1 || count == 1) return run_alone(count, function, work);
    run_on_backend(count, threads, function, work);
}

void run_plane_steps(const ParallelLoop& loop, index_t planes, index_t plane_bytes, int threads,
                     double begin, double end, std::initializer_list<PlaneStep> steps) {
    if (planes >= index_t{2} * threads) {
        loop.run(planes, begin, end, [&](index_t z, int thread) {
            for (const PlaneStep& step : steps)
                for (index_t batch = 0; batch < step.batches; ++batch) step.run(z, batch, thread);
        });
        return;
    }
    // Loops over less than this are not worth waking other threads for.
    constexpr index_t worth_sharing_bytes = index_t{4} << 20;
    const index_t together = ceil_div(worth_sharing_bytes, plane_bytes);
    const auto step_count = static_cast<double>(steps.size());
    const double share = (end - begin) / (step_count * static_cast<double>(planes));
    for (index_t from = 0; from < planes; from += together) {
        const index_t here = std::min(together, planes - from);
        double at = begin + step_count * share * static_cast<double>(from);
        for (const PlaneStep& step : steps) {
            const double next = at + share * static_cast<double>(here);
            loop.run(here * step.batches, at, next, [&](index_t i, int thread) {
                step.run(from + i / step.batches, i % step.batches, thread);
            });
            at = next;
        }
    }
}

}  // namespace convolume
