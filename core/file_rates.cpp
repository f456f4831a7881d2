// SPDX-License-Identifier: Apache-2.0
#include "core/file_rates.hpp"

#include <algorithm>
#include <chrono>

#include "convolume/volume.hpp"
#include "core/scratch_file.hpp"
#include "core/thread_team.hpp"

namespace convolume {

namespace {

constexpr index_t file_bytes = index_t{64} << 20;
constexpr index_t call_bytes = index_t{4} << 20;
constexpr int rounds = 5;
constexpr int most_threads_at_files = 8;  // as image files are moved

using Clock = std::chrono::steady_clock;

// Calls `move(offset)` for every section of the file; seconds since `begin`.
template <class Move>
double move_all(int threads, Clock::time_point begin, const Move& move) {
    parallel_for(file_bytes / call_bytes, std::min(threads, most_threads_at_files),
                 [&](index_t i, int) { move(i * call_bytes); });
    return std::chrono::duration<double>(Clock::now() - begin).count();
}

}  // namespace

void measure_file_rates(const std::filesystem::path& folder, int threads, MachineRates& rates) {
    Buffer memory(file_bytes, "a measurement");
    memory.touch(threads);
    double write_s = 0, sync_s = 0, read_s = 0;
    const auto keep_least = [](double& least, double seconds) {
        least = least > 0 ? std::min(least, seconds) : seconds;
    };
    for (int round = 0; round < rounds; ++round) {
        const auto begin = Clock::now();
        ScratchFile file(folder.string(), file_bytes);
        // Threads would wait for each other: a file system lets one write to a file.
        keep_least(write_s, move_all(1, begin, [&](index_t offset) {
                       file.write(offset, memory.as<char>() + offset, call_bytes);
                   }));
        const auto written = Clock::now();
        file.sync();
        keep_least(sync_s, std::chrono::duration<double>(Clock::now() - written).count());
        keep_least(read_s, move_all(threads, Clock::now(), [&](index_t offset) {
                       file.read(offset, memory.as<char>() + offset, call_bytes);
                   }));
    }
    rates.file_write_bytes_per_s = static_cast<double>(file_bytes) / write_s;
    rates.file_sync_bytes_per_s = static_cast<double>(file_bytes) / sync_s;
    rates.file_read_bytes_per_s = static_cast<double>(file_bytes) / read_s;
}

}  // namespace convolume
