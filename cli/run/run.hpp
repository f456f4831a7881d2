// SPDX-License-Identifier: Apache-2.0
#pragma once
// The steps of every run: open, plan, report the plan, stop if the run is dry, execute, commit,
// report. A subcommand gives the steps; options, console, signals, progress, timeline, JSON and the
// change from GPU to CPU are here.

#include <functional>
#include <iostream>
#include <nlohmann/json.hpp>
#include <stop_token>
#include <string>
#include <vector>

#include "cli/run/common_options.hpp"
#include "cli/run/output_path.hpp"
#include "cli/run/process_end.hpp"
#include "cli/run/progress.hpp"
#include "cli/run/report.hpp"
#include "cli/text/console.hpp"
#include "convolume/engines.hpp"
#include "convolume/error.hpp"
#include "convolume/execution.hpp"

namespace convolume::cli {

/// What execute() computes, for the progress line.
struct Work {
    double amount = 0;  ///< 0: unknown, and no progress is shown
    std::string unit = "voxel";
};

/// The steps of a subcommand, in the order in which they are called. Any of them may throw;
/// outputs that were not committed are then removed by their writers' destructors.
class RunSteps {
  public:
    RunSteps() = default;
    RunSteps(const RunSteps&) = delete;
    RunSteps& operator=(const RunSteps&) = delete;
    virtual ~RunSteps() = default;

    /// Opens the inputs and reads and checks what planning needs.
    virtual void open(const ExecutionContext& context) = 0;
    /// Plans. The time it takes is reported.
    virtual void plan(const ExecutionContext& context) = 0;
    virtual void report_plan(const Console& console) const = 0;
    // A dry run ends here.
    virtual Work work() const = 0;
    /// Creates the outputs and computes. `context` reports progress to `meter`.
    virtual void execute(const Console& console, ProgressMeter& meter,
                         const ExecutionContext& context) = 0;
    /// Gives the outputs their names.
    virtual void commit() = 0;
    virtual void report_result(const Console& console, const RunTimes& times) const = 0;

    /// Adds to the object of --json; `times` is null where execute() was not called.
    virtual void fill_json(nlohmann::ordered_json& json, const RunTimes* times) const = 0;
};

/// The text of --json.
std::string json_text(const RunSteps& steps, const RunTimes* times);

/// Steps as they are carried out, on a clock of their own.
class StagedRun {
  public:
    /// `started_s`: what the program took before.
    StagedRun(RunSteps& steps, std::stop_token stop, double started_s = 0);
    StagedRun(const StagedRun&) = delete;
    StagedRun& operator=(const StagedRun&) = delete;

    /// Opens and plans.
    void plan();
    /// Computes; `progress` gets the fraction done.
    void execute(const Console& console, ProgressMeter& meter,
                 const std::function<void(double)>& progress);
    /// Gives the outputs their names; may be called in another thread.
    void commit();

    RunTimes times() const { return {plan_s_, timeline_}; }
    const Timeline& timeline() const { return timeline_; }

  private:
    RunSteps& steps_;
    Timeline timeline_;
    ExecutionContext context_;
    double plan_s_ = 0;
};

/// Takes `steps` through a run. `planned` is called when it is planned.
void carry_out(RunSteps& steps, const RunOptions& options, const Console& console,
               std::stop_token stop, const std::function<void()>& planned);

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

/// Runs `Steps(request)`. A request has `run` (RunOptions), `files()` (RunFiles) and, where GPUs
/// can be used, `engines` (EngineChoice): then a GPU that fails is followed by a run on the CPU,
/// unless the request says that it cannot start again (`can_restart()`).
template <class Steps, class Request>
void run_steps(const Request& request) {
    const Console console(std::cerr, request.run.verbosity, stderr_wants_colors());
    const InterruptGuard interrupt;
    check_outputs(request.files());
    const auto run_once = [&](const Request& chosen) {
        Steps steps(chosen);
        carry_out(steps, chosen.run, console, interrupt.stop(), [&] {
            if constexpr (requires { chosen.engines; }) warn_of_idle_gpu(console, chosen.engines);
        });
    };
    if constexpr (requires { request.engines; }) {
        bool can_restart = true;
        if constexpr (requires { request.can_restart(); }) can_restart = request.can_restart();
        if (can_restart)
            run_with_fallback(console, request, run_once);
        else
            run_once(request);
    } else {
        run_once(request);
    }
}

}  // namespace convolume::cli
