// SPDX-License-Identifier: Apache-2.0
#pragma once
// The steps of every run: open, plan, report the plan, stop if the run is dry, execute, commit,
// report. A subcommand implements the steps. Console, signals, progress, timeline, JSON and the
// change from GPU to CPU are handled here.

#include <functional>
#include <iostream>
#include <nlohmann/json.hpp>
#include <stop_token>
#include <string>

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

/// The amount of work in execute(), for the progress line.
struct WorkAmount {
    double amount = 0;  ///< number of units; 0: unknown, and no progress is shown
    std::string unit = "voxel";
};

/// Takes what a run tells: lines for people, and members of the object of --json.
struct Facts {
    const Console& console;
    nlohmann::ordered_json& json;
};

/// The steps of a subcommand, in the order in which they are called. Any of them may throw;
/// outputs that were not committed are then removed by their writers' destructors.
class RunSteps {
  public:
    RunSteps() = default;
    RunSteps(const RunSteps&) = delete;
    RunSteps& operator=(const RunSteps&) = delete;
    virtual ~RunSteps() = default;

    /// Opens the inputs, and reads and checks everything that planning needs.
    virtual void open(const ExecutionContext& context) = 0;
    /// Makes the plan. The time for it is reported.
    virtual void plan(const ExecutionContext& context) = 0;
    // A dry run calls none of the following functions.
    virtual WorkAmount work() const = 0;
    /// Creates the outputs and computes. `context` reports progress to `meter`.
    virtual void execute(const Console& console, ProgressMeter& meter,
                         const ExecutionContext& context) = 0;
    /// Renames the finished outputs to their final names.
    virtual void commit() = 0;

    // What the run tells. The functions may be called again, for lines and for members.
    /// Tells what is read and what is planned.
    virtual void tell_plan(const Facts& facts) const = 0;
    /// Tells what was found, after commit(). The object has the "report" on times and samples.
    virtual void tell_result(const Facts&) const {}
    /// Tells what is written: after commit(), or in a dry run what would be.
    virtual void tell_output(const Facts& facts) const = 0;
    /// Returns counts and seconds for the "report".
    virtual ExecutionReport executed() const { return {}; }
    /// Returns true if warnings wait for the end of the run, where only the first ones are printed.
    virtual bool ranks_warnings() const { return false; }
};

void print_plan(const RunSteps& steps, const Console& console, const RunOptions& options);
/// Prints the lines of the result and of the outputs.
void print_result(const RunSteps& steps, const Console& console, const RunTimes& times);
/// Adds all members to the object of --json; `times` is null if execute() was not called.
void fill_json(const RunSteps& steps, nlohmann::ordered_json& json, const RunTimes* times);

/// Returns the text of --json.
std::string json_text(const RunSteps& steps, const RunTimes* times);

/// One run of a subcommand's steps, with a timeline of its own.
class StepwiseRun {
  public:
    /// `started_s` is the time that the program has taken before.
    StepwiseRun(RunSteps& steps, std::stop_token stop, double started_s = 0);
    StepwiseRun(const StepwiseRun&) = delete;
    StepwiseRun& operator=(const StepwiseRun&) = delete;

    /// Opens the inputs and makes the plan.
    void plan();
    /// Computes; calls `progress` with the fraction that is done.
    void execute(const Console& console, ProgressMeter& meter,
                 const std::function<void(double)>& progress);
    /// Renames the finished outputs to their final names; may be called in another thread.
    void commit();

    RunTimes times() const { return {plan_s_, timeline_, total_s_}; }
    const Timeline& timeline() const { return timeline_; }

  private:
    RunSteps& steps_;
    Timeline timeline_;
    ExecutionContext context_;
    double plan_s_ = 0;
    double total_s_ = 0;
};

/// Carries out all steps of a run. Calls `planned` after the plan is made.
void carry_out(RunSteps& steps, const RunOptions& options, const Console& console,
               std::stop_token stop, const std::function<void()>& planned);

/// Warns if the device `auto` means the CPU although this build could use an NVIDIA GPU of the
/// machine. Silent on machines and in builds without GPUs.
void warn_of_idle_gpu(const Console& console, const EngineChoice& engines);

/// Calls `run`. If an automatically chosen device fails, warns and calls `run` again on the CPU.
template <class Request, class Run>
void run_with_fallback(const Console& console, const Request& request, const Run& run) {
    try {
        return run(request);
    } catch (const DeviceFailure& failure) {
        if (request.engines.device != EngineChoice::Device::automatic) throw;
        console.warning(message("starting again on the CPU, since ", failure.what()));
    }
    // The first run leaves no output: outputs get their names only when they are complete.
    Request on_cpu = request;
    on_cpu.engines.device = EngineChoice::Device::cpu;
    run(on_cpu);
}

/// Runs `Steps(request)`. A request has `run` (RunOptions), `files()` (RunFiles) and, if GPUs can
/// be used, `engines` (EngineChoice). If a GPU fails, the run is repeated on the CPU, unless the
/// request's `can_restart()` is false.
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
