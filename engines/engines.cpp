// SPDX-License-Identifier: Apache-2.0
#include "convolume/engines.hpp"

#include <algorithm>

#include "convolume/convolver.hpp"
#include "convolume/error.hpp"
#include "core/gpu_backend.hpp"
#include "core/threads.hpp"
#include "cpu/volumes/cpu_engine.hpp"
#include "engines/engines.hpp"

namespace convolume {

EngineList make_engines(const EngineChoice& choice) {
    if (choice.cpu_engines < 1)
        throw InvalidArgument(
            message(choice.cpu_engines, " engines were asked for: at least 1 must work"));
    check_threads(choice.threads);
    if (choice.max_cpu_engine_bytes && *choice.max_cpu_engine_bytes < 1)
        throw InvalidArgument("an engine without memory cannot work: give it at least 1 MiB");
    if (choice.max_gpu_bytes && *choice.max_gpu_bytes < 1)
        throw InvalidArgument("a GPU without memory cannot work: give it at least 64 MiB");

    using Device = EngineChoice::Device;
    const MachineRates rates = choice.calibrated ? machine_rates() : MachineRates{};
    EngineList engines;
    if (choice.device == Device::gpu ||
        (choice.device == Device::automatic && gpu_unavailable().empty())) {
        try {
            engines = require_gpu_backend().make_engines({choice.gpus, choice.max_gpu_bytes,
                                                          choice.transfer_gate, choice.threads, 0,
                                                          rates});
        } catch (const Error&) {
            if (choice.device == Device::gpu) throw;  // else the CPU does it
        }
    }
    if (choice.device == Device::gpu) return engines;

    const auto gpus = static_cast<int>(engines.size());
    const int threads = thread_count(choice.threads);
    for (int i = 0; i < choice.cpu_engines; ++i)
        engines.push_back(make_cpu_engine({message("cpu:", i), gpus + i,
                                           std::max(1, threads / choice.cpu_engines),
                                           choice.max_cpu_engine_bytes.value_or(0), rates}));
    return engines;
}

}  // namespace convolume
