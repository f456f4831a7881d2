// SPDX-License-Identifier: Apache-2.0
#include "cli/run/run.hpp"

#include <utility>

#include "cli/files/metadata_json.hpp"

namespace convolume::cli {

std::string json_text(const RunSteps& steps, const RunTimes* times) {
    nlohmann::ordered_json json = versioned_json();
    steps.fill_json(json, times);
    return dump(json);
}

StagedRun::StagedRun(RunSteps& steps, std::stop_token stop) : steps_(steps) {
    context_.timeline = &timeline_;
    context_.stop = std::move(stop);
}

void StagedRun::plan() {
    steps_.open(context_);
    const double begin_s = timeline_.now_s();
    steps_.plan(context_);
    plan_s_ = timeline_.now_s() - begin_s;
}

void StagedRun::execute(const Console& console, ProgressMeter& meter,
                        const std::function<void(double)>& progress) {
    context_.progress = progress;
    steps_.execute(console, meter, context_);
    throw_if_stopped(context_);
}

void StagedRun::commit() {
    const PhaseTimer timer(&timeline_, Phase::write);
    steps_.commit();
}

void carry_out(RunSteps& steps, const RunOptions& options, const Console& console,
               std::stop_token stop, const std::function<void()>& planned) {
    StagedRun run(steps, std::move(stop));
    run.plan();
    planned();
    steps.report_plan(console);
    if (options.dry_run) {
        if (options.json) write_stdout(json_text(steps, nullptr));
        return;
    }

    {
        const Work work = steps.work();
        const auto style = work.amount > 0 ? progress_style(console) : ProgressMeter::Style::none;
        ProgressMeter meter(console.out(), style, work.amount, steady_clock_s, work.unit);
        run.execute(console, meter, [&meter](double fraction) { meter.update(fraction); });
    }
    run.commit();
    const RunTimes times = run.times();
    if (!options.timeline.empty()) write_whole_file(options.timeline, run.timeline().to_json());
    steps.report_result(console, times);
    if (options.json) write_stdout(json_text(steps, &times));
}

}  // namespace convolume::cli
