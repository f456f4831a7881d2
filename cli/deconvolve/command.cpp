#include "cli/deconvolve/command.hpp"

#include <iostream>

#include "cli/convolve/request.hpp"
#include "cli/deconvolve/report.hpp"
#include "cli/files/volumes.hpp"
#include "cli/run/interrupt.hpp"
#include "cli/run/output_path.hpp"
#include "cli/run/progress.hpp"
#include "cli/version.hpp"

namespace convolume::cli {

namespace {

Deconvolver plan_deconvolver(const DeconvolveRequest& request, DeconvolveFacts& facts,
                             const Timeline& timeline) {
    if (is_complex(facts.input.type))
        throw BadData("the image is complex: give its intensity, which is real");
    facts.output = facts.input;
    facts.output.type = resolve_output_type(request.output_type, facts.input.type,
                                            PixelType::float32, Precision::float32);
    if (is_complex(facts.output.type))
        throw InvalidArgument(message("the result is real and is not written as ",
                                      name_of(facts.output.type),
                                      "; choose another --output-type"));
    DeconvolveOptions options = request.options;
    options.center = facts.psf.explicit_center();
    const auto& size = facts.input.voxel_size_um;
    if (size[0] && size[1] && size[2]) options.voxel_size = {*size[0], *size[1], *size[2]};
    const double begin_s = timeline.now_s();
    Deconvolver deconvolver(facts.input.shape, facts.psf.values.view(), options, request.engines);
    facts.plan_s = timeline.now_s() - begin_s;
    facts.psf.values = Volume();  // the deconvolver has its own
    return deconvolver;
}

void deconvolve_all(const DeconvolveRequest& request, Deconvolver& deconvolver,
                    io::ImageReader& reader, io::ImageWriter& writer, DeconvolveFacts& facts,
                    const Console& console, ExecutionContext& context) {
    const auto volumes = static_cast<double>(facts.input.frames * facts.input.channels);
    ProgressMeter meter(console.out(), progress_style(console),
                        volumes * request.options.iterations *
                            static_cast<double>(element_count(facts.input.shape)),
                        steady_clock_s);
    double done = 0;
    context.progress = [&](double fraction) { meter.update((done + fraction) / volumes); };
    const auto told = [&](const Iteration& iteration) {
        const std::string text = iteration_text(iteration, request.options.method);
        meter.note(text);
        if (!console.verbose()) return;
        meter.clear();
        console.text(text + "\n");
    };
    for_each_volume(reader, writer, facts.output, HostMemory::ordinary, context,
                    [&](const ConstImageView& input, const ImageView& output) {
                        facts.volumes.push_back(deconvolver.execute(input, output, context, told));
                        done += 1;
                    });
}

void deconvolve_file(const DeconvolveRequest& request, const Console& console,
                     const InterruptGuard& interrupt) {
    Timeline timeline;
    DeconvolveFacts facts;
    const auto reader = io::open_image(request.image, {.axes = request.axes});
    facts.input = reader->metadata();
    facts.psf = load_kernel(request.psf, facts.input, request.psf_choice, timeline);
    Deconvolver deconvolver = plan_deconvolver(request, facts, timeline);
    report_plan(console, request, facts, deconvolver);
    if (request.report.dry_run) {
        if (request.report.json) write_stdout(to_json(request, facts, deconvolver, nullptr));
        return;
    }

    ExecutionContext context;
    context.timeline = &timeline;
    context.stop = interrupt.stop();
    io::CreateOptions create = request.create;
    create.software = std::string("convolume ") + version;
    const auto writer = io::create_image(request.output, facts.output, create);
    deconvolve_all(request, deconvolver, *reader, *writer, facts, console, context);

    if (!request.report.timeline.empty())
        write_whole_file(request.report.timeline, timeline.to_json());
    report_end(console, request, facts, timeline);
    if (request.report.json) write_stdout(to_json(request, facts, deconvolver, &timeline));
}

}  // namespace

void run_deconvolve(const DeconvolveRequest& request) {
    const Console console(std::cerr, request.report.verbosity, stderr_wants_colors());
    InterruptGuard interrupt;
    check_outputs({request.report.timeline, request.output}, {request.image, request.psf},
                  request.create.overwrite);
    warn_of_idle_gpu(console, request.engines);
    run_with_fallback(console, request, [&](const DeconvolveRequest& chosen) {
        deconvolve_file(chosen, console, interrupt);
    });
}

}  // namespace convolume::cli
