// SPDX-License-Identifier: Apache-2.0
#pragma once
// The devices of a run: --device, GPUs that cannot be used, and GPUs that fail.

#include <string_view>

#include "cli/text/console.hpp"
#include "convolume/engines.hpp"
#include "convolume/error.hpp"

namespace convolume::cli {

/// "auto", "cpu", "gpu" or "gpu:0,1" into `engines`.
void parse_device(std::string_view text, EngineChoice& engines);

/// Warns where `auto` computes on the CPU although the machine has an NVIDIA GPU that this build
/// could use, and was asked to. Silent on machines and in builds without GPUs.
void warn_of_idle_gpu(const Console& console, const EngineChoice& engines);

/// Calls `run`; where a device fails in it and the choice of devices was left to convolume, warns
/// and calls it again with CPU engines alone.
template <class Request, class Run>
void run_with_fallback(const Console& console, const Request& request, const Run& run) {
    try {
        return run(request);
    } catch (const DeviceFailure& failure) {
        if (request.engines.device != EngineChoice::Device::automatic) throw;
        console.warning(message("starting again on the CPU, since ", failure.what()));
    }
    // Nothing of the first run is left: outputs appear under their name only when complete.
    Request on_cpu = request;
    on_cpu.engines.device = EngineChoice::Device::cpu;
    run(on_cpu);
}

}  // namespace convolume::cli
