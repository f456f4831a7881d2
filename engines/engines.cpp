// SPDX-License-Identifier: Apache-2.0
#include "convolume/engines.hpp"

#include <algorithm>
#include <charconv>

#include "convolume/convolver.hpp"
#include "convolume/error.hpp"
#include "convolume/filter_bank.hpp"
#include "core/gpu_backend.hpp"
#include "core/host_memory.hpp"
#include "core/machine_rates.hpp"
#include "core/option_names.hpp"
#include "core/threads.hpp"
#include "cpu/signals/cpu_filter_engine.hpp"
#include "cpu/volumes/cpu_engine.hpp"
#include "engines/engines.hpp"

namespace convolume {

namespace {

/// Numbers of GPUs, "0,1" or "0+1"; none if the text is anything else or repeats one.
std::vector<int> parse_gpus(std::string_view text) {
    std::vector<int> gpus;
    const char* at = text.data();
    const char* const end = at + text.size();
    while (true) {
        int gpu = -1;
        const auto [next, error] = std::from_chars(at, end, gpu);
        const bool repeated = std::find(gpus.begin(), gpus.end(), gpu) != gpus.end();
        if (error != std::errc() || gpu < 0 || repeated) return {};
        gpus.push_back(gpu);
        if (next == end) return gpus;
        if (*next != ',' && *next != '+') return {};
        at = next + 1;
    }
}

}  // namespace

namespace {

/// Engines of the GPUs that `choice` asks for, by that function of the CUDA part; none where the
/// CPU is to do the work instead.
template <class List>
List gpu_engines(const EngineChoice& choice, List (*GpuBackend::*make)(const GpuOptions&),
                 const MachineRates& rates) {
    const bool automatic = choice.device == EngineChoice::Device::automatic;
    if (choice.device == EngineChoice::Device::cpu || (automatic && !gpu_unavailable().empty()))
        return {};
    try {
        return (require_gpu_backend().*make)(
            {choice.gpus, choice.max_gpu_bytes, choice.transfer_gate, choice.threads, 0, rates});
    } catch (const Error&) {
        if (!automatic) throw;
        return {};
    }
}

/// Returns the result of that function of the CUDA part; empty without the CUDA part.
template <class Answer>
Answer answer_of(Answer (*GpuBackend::*question)()) {
    const GpuBackend* const backend = gpu_backend();
    return backend ? (backend->*question)() : Answer();
}

}  // namespace

EngineList make_engines(const EngineChoice& choice) {
    if (choice.cpu_engines < 1)
        throw InvalidArgument(
            message(choice.cpu_engines, " engines were asked for: at least 1 must work"));
    check_threads(choice.threads);
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
        engines.push_back(make_cpu_engine({message("cpu:", i), gpus + i,
                                           std::max(1, threads / choice.cpu_engines),
                                           choice.max_cpu_engine_bytes.value_or(0), rates}));
    return engines;
}

FilterEngineList make_filter_engines(const EngineChoice& choice) {
    check_threads(choice.threads);
    FilterEngineList engines = gpu_engines(choice, &GpuBackend::make_filter_engines, {});
    if (choice.device == EngineChoice::Device::gpu) return engines;

    CpuFilterEngineOptions cpu;
    cpu.index = static_cast<int>(engines.size());
    cpu.threads = thread_count(choice.threads);
    engines.push_back(make_cpu_filter_engine(cpu));
    return engines;
}

const char* to_string(EngineChoice::Device device) {
    return name_of(device);
}

EngineChoice::Device parse_device(std::string_view text) {
    if (const auto device = value_named<EngineChoice::Device>(text)) return *device;
    throw InvalidArgument(message("unknown device \"", text, "\": choose auto, cpu or gpu"));
}

const char* to_string(TransferGate gate) {
    return name_of(gate);
}

TransferGate parse_transfer_gate(std::string_view text) {
    return parse_name<TransferGate>(text, "the transfer gate is ");
}

HostResources host_resources() {
    const HostMemoryLimit memory = host_memory_limit();
    return {processor_name(), thread_count(0), memory.available_bytes, memory.rule};
}

std::string gpu_unavailable() {
    const GpuBackend* const backend = gpu_backend();
    return backend ? backend->unavailable() : why_no_gpu_backend;
}

double gpu_start_seconds() {
    const GpuBackend* const backend = gpu_backend();
    return backend && !backend->started() ? machine_rates().gpu_start_s : 0;
}

std::vector<GpuDevice> gpu_devices() {
    return answer_of(&GpuBackend::devices);
}

std::string cuda_driver_version() {
    return answer_of(&GpuBackend::driver_version);
}

std::string cuda_runtime_version() {
    return answer_of(&GpuBackend::runtime_version);
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

void set_devices(EngineChoice& engines, std::string_view text) {
    using Device = EngineChoice::Device;
    constexpr std::string_view several = "gpu:";
    std::vector<int> gpus;
    if (text.starts_with(several)) gpus = parse_gpus(text.substr(several.size()));
    if (!gpus.empty()) {
        engines.device = Device::gpu;
        engines.gpus = std::move(gpus);
        return;
    }
    for (const Device device : {Device::automatic, Device::cpu, Device::gpu})
        if (text == to_string(device)) {
            engines.device = device;
            engines.gpus.clear();
            return;
        }
    throw InvalidArgument(
        message("there is no device \"", text, "\": choose auto, cpu, gpu, gpu:0 or gpu:0,1"));
}

index_t host_limit_bytes(const std::optional<index_t>& chosen) {
    return chosen ? *chosen : available_host_bytes() / 4 * 3;
}

}  // namespace convolume
