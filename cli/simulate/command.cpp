#include "cli/simulate/command.hpp"

#include <algorithm>
#include <iostream>
#include <memory>

#include "cli/run/interrupt.hpp"
#include "cli/run/output_path.hpp"
#include "cli/run/progress.hpp"
#include "cli/simulate/report.hpp"
#include "cli/version.hpp"
#include "convolume/camera.hpp"

namespace convolume::cli {

namespace {

void check_light(const SimulateRequest& request, const SimulateFacts& facts) {
    request.camera.check();
    if (is_complex(facts.input.type) || is_complex(facts.kernel.metadata.type))
        throw BadData(
            "a camera records real light, but the phantom or the PSF is complex; save "
            "its intensity");
    if (request.options.nan == NanPolicy::propagate)
        throw InvalidArgument("a camera records no NaN; choose --nan error or zero");
    if (!(request.photons > 0 && request.photons <= 1e12))
        throw InvalidArgument(
            message("--photons is ", request.photons, "; give more than 0, up to 1e12"));
    if (const auto factor = request.photons_per_unit; factor && !(*factor > 0 && *factor <= 1e12))
        throw InvalidArgument(
            message("--photons-per-unit is ", *factor, "; give more than 0, up to 1e12"));
}

/// Camera and phantom side by side; files that do not know their voxel size count in voxels.
CameraGrid grid_of(const SimulateRequest& request, const io::ImageMetadata& input) {
    const auto known = [&](std::size_t axis, const std::optional<double>& asked,
                           const char* option) {
        const auto& size = input.voxel_size_um[axis];
        if (asked && !size)
            throw InvalidArgument(message(option, " needs the voxel size of the phantom, and \"",
                                          request.phantom,
                                          "\" does not say it; leave the option out or save the "
                                          "phantom with its voxel size"));
        return size.value_or(1);
    };
    const VoxelSize voxel{known(0, request.step_um, "--step"),
                          known(1, request.pixel_um, "--pixel"),
                          known(2, request.pixel_um, "--pixel")};
    return {input.shape,
            voxel,
            {request.step_um.value_or(voxel.z_um), request.pixel_um.value_or(voxel.y_um),
             request.pixel_um.value_or(voxel.x_um)}};
}

io::ImageMetadata recorded_metadata(const SimulateRequest& request, const io::ImageMetadata& input,
                                    const Shape3& shape) {
    io::ImageMetadata output = input;
    output.shape = shape;
    output.type = request.camera.bits <= 8 ? PixelType::uint8 : PixelType::uint16;
    if (request.step_um) output.voxel_size_um[0] = request.step_um;
    if (request.pixel_um) output.voxel_size_um[1] = output.voxel_size_um[2] = request.pixel_um;
    return output;
}

Convolver plan_convolver(const SimulateRequest& request, SimulateFacts& facts, Timeline& timeline) {
    Options options = request.options;
    options.center = facts.kernel.explicit_center();
    const double begin_s = timeline.now_s();
    Convolver convolver(
        facts.input.shape, facts.kernel.values.view(), options, make_engines(request.engines),
        facts.input.type,
        options.precision == Precision::float64 ? PixelType::float64 : PixelType::float32);
    facts.plan_s = timeline.now_s() - begin_s;
    facts.kernel.values = Volume();  // the convolver has its own
    return convolver;
}

index_t count_negative(const ConstImageView& volume) {
    index_t count = 0;
    visit_pixel_type(volume.type, [&](auto tag) {
        using T = typename decltype(tag)::type;
        if constexpr (std::is_signed_v<T> || std::is_floating_point_v<T>) {
            const T* const values = static_cast<const T*>(volume.data);
            count = std::count_if(values, values + element_count(volume.shape),
                                  [](T value) { return value < 0; });
        }
    });
    return count;
}

/// The specimen as the microscope images it, a channel at a time.
class BlurredLight {
  public:
    BlurredLight(io::ImageReader& reader, const Convolver& convolver, SimulateFacts& facts,
                 const ExecutionContext& context)
        : reader_(reader),
          convolver_(convolver),
          facts_(facts),
          context_(context),
          input_(facts.input.shape, facts.input.type, memory()),
          blurred_(facts.input.shape, convolver.natural_output_type(), memory()) {
        facts.negative_samples.assign(static_cast<std::size_t>(facts.volumes()), 0);
    }

