// SPDX-License-Identifier: Apache-2.0
#include "core/threads.hpp"

#include <sched.h>

#include <algorithm>
#include <cstdlib>
#include <thread>

#include "convolume/error.hpp"

namespace convolume {

namespace {

// Batch systems and users set this variable for all programs. Malformed values are ignored.
int threads_of_environment() {
    const char* const text = std::getenv("OMP_NUM_THREADS");
    if (!text) return 0;
    char* end = nullptr;
    const long number = std::strtol(text, &end, 10);
    const bool valid = end != text && (*end == '\0' || *end == ',' || *end == ' ');
    return valid && number > 0 ? static_cast<int>(std::min<long>(number, most_threads)) : 0;
}

int available_processors() {
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof(set), &set) == 0) return std::max(1, CPU_COUNT(&set));
    // More processors than the set can name.
    return std::clamp(static_cast<int>(std::thread::hardware_concurrency()), 1, most_threads);
}

}  // namespace

void check_threads(int threads) {
    if (threads < 0 || threads > most_threads)
        throw InvalidArgument(message(threads, " threads were asked for: give 1 to ", most_threads,
                                      ", or 0 for all"));
}

int thread_count(int threads) {
    check_threads(threads);
    if (threads > 0) return threads;
    static const int all = [] {
        const int asked = threads_of_environment();
        return asked > 0 ? asked : available_processors();
    }();
    return all;
}

}  // namespace convolume
