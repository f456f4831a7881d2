// SPDX-License-Identifier: Apache-2.0
#include "cli/run/run.hpp"

#include <time.h>

#include <utility>

#include "cli/files/metadata_json.hpp"

namespace convolume::cli {

namespace {

// Processor time until now: of loading the program and reading its options.
double spent_s() {
    timespec spent{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &spent);
    return static_cast<double>(spent.tv_sec) + 1e-9 * static_cast<double>(spent.tv_nsec);
}

void execute(RunSteps& steps, const Console& console, ExecutionContext context) {
    const Work work = steps.work();
    const auto style = work.amount > 0 ? progress_style(console) : ProgressMeter::Style::none;
    ProgressMeter meter(console.out(), style, work.amount, steady_clock_s, work.unit);
    context.progress = [&meter](double fraction) { meter.update(fraction); };
    steps.execute(console, meter, context);
}

}  // namespace

std::string json_text(const RunSteps& steps, const RunTimes* times) {
    nlohmann::ordered_json json = versioned_json();
    steps.fill_json(json, times);
    return dump(json);
}

void carry_out(RunSteps& steps, const RunOptions& options, const Console& console,
               std::stop_token stop, const std::function<void()>& planned) {
    Timeline timeline(spent_s());
    ExecutionContext context;
    context.timeline = &timeline;
    context.stop = std::move(stop);

    const double open_s = timeline.now_s();
    steps.open(context);
    timeline.record_rest(Phase::open, open_s);
    const double plan_s = timeline.now_s();
    steps.plan(context);
    timeline.record_rest(Phase::plan, plan_s);
    const RunTimes times{timeline.now_s() - plan_s, timeline};
    planned();
    steps.report_plan(console);
    if (options.dry_run) {
        if (options.json) write_stdout(json_text(steps, nullptr));
        return;
    }

    execute(steps, console, context);
    throw_if_stopped(context);
    {
        const PhaseTimer timer(&timeline, Phase::commit);
        steps.commit();
    }
    if (!options.timeline.empty()) write_whole_file(options.timeline, timeline.to_json());
    steps.report_result(console, times);
    if (options.json) write_stdout(json_text(steps, &times));
}

}  // namespace convolume::cli
