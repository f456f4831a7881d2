#include "cli/filter/command.hpp"

#include <iostream>

#include "cli/filter/report.hpp"
#include "cli/run/interrupt.hpp"
#include "cli/run/output_path.hpp"
#include "cli/run/progress.hpp"
#include "cli/version.hpp"

namespace convolume::cli {

namespace {

FilterBank plan_bank(const FilterRequest& request, FilterFacts& facts, const Timeline& timeline) {
    std::vector<ConstImageView> filters;
    for (const FilterFile& file : facts.filters) filters.push_back(file.taps.view());
    const double begin_s = timeline.now_s();
    FilterBank bank({facts.signal.signals(), facts.signal.samples()}, filters, request.options,
                    make_filter_engines(request.engines), facts.signal.type);
    facts.plan_s = timeline.now_s() - begin_s;
    for (FilterFile& file : facts.filters) file.taps = {};  // the bank has its own
    facts.result_dims = result_dims(facts.signal, facts.filters, bank);
    return bank;
}

void filter_all(const FilterRequest& request, const FilterBank& bank, io::SignalReader& reader,
                FilterFacts& facts, const Console& console, ExecutionContext& context) {
    const io::CreateSignalOptions create{request.overwrite, std::string("convolume ") + version};
    const auto results = io::create_signal(request.output, facts.result_dims,
                                           io::sample_type_of(bank.result_type()), create);
    std::unique_ptr<io::SignalWriter> positions;
    if (!request.positions.empty())
        positions =
            io::create_signal(request.positions, facts.result_dims, io::SampleType::int64, create);
    {
        const double computed = static_cast<double>(facts.signal.signals()) *
                                static_cast<double>(bank.filters()) *
                                static_cast<double>(bank.range().count());
        ProgressMeter meter(console.out(), progress_style(console), computed, steady_clock_s,
                            "sample");
        context.progress = [&](double fraction) { meter.update(fraction); };
        FileSource source(reader, *context.timeline);
        FileSink sink(*results, positions.get(), bank.filters(), *context.timeline);
        facts.executed = bank.execute(source, sink, context);
    }
    throw_if_stopped(context);
    const PhaseTimer timer(context.timeline, Phase::write);
    if (positions) positions->commit();
    results->commit();
}

void filter_file(const FilterRequest& request, const Console& console,
                 const InterruptGuard& interrupt) {
    Timeline timeline;
    FilterFacts facts;
    const auto reader = io::open_signal(request.signal, request.signal_file);
    facts.signal = reader->info();
    facts.filters = read_filters(request.filters, request.filter_files, timeline);
    const FilterBank bank = plan_bank(request, facts, timeline);
    report_plan(console, request, facts, bank);
    if (request.report.dry_run) {
        if (request.report.json) write_stdout(to_json(request, facts, bank, nullptr));
        return;
    }

    ExecutionContext context;
    context.timeline = &timeline;
    context.stop = interrupt.stop();
    filter_all(request, bank, *reader, facts, console, context);

    if (!request.report.timeline.empty())
        write_whole_file(request.report.timeline, timeline.to_json());
    report_end(console, request, facts, bank, timeline);
    if (request.report.json) write_stdout(to_json(request, facts, bank, &timeline));
}

}  // namespace

void run_filter(const FilterRequest& request) {
    const Console console(std::cerr, request.report.verbosity, stderr_wants_colors());
    InterruptGuard interrupt;
    std::vector<std::string> inputs = request.filters;
    inputs.push_back(request.signal);
    check_outputs({request.report.timeline, request.positions, request.output}, inputs,
                  request.overwrite);
    warn_of_idle_gpu(console, request.engines);
    run_with_fallback(console, request, [&](const FilterRequest& chosen) {
        filter_file(chosen, console, interrupt);
    });
}

}  // namespace convolume::cli
