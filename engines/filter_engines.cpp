// SPDX-License-Identifier: Apache-2.0
#include "convolume/error.hpp"
#include "convolume/filter_bank.hpp"
#include "core/gpu_backend.hpp"
#include "core/threads.hpp"
#include "cpu/signals/cpu_filter_engine.hpp"
#include "engines/engines.hpp"

namespace convolume {

FilterEngineList make_filter_engines(const EngineChoice& choice) {
    check_threads(choice.threads);

    using Device = EngineChoice::Device;
    FilterEngineList engines;
    if (choice.device == Device::gpu ||
        (choice.device == Device::automatic && gpu_unavailable().empty())) {
        try {
            engines = require_gpu_backend().make_filter_engines(
                {choice.gpus, choice.max_gpu_bytes, choice.transfer_gate, choice.threads, 0, {}});
        } catch (const Error&) {
            if (choice.device == Device::gpu) throw;  // else the CPU does it
        }
    }
    if (choice.device == Device::gpu) return engines;

    CpuFilterEngineOptions cpu;
    cpu.index = static_cast<int>(engines.size());
    cpu.threads = thread_count(choice.threads);
    engines.push_back(make_cpu_filter_engine(cpu));
    return engines;
}

}  // namespace convolume
