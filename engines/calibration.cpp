// SPDX-License-Identifier: Apache-2.0
#include "convolume/calibration.hpp"

#include <chrono>
#include <system_error>

#include "convolume/error.hpp"
#include "core/file_rates.hpp"
#include "core/gpu_backend.hpp"
#include "core/machine_rates.hpp"
#include "core/threads.hpp"
#include "cpu/volumes/calibration.hpp"

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

// Of a process that has not used one yet.
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
