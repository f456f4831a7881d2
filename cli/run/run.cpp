// SPDX-License-Identifier: Apache-2.0
#include "cli/run/run.hpp"

#include <utility>

#include "cli/files/metadata_json.hpp"

namespace convolume::cli {

namespace {

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
    Timeline timeline;
    ExecutionContext context;
    context.timeline = &timeline;
    context.stop = std::move(stop);

    steps.open(context);
    const double begin_s = timeline.now_s();
    steps.plan(context);
    const RunTimes times{timeline.now_s() - begin_s, timeline};
    planned();
    steps.report_plan(console);
    if (options.dry_run) {
        if (options.json) write_stdout(json_text(steps, nullptr));
        return;
    }

    execute(steps, console, context);
    throw_if_stopped(context);
    {
        const PhaseTimer timer(&timeline, Phase::write);
        steps.commit();
    }
    if (!options.timeline.empty()) write_whole_file(options.timeline, timeline.to_json());
    steps.report_result(console, times);
    if (options.json) write_stdout(json_text(steps, &times));
}

}  // namespace convolume::cli
