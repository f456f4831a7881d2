// SPDX-License-Identifier: Apache-2.0
#include "convolume/engines.hpp"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <system_error>

#include "convolume/calibration.hpp"
#include "convolume/error.hpp"
#include "convolume/volume.hpp"
#include "core/gpu_backend.hpp"
#include "core/host_memory.hpp"
#include "core/kept_measurements.hpp"
#include "core/machine_rates.hpp"
#include "core/scratch_file.hpp"
#include "core/threads.hpp"
#include "cpu/fftw.hpp"
#include "cpu/signals/cpu_filter_engine.hpp"
#include "cpu/volumes/cost.hpp"
#include "cpu/volumes/cpu_engine.hpp"
#include "engines/engines.hpp"

namespace convolume {

namespace {

// Returns how many GPUs CUDA will start, without starting it; at least 1.
int visible_gpus() {
    if (const char* const visible = std::getenv("CUDA_VISIBLE_DEVICES")) {
        const std::string_view names = visible;
        return 1 + static_cast<int>(std::count(names.begin(), names.end(), ','));
    }
    constexpr int most = 64;
    static const int listed = [] {
        int count = 0;
        std::error_code ignored;
        for (int i = 0; i < most; ++i)
            count += std::filesystem::exists(message("/dev/nvidia", i), ignored) ? 1 : 0;
        return count;
    }();
    return std::max(1, listed);
}

/// Measurements of how long GPUs take to start. They can be read before CUDA has started.
KeptMeasurements& gpu_starts() {
    static KeptMeasurements kept(measurements_file("gpu-starts.json"), machine_key());
    return kept;
}

std::string name_of_gpu_start() {
    return message("start of ", visible_gpus(), " GPUs");
}

using Clock = std::chrono::steady_clock;

/// Makes engines of the GPUs that `choice` names, by function `make` of the CUDA part. Returns none
/// if the CPU is to be used instead.
template <class List>
List gpu_engines(const EngineChoice& choice, List (*GpuBackend::*make)(const GpuOptions&),
                 const MachineRates& rates) {
    const bool automatic = choice.device == EngineChoice::Device::automatic,
               starts_all_gpus = choice.gpus.empty() && gpu_start_seconds() > 0;
    const auto begin = Clock::now();
    if (choice.device == EngineChoice::Device::cpu || (automatic && !gpu_unavailable().empty()))
        return {};
    try {
        const GpuBackend& backend = require_gpu_backend();
        if (starts_all_gpus) {
            backend.start_devices(choice.gpus);
            gpu_starts().keep(name_of_gpu_start(),
                              {std::chrono::duration<double>(Clock::now() - begin).count()});
        }
        return (backend.*make)(
            {choice.gpus, choice.max_gpu_bytes, choice.transfer_gate, choice.threads, 0, rates});
    } catch (const Error&) {
        if (!automatic) throw;
        return {};
    }
}

/// Returns the result of `function` of the CUDA part; an empty result in a build without CUDA.
template <class Result>
Result result_or_empty(Result (*GpuBackend::*function)()) {
    const GpuBackend* const backend = gpu_backend();
    return backend ? (backend->*function)() : Result();
}

Calibration describe(const MachineRates& rates) {
    constexpr MachineRates built_in;
    Calibration calibration{machine_key(), rates_file().string(), rates != built_in, {}};
    for (const MeasurableRate& rate : measurable_rates())
        calibration.rates.push_back(
            {rate.name, rate.meaning, rate.per_second, built_in.*rate.value, rates.*rate.value});
    return calibration;
}

constexpr index_t file_bytes = index_t{64} << 20;
constexpr index_t call_bytes = index_t{4} << 20;
constexpr int rounds = 5;
constexpr int most_file_threads = 8;  // number of threads that io/ uses for image files

// Calls transfer(offset) for every section of the file. Returns the seconds since `begin`.
template <class Transfer>
double transfer_all(int threads, Clock::time_point begin, const Transfer& transfer) {
    parallel_for(file_bytes / call_bytes, std::min(threads, most_file_threads),
                 [&](index_t i, int) { transfer(i * call_bytes); });
    return std::chrono::duration<double>(Clock::now() - begin).count();
}

// Measures the rates of a file of 64 MiB in `folder` and puts them into `rates`. Space for the file
// is allocated before it is written. It is then brought to disk, and read while it is in the
// system's cache. Throws IoError if the folder cannot be written.
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
        // A file system lets one thread at a time write to a file.
        keep_least(write_s, transfer_all(1, begin, [&](index_t offset) {
                       file.write(offset, memory.as<char>() + offset, call_bytes);
                   }));
        const auto written = Clock::now();
        file.sync();
        keep_least(sync_s, std::chrono::duration<double>(Clock::now() - written).count());
        keep_least(read_s, transfer_all(threads, Clock::now(), [&](index_t offset) {
                       file.read(offset, memory.as<char>() + offset, call_bytes);
                   }));
    }
    rates.file_write_bytes_per_s = static_cast<double>(file_bytes) / write_s;
    rates.file_sync_bytes_per_s = static_cast<double>(file_bytes) / sync_s;
    rates.file_read_bytes_per_s = static_cast<double>(file_bytes) / read_s;
}

}  // namespace

