#include "cli/convolve/command.hpp"

#include <iostream>

#include "cli/convolve/report.hpp"
#include "cli/files/volumes.hpp"
#include "cli/run/interrupt.hpp"
#include "cli/run/output_path.hpp"
#include "cli/run/progress.hpp"
#include "cli/version.hpp"

namespace convolume::cli {

namespace {

Convolver plan_convolver(const ConvolveRequest& request, ConvolveFacts& facts, Timeline& timeline) {
    const PixelType image_type = facts.input.type;
    const PixelType kernel_type = facts.kernel.metadata.type;
    const PixelType output_type = resolve_output_type(request.output_type, image_type, kernel_type,
                                                      request.options.precision);
    Options options = request.options;
    options.center = facts.kernel.explicit_center();
    const Shape3 image_shape =
        planned_image_shape(facts.input.shape, facts.kernel.values.shape(), options);
    const double begin_s = timeline.now_s();
    Convolver convolver(image_shape, facts.kernel.values.view(), options,
                        make_engines(request.engines), image_type, output_type);
    facts.plan_s = timeline.now_s() - begin_s;
    facts.kernel_sum = convolver.kernel_sum();
    facts.kernel.values = Volume();  // the convolver has its own
    facts.output = facts.input;
    facts.output.shape = convolver.output_shape();
    facts.output.type = output_type;
    return convolver;
}

void convolve_all(const Convolver& convolver, io::ImageReader& reader, io::ImageWriter& writer,
                  ConvolveFacts& facts, const Console& console, ExecutionContext& context) {
    const HostMemory memory =
        convolver.plan().chosen.on_gpu ? HostMemory::page_locked : HostMemory::ordinary;
    const auto volumes = static_cast<double>(facts.volumes());
    ProgressMeter meter(console.out(), progress_style(console),
                        volumes * static_cast<double>(element_count(facts.input.shape)),
                        steady_clock_s);
    double done = 0;
    context.progress = [&](double fraction) { meter.update((done + fraction) / volumes); };
    for_each_volume(reader, writer, facts.output, memory, context,
                    [&](const ConstImageView& input, const ImageView& output) {
                        facts.add(convolver.execute(input, output, context));
                        done += 1;
                    });
}

void convolve_file(const ConvolveRequest& request, const Console& console,
                   const InterruptGuard& interrupt) {
    Timeline timeline;
    ConvolveFacts facts;
    const auto reader = io::open_image(request.image, {.axes = request.axes});
    facts.input = reader->metadata();
    facts.kernel = load_kernel(request.kernel, facts.input, request.kernel_choice, timeline);
    const Convolver convolver = plan_convolver(request, facts, timeline);
    report_plan(console, request, facts, convolver.plan());
    if (request.report.dry_run) {
        if (request.report.json) write_stdout(to_json(request, facts, convolver.plan(), nullptr));
        return;
    }

    ExecutionContext context;
    context.timeline = &timeline;
    context.stop = interrupt.stop();
    io::CreateOptions create = request.create;
    create.software = std::string("convolume ") + version;
    const auto writer = io::create_image(request.output, facts.output, create);
    convolve_all(convolver, *reader, *writer, facts, console, context);

    if (!request.report.timeline.empty())
        write_whole_file(request.report.timeline, timeline.to_json());
    report_end(console, request, facts, timeline);
    if (request.report.json) write_stdout(to_json(request, facts, convolver.plan(), &timeline));
}

}  // namespace

void run_convolve(const ConvolveRequest& request) {
    const Console console(std::cerr, request.report.verbosity, stderr_wants_colors());
    InterruptGuard interrupt;
    check_outputs({request.report.timeline, request.output}, {request.image, request.kernel},
                  request.create.overwrite);
    warn_of_idle_gpu(console, request.engines);
    run_with_fallback(console, request, [&](const ConvolveRequest& chosen) {
        convolve_file(chosen, console, interrupt);
    });
}

}  // namespace convolume::cli
