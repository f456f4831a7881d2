#pragma once
// What the subcommands that compute have in common: which devices, what is told, what happens when
// a device fails.

#include <string>
#include <string_view>

#include "cli/text/console.hpp"
#include "convolume/convolver.hpp"

namespace convolume::cli {

/// What a run tells besides its result.
struct ReportOptions {
    bool dry_run = false;
    bool json = false;
    std::string timeline;  ///< a file; empty for none
    Verbosity verbosity = Verbosity::normal;
};

/// "auto", "cpu", "gpu" or "gpu:0,1" into `choice`.
void parse_device(std::string_view text, EngineChoice& choice);

/// A GPU that should work and does not deserves a word; a machine or build without one does not.
void warn_of_idle_gpu(const Console& console, const EngineChoice& choice);

/// Calls `run`; where a device fails in it and the choice of devices was left to convolume, says so
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
