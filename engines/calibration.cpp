// SPDX-License-Identifier: Apache-2.0

#include "convolume/calibration.hpp"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <system_error>

#include "convolume/error.hpp"
#include "convolume/volume.hpp"
#include "core/gpu_backend.hpp"
#include "core/machine_rates.hpp"
#include "core/scratch_file.hpp"
#include "core/threads.hpp"
#include "cpu/volumes/cost.hpp"

namespace convolume {

namespace {

Calibration describe(const MachineRates& rates) {
    constexpr MachineRates built_in;
    Calibration calibration{machine_key(), rates_file().string(), rates != built_in, {}};
    for (const MeasurableRate& rate : measurable_rates())
        calibration.rates.push_back(
            {rate.name, rate.meaning, rate.per_second, built_in.*rate.value, rates.*rate.value});
    return calibration;
}

// Measures the start of GPUs if this process has not used one yet.
void measure_gpu_start(MachineRates& rates) {
    const GpuBackend* const backend = gpu_backend();
    if (!backend || backend->started()) return;
    const auto begin = std::chrono::steady_clock::now();
    try {
        static_cast<void>(backend->make_engines({}));
    } catch (const Error&) {
        return;  // no GPU, or none that works
    }
    rates.gpu_start_s =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

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

// Puts measured rates of writing and reading a file in `folder` in place of those in `rates`: of 64
// MiB, written with its space taken first, brought to disk, and read while the system still caches
// it. Throws IoError where the folder cannot be written.
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

}  // namespace

Calibration current_calibration() {
    return describe(machine_rates());
}

Calibration calibrate(const std::string& folder) {
    const auto file = rates_file();
    if (file.empty()) throw Unavailable("there is no cache folder: set HOME or XDG_CACHE_HOME");
    std::error_code ignored;  // what cannot be created cannot be written, which is told
    std::filesystem::create_directories(file.parent_path(), ignored);
    const int threads = thread_count(0);
    MachineRates rates;
    measure_gpu_start(rates);
    measure_file_rates(folder.empty() ? file.parent_path() : std::filesystem::path(folder), threads,
                       rates);
    cpu::measure_rates(threads, rates);
    write_rates(file, machine_key(), rates);
    return describe(rates);
}

}  // namespace convolume