    /// Light of channel c at time t; the one asked for last is kept.
    const Volume& of(index_t t, index_t c) {
        const index_t wanted = t * facts_.input.channels + c;
        if (wanted == present_) return blurred_;
        throw_if_stopped(context_);
        {
            const PhaseTimer timer(context_.timeline, Phase::read, -1, -1, input_.bytes());
            reader_.read(t, c, input_.view());
        }
        throw_if_stopped(context_);
        blur(t, c);
        ++facts_.convolutions;
        present_ = wanted;
        return blurred_;
    }

  private:
    void blur(index_t t, index_t c) {
        try {
            facts_.executed.seconds +=
                convolver_.execute(input_.view(), blurred_.view(), context_).seconds;
        } catch (const BadData& error) {
            if (facts_.volumes() == 1) throw;
            throw BadData(message("in frame ", t, ", channel ", c, " (from 0): ", error.what()));
        }
        facts_.negative_samples[static_cast<std::size_t>(t * facts_.input.channels + c)] =
            count_negative(input_.view());
    }

    HostMemory memory() const {
        return convolver_.plan().chosen.on_gpu ? HostMemory::page_locked : HostMemory::ordinary;
    }

    io::ImageReader& reader_;
    const Convolver& convolver_;
    SimulateFacts& facts_;
    const ExecutionContext& context_;
    Volume input_;
    Volume blurred_;
    index_t present_ = -1;
};

/// Calls `use(t, c, z, pixels)` for every plane that the camera takes.
template <class Use>
void for_each_plane(BlurredLight& light, const CameraGrid& grid, const SimulateRequest& request,
                    const SimulateFacts& facts, const ExecutionContext& context, const Use& use) {
    Volume plane({1, grid.shape().y, grid.shape().x}, PixelType::float64);
    for (index_t t = 0; t < facts.input.frames; ++t)
        for (index_t c = 0; c < facts.input.channels; ++c) {
            const Volume& blurred = light.of(t, c);
            for (index_t z = 0; z < grid.shape().z; ++z) {
                throw_if_stopped(context);
                grid.sample(blurred.view(), z, plane.elements<double>(), request.engines.threads);
                use(t, c, z, plane);
            }
        }
}

double brightest_pixel(BlurredLight& light, const CameraGrid& grid, const SimulateRequest& request,
                       const SimulateFacts& facts, const ExecutionContext& context) {
    double peak = 0;
    for_each_plane(
        light, grid, request, facts, context, [&](index_t, index_t, index_t, const Volume& plane) {
            const double* const pixels = plane.elements<double>();
            peak = std::max(peak, *std::max_element(pixels, pixels + element_count(plane.shape())));
        });
    if (!(peak > 0))
        throw BadData(message("no light of \"", request.phantom,
                              "\" reaches the camera, so --photons scales nothing; give a phantom "
                              "with light, or --photons-per-unit"));
    return peak;
}

/// Records every plane; `truth` may be null.
void record(BlurredLight& light, const CameraGrid& grid, const SimulateRequest& request,
            SimulateFacts& facts, const ExecutionContext& context, io::ImageWriter& writer,
            io::ImageWriter* truth) {
    const Shape3 plane_shape{1, grid.shape().y, grid.shape().x};
    Volume adu(plane_shape, facts.output.type), expected(plane_shape, PixelType::float32);
    for_each_plane(
        light, grid, request, facts, context, [&](index_t t, index_t c, index_t z, Volume& plane) {
            double* const photons = plane.elements<double>();
            for (index_t i = 0; i < element_count(plane_shape); ++i) {
                // Transforms leave rounding where there is no light.
                photons[i] = std::max(0.0, photons[i] * facts.photons_per_unit);
                expected.elements<float>()[i] =
                    static_cast<float>(photons[i] + request.camera.background_photons);
            }
            const index_t first_plane = (t * facts.input.channels + c) * grid.shape().z + z;
            facts.recorded += expose(request.camera, plane.view(), first_plane, adu.view(),
                                     request.engines.threads);
            const PhaseTimer timer(context.timeline, Phase::write, -1, -1, adu.bytes());
            writer.write_planes(t, c, z, adu.view());
            if (truth != nullptr) truth->write_planes(t, c, z, expected.view());
        });
    throw_if_stopped(context);
    const PhaseTimer timer(context.timeline, Phase::write);
    if (truth != nullptr) truth->commit();
    writer.commit();
}

void simulate_file(const SimulateRequest& request, const Console& console,
                   const InterruptGuard& interrupt) {
    Timeline timeline;
    SimulateFacts facts;
    const auto reader = io::open_image(request.phantom, {.axes = request.axes});
    facts.input = reader->metadata();
    facts.kernel = load_kernel(request.kernel, facts.input, request.kernel_choice, timeline);
    check_light(request, facts);
    facts.negative_psf_samples = clip_negative(facts.kernel.values);
    const CameraGrid grid = grid_of(request, facts.input);
    facts.output = recorded_metadata(request, facts.input, grid.shape());
    const Convolver convolver = plan_convolver(request, facts, timeline);
    report_plan(console, request, facts, convolver.plan());
    if (request.report.dry_run) {
        if (request.report.json) write_stdout(to_json(request, facts, convolver.plan(), nullptr));
        return;
    }

    io::CreateOptions create = request.create;
    create.software = std::string("convolume ") + version;
    const auto writer = io::create_image(request.output, facts.output, create);
    std::unique_ptr<io::ImageWriter> truth;
    io::ImageMetadata expected = facts.output;
    expected.type = PixelType::float32;
    if (!request.truth.empty()) truth = io::create_image(request.truth, expected, create);

    // The brightest of several volumes is only known when all have been blurred once.
    const bool twice = !request.photons_per_unit && facts.volumes() > 1;
    const auto rounds = static_cast<double>(facts.volumes() * (twice ? 2 : 1));
    ProgressMeter meter(console.out(), progress_style(console),
                        rounds * static_cast<double>(element_count(facts.input.shape)),
                        steady_clock_s);
    ExecutionContext context;
    context.timeline = &timeline;
    context.stop = interrupt.stop();
    context.progress = [&](double fraction) {
        meter.update((static_cast<double>(facts.convolutions) + fraction) / rounds);
    };
    BlurredLight light(*reader, convolver, facts, context);
    facts.photons_per_unit =
        request.photons_per_unit
            ? *request.photons_per_unit
            : request.photons / brightest_pixel(light, grid, request, facts, context);
    record(light, grid, request, facts, context, *writer, truth.get());
    meter.clear();

    if (!request.report.timeline.empty())
        write_whole_file(request.report.timeline, timeline.to_json());
    report_end(console, request, facts, timeline);
    if (request.report.json) write_stdout(to_json(request, facts, convolver.plan(), &timeline));
}

}  // namespace

void run_simulate(const SimulateRequest& request) {
    const Console console(std::cerr, request.report.verbosity, stderr_wants_colors());
    InterruptGuard interrupt;
    check_outputs({request.report.timeline, request.truth, request.output},
                  {request.phantom, request.kernel}, request.create.overwrite);
    warn_of_idle_gpu(console, request.engines);
    run_with_fallback(console, request, [&](const SimulateRequest& chosen) {
        simulate_file(chosen, console, interrupt);
    });
}

}  // namespace convolume::cli
