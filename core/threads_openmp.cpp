// SPDX-License-Identifier: Apache-2.0
// The backend "openmp": the threads of the OpenMP runtime.
//
// A loop is a parallel region. Inside a region, of this library or of its caller, a loop is a group
// of tasks, which the threads of that region compute when they have nothing else to do. So nested
// loops start no threads.
//
// A region has as many threads as requested, or as the machine has, even if its loop has fewer
// items: GCC's runtime ends the threads that a smaller region leaves out, and the next region would
// start them again.
#include <omp.h>

#include <algorithm>
#include <atomic>

#include "core/system/system.hpp"
#include "core/thread_backend.hpp"
#include "core/threads.hpp"

namespace convolume {

namespace {

// A forked process has none of its parent's threads, and a region of GCC's runtime would wait for
// them without end. Whoever started them: if there were any, the child computes with one thread.
std::atomic<bool> has_several_threads{false}, has_lost_threads{false};

const bool fork_is_watched = [] {
    system::on_fork([] { has_several_threads = system::has_other_threads(); },
                    [] {
                        if (has_several_threads) has_lost_threads = true;
                    });
    return true;
}();

void run_as_region(SharedLoop& loop, int threads) {
    threads = std::min(threads, std::max(loop.threads(), thread_count(0)));
    // Entering a region costs about as much as waking a thread, even for two threads.
    constexpr int few_threads = 1;
    loop.run_as_caller(few_threads, [&loop, threads](int) {
#pragma omp parallel num_threads(threads)
        {
            const int thread = omp_get_thread_num();
            if (thread < loop.threads()) loop.run(thread);
        }
    });
}

void run_as_tasks(SharedLoop& loop) {
    constexpr int few_threads = 4;
    const int team = std::min(loop.threads(), omp_get_num_threads());
    int started = 1;  // the caller is thread 0
#pragma omp taskgroup
    loop.run_as_caller(few_threads, [&loop, &started, team](int threads) {
        for (; started < std::min(threads, team); ++started) {
            // Tasks run after this lambda has ended, so they take copies.
            SharedLoop* const shared = &loop;
            const int thread = started;
#pragma omp task default(none) firstprivate(thread, shared)
            shared->run(thread);
        }
    });
}

}  // namespace

const char* thread_backend() {
    return "openmp";
}

int backend_thread_count() {
    return std::min(omp_get_max_threads(), omp_get_thread_limit());
}

void run_on_backend(index_t count, int threads, detail::RangeFunction function, const void* work) {
    SharedLoop loop(count, threads, function, work);
    if (has_lost_threads)
        loop.run(0);
    else if (omp_in_parallel())
        run_as_tasks(loop);
    else
        run_as_region(loop, threads);
    loop.rethrow();
}

}  // namespace convolume