EngineList make_engines(const EngineChoice& choice) {
    if (choice.cpu_engines < 1)
        throw InvalidArgument(
            message(choice.cpu_engines, " engines were asked for: at least 1 must work"));
    check_threads(choice.threads);
    if (choice.fft == FftLibrary::fftw) cpu::require_fftw();
    if (choice.max_cpu_engine_bytes && *choice.max_cpu_engine_bytes < 1)
        throw InvalidArgument("an engine without memory cannot work: give it at least 1 MiB");
    if (choice.max_gpu_bytes && *choice.max_gpu_bytes < 1)
        throw InvalidArgument("a GPU without memory cannot work: give it at least 64 MiB");

    const MachineRates rates = choice.calibrated ? machine_rates() : MachineRates{};
    EngineList engines = gpu_engines(choice, &GpuBackend::make_engines, rates);
    if (choice.device == EngineChoice::Device::gpu) return engines;

    const auto gpus = static_cast<int>(engines.size());
    const int threads = thread_count(choice.threads);
    for (int i = 0; i < choice.cpu_engines; ++i)
        engines.push_back(make_cpu_engine(
            {message("cpu:", i), gpus + i, std::max(1, threads / choice.cpu_engines),
             choice.max_cpu_engine_bytes.value_or(0), rates, choice.fft}));
    return engines;
}

EngineList with_joined_gpus(EngineList engines) {
    EngineList gpus;
    for (const auto& engine : engines)
        if (engine->info().is_gpu) gpus.push_back(engine);
    if (gpus.size() < 2) return engines;
    if (auto joined = gpus.front()->join(gpus)) engines.push_back(std::move(joined));
    return engines;
}

void keep_ffts(const EngineList& engines) {
    for (const auto& engine : engines) keep_ffts(*engine);
}

FilterEngineList make_filter_engines(const EngineChoice& choice) {
    check_threads(choice.threads);
    if (choice.fft == FftLibrary::fftw) cpu::require_fftw();
    FilterEngineList engines = gpu_engines(choice, &GpuBackend::make_filter_engines, {});
    if (choice.device == EngineChoice::Device::gpu) return engines;

    CpuFilterEngineOptions cpu;
    cpu.index = static_cast<int>(engines.size());
    cpu.threads = thread_count(choice.threads);
    cpu.fft = choice.fft;
    engines.push_back(make_cpu_filter_engine(cpu));
    return engines;
}

std::string describe_fft_libraries() {
    const std::string version = cpu::fftw_version();
    return version.empty()
               ? "own transforms; built without FFTW"
               : message("own transforms, and ", version, " for those that it computes faster");
}

std::string gpu_unavailable() {
    const GpuBackend* const backend = gpu_backend();
    return backend ? backend->unavailable() : why_no_gpu_backend;
}

double gpu_start_seconds() {
    const GpuBackend* const backend = gpu_backend();
    if (!backend || backend->started()) return 0;
    const auto kept = gpu_starts().find(name_of_gpu_start());
    return kept ? kept->front() : MachineRates{}.gpu_start_s * visible_gpus();
}

double gpu_start_seconds(const EngineChoice& choice) {
    const double all_s = gpu_start_seconds();
    const auto chosen = static_cast<double>(choice.gpus.size());
    return chosen > 0 && all_s > 0 ? all_s * std::min(1.0, chosen / visible_gpus()) : all_s;
}

void start_gpus(const EngineChoice& engines) noexcept {
    if (engines.device == EngineChoice::Device::cpu) return;
    try {
        if (gpu_start_seconds() > 0) gpu_backend()->start_devices(engines.gpus);
    } catch (...) {  // the first use meets the same error
    }
}

std::vector<GpuDevice> gpu_devices() {
    return result_or_empty(&GpuBackend::devices);
}

std::string cuda_driver_version() {
    return result_or_empty(&GpuBackend::driver_version);
}

std::string cuda_runtime_version() {
    return result_or_empty(&GpuBackend::runtime_version);
}

GpuBandwidth measure_gpu_bandwidth(int device) {
    return require_gpu_backend().measure_bandwidth(device);
}

double measure_concurrent_upload(const std::vector<int>& devices) {
    return require_gpu_backend().measure_concurrent_upload(devices);
}

TransferGateChoice choose_transfer_gate(const std::vector<int>& devices) {
    return require_gpu_backend().choose_transfer_gate(devices);
}

Calibration current_calibration() {
    return describe(machine_rates());
}

Calibration calibrate(const std::string& folder) {
    const auto file = rates_file();
    if (file.empty()) throw Unavailable("there is no cache folder: set HOME or XDG_CACHE_HOME");
    std::error_code ignored;  // write_rates() reports a missing folder
    std::filesystem::create_directories(file.parent_path(), ignored);
    const int threads = thread_count(0);
    MachineRates rates;
    measure_file_rates(folder.empty() ? file.parent_path() : std::filesystem::path(folder), threads,
                       rates);
    cpu::measure_rates(threads, rates);
    write_rates(file, machine_key(), rates);
    // The next process measures GPUs.
    std::filesystem::remove(measurements_file("gpu-rates.json"), ignored);
    return describe(rates);
}

}  // namespace convolume
