// SPDX-License-Identifier: Apache-2.0
#include "cpu/signals/stream_team.hpp"

#include <system_error>

#if defined(__SSE2__)
#include <immintrin.h>
#endif

namespace convolume::cpu {

namespace {

constexpr int bits = 20;
constexpr std::uint64_t mask = (std::uint64_t{1} << bits) - 1;
constexpr int turns_before_sleep = 2000;  // some 50 microseconds
constexpr int turns_before_yield = 2000;

void pause_briefly() {
#if defined(__SSE2__)
    _mm_pause();
#endif
}

}  // namespace

StreamTeam::StreamTeam(int threads) {
    others_.reserve(static_cast<std::size_t>(threads - 1));
    try {
        for (int thread = 1; thread < threads; ++thread)
            others_.emplace_back([this, thread] { serve(thread); });
    } catch (const std::system_error&) {
        // The system refuses another thread: those that there are do the work.
    }
}

StreamTeam::~StreamTeam() {
    is_over_.store(true);
    round_.fetch_add(1);
    round_.notify_all();
    for (std::thread& thread : others_) thread.join();
}

void StreamTeam::run_tasks(index_t tasks, Function function, const void* work) noexcept {
    if (others_.empty() || tasks < 2) {
        for (index_t i = 0; i < tasks; ++i) function(work, i, 0);
        return;
    }
    function_ = function;
    work_ = work;
    done_.store(0, std::memory_order_relaxed);
    const auto round = static_cast<std::uint64_t>(round_.load(std::memory_order_relaxed) + 1);
    ticket_.store(round << 2 * bits | static_cast<std::uint64_t>(tasks) << bits,
                  std::memory_order_release);
    round_.fetch_add(1, std::memory_order_release);
    round_.notify_all();
    take_tasks(0);
    for (int turn = 0; done_.load(std::memory_order_acquire) < tasks; ++turn) {
        pause_briefly();
        if (turn >= turns_before_yield) std::this_thread::yield();
    }
}

void StreamTeam::take_tasks(int thread) noexcept {
    for (;;) {
        const std::uint64_t ticket = ticket_.fetch_add(1, std::memory_order_acq_rel);
        if ((ticket & mask) >= (ticket >> bits & mask)) return;
        function_(work_, static_cast<index_t>(ticket & mask), thread);
        done_.fetch_add(1, std::memory_order_release);
    }
}

void StreamTeam::serve(int thread) noexcept {
    while (!is_over_.load()) {
        const int round = round_.load(std::memory_order_acquire);
        take_tasks(thread);
        int turn = 0;
        while (round_.load(std::memory_order_acquire) == round && turn < turns_before_sleep) {
            pause_briefly();
            ++turn;
        }
        if (turn == turns_before_sleep) round_.wait(round, std::memory_order_acquire);
    }
}

}  // namespace convolume::cpu
