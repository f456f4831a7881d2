#include "convolve_command.hpp"

#include <filesystem>
#include <iostream>

#include "convolve_report.hpp"
#include "interrupt.hpp"
#include "machine.hpp"
#include "output_path.hpp"
#include "progress.hpp"
#include "version.hpp"

namespace convolume::cli {

namespace {

bool same_file(const std::string& a, const std::string& b) {
    namespace fs = std::filesystem;
    std::error_code missing;
    if (fs::equivalent(a, b, missing)) return true;
    // Files yet to be written have only names to compare.
    return fs::weakly_canonical(fs::absolute(a), missing) ==
           fs::weakly_canonical(fs::absolute(b), missing);
}

void check_outputs(const ConvolveRequest& request) {
    const std::string result = io::parse_path(request.output).file;
    for (const std::string& output : {request.timeline, result}) {
        if (output.empty()) continue;
        for (const std::string& input : {request.image, request.kernel})
            if (same_file(io::parse_path(input).file, output))
                throw InvalidArgument(
                    message("the output \"", output, "\" is one of the inputs; name another file"));
        check_output_path(output, request.create.overwrite);
    }
    if (!request.timeline.empty() && !result.empty() && same_file(request.timeline, result))
        throw InvalidArgument(message("the timeline and the result would both be \"", result,
                                      "\"; name another file for one of them"));
}

// A GPU that should work and does not deserves a word; a machine or build without one does not.
void warn_of_idle_gpu(const Console& console, const EngineChoice& choice) {
    const bool built_with_cuda = !cuda_runtime_version().empty();
    if (choice.device != EngineChoice::Device::automatic || !built_with_cuda) return;
    const std::string why_not = gpu_unavailable();
    if (!why_not.empty() && has_nvidia_gpu())
        console.warning(message("computing on the CPU, since ", why_not));
}

Volume read_kernel(io::ImageReader& reader, const std::string& path, Timeline& timeline) {
    const io::ImageMetadata& metadata = reader.metadata();
    if (metadata.channels != 1 || metadata.frames != 1)
        throw BadData(message("a kernel is one 3D stack, but \"", path, "\" has ",
                              metadata.channels, " channels and ", metadata.frames,
                              " frames; save one of them as its own file"));
    Volume kernel(metadata.shape, metadata.type);
    const PhaseTimer timer(&timeline, Phase::read, -1, -1, kernel.bytes());
    reader.read(0, 0, kernel.view());
    return kernel;
}

Convolver plan_convolver(const ConvolveRequest& request, io::ImageReader& kernel_reader,
                         ConvolveFacts& facts, Timeline& timeline) {
    const PixelType image_type = facts.input.type;
    const PixelType output_type = resolve_output_type(request.output_type, image_type,
                                                      facts.kernel.type, request.options.precision);
    const Volume kernel = read_kernel(kernel_reader, request.kernel, timeline);
    const Shape3 image_shape =
        planned_image_shape(facts.input.shape, facts.kernel.shape, request.options);
    const double begin_s = timeline.now_s();
    Convolver convolver(image_shape, kernel.view(), request.options, make_engines(request.engines),
                        image_type, output_type);
    facts.plan_s = timeline.now_s() - begin_s;
    facts.kernel_sum = convolver.kernel_sum();
    facts.output = facts.input;
    facts.output.shape = convolver.output_shape();
    facts.output.type = output_type;
    return convolver;
}

ExecutionReport execute(const Convolver& convolver, const Volume& input, Volume& output, index_t t,
                        index_t c, const ConvolveFacts& facts, const ExecutionContext& context) {
    try {
        return convolver.execute(input.view(), output.view(), context);
    } catch (const BadData& error) {
        if (facts.volumes() == 1) throw;
        throw BadData(message("in frame ", t, ", channel ", c, " (from 0): ", error.what()));
    }
}

void convolve_all(const Convolver& convolver, io::ImageReader& reader, io::ImageWriter& writer,
                  ConvolveFacts& facts, const Console& console, ExecutionContext& context) {
    const HostMemory memory =
        convolver.plan().chosen.on_gpu ? HostMemory::page_locked : HostMemory::ordinary;
    Volume input(facts.input.shape, facts.input.type, memory);
    Volume output(facts.output.shape, facts.output.type, memory);
    const auto style = console.quiet()        ? ProgressMeter::Style::none
                       : stderr_is_terminal() ? ProgressMeter::Style::terminal
                                              : ProgressMeter::Style::plain;
    const auto volumes = static_cast<double>(facts.volumes());
    ProgressMeter meter(console.out(), style,
                        volumes * static_cast<double>(element_count(facts.input.shape)),
                        steady_clock_s);
    double done = 0;
    context.progress = [&](double fraction) { meter.update((done + fraction) / volumes); };
    for (index_t t = 0; t < facts.input.frames; ++t) {
        for (index_t c = 0; c < facts.input.channels; ++c) {
            throw_if_stopped(context);
            {
                const PhaseTimer timer(context.timeline, Phase::read, -1, -1, input.bytes());
                reader.read(t, c, input.view());
            }
            throw_if_stopped(context);
            facts.add(execute(convolver, input, output, t, c, facts, context));
            const PhaseTimer timer(context.timeline, Phase::write, -1, -1, output.bytes());
            writer.write(t, c, output.view());
            done += 1;
        }
    }
    throw_if_stopped(context);
    const PhaseTimer timer(context.timeline, Phase::write);
    writer.commit();
}

void convolve_file(const ConvolveRequest& request, const Console& console,
                   const InterruptGuard& interrupt) {
    Timeline timeline;
    ConvolveFacts facts;
    const auto reader = io::open_image(request.image, {.axes = request.axes});
    const auto kernel_reader = io::open_image(request.kernel);
    facts.input = reader->metadata();
    facts.kernel = kernel_reader->metadata();
    const Convolver convolver = plan_convolver(request, *kernel_reader, facts, timeline);
    report_plan(console, request, facts, convolver.plan());
    if (request.dry_run) {
        if (request.json) write_stdout(to_json(request, facts, convolver.plan(), nullptr));
        return;
    }

    ExecutionContext context;
    context.timeline = &timeline;
    context.stop = interrupt.stop();
    io::CreateOptions create = request.create;
    create.software = std::string("convolume ") + version;
    const auto writer = io::create_image(request.output, facts.output, create);
    convolve_all(convolver, *reader, *writer, facts, console, context);

    if (!request.timeline.empty()) write_whole_file(request.timeline, timeline.to_json());
    report_end(console, request, facts, timeline);
    if (request.json) write_stdout(to_json(request, facts, convolver.plan(), &timeline));
}

}  // namespace

void run_with_fallback(const Console& console, const ConvolveRequest& request,
                       const std::function<void(const ConvolveRequest&)>& run) {
    try {
        return run(request);
    } catch (const DeviceFailure& failure) {
        if (request.engines.device != EngineChoice::Device::automatic) throw;
        console.warning(message("starting again on the CPU, since ", failure.what()));
    }
    // Nothing of the first run is left: outputs appear under their name only when complete.
    ConvolveRequest on_cpu = request;
    on_cpu.engines.device = EngineChoice::Device::cpu;
    run(on_cpu);
}

void run_convolve(const ConvolveRequest& request) {
    const Console console(std::cerr, request.verbosity, stderr_wants_colors());
    InterruptGuard interrupt;
    check_outputs(request);
    warn_of_idle_gpu(console, request.engines);
    run_with_fallback(console, request, [&](const ConvolveRequest& chosen) {
        convolve_file(chosen, console, interrupt);
    });
}

}  // namespace convolume::cli
