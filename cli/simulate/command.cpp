// SPDX-License-Identifier: Apache-2.0
// `convolume simulate`: its request, and its run. The run blurs all channels and time points by the
// Convolvers of their PSFs; then the camera records them plane by plane.

#include "cli/simulate/command.hpp"

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>
#include <vector>

#include "cli/app.hpp"
#include "cli/files/kernel_file.hpp"
#include "cli/files/kernel_samples.hpp"
#include "cli/files/result_output.hpp"
#include "cli/images/channel_kernels.hpp"
#include "cli/images/file_names.hpp"
#include "cli/images/image_request.hpp"
#include "cli/images/image_run.hpp"
#include "cli/run/common_options.hpp"
#include "cli/run/report.hpp"
#include "cli/simulate/blurred_light.hpp"
#include "cli/text/option_help.hpp"
#include "cli/text/quantity.hpp"
#include "convolume/camera.hpp"
#include "convolume/image_file.hpp"
#include "convolume/image_format.hpp"
#include "operations/warnings/psf.hpp"

namespace convolume::cli {

namespace {}  // namespace

void check_light(const SimulateRequest& request, PixelType phantom, PixelType psf) {
    request.camera.check();
    if (is_complex(phantom) || is_complex(psf))
        throw BadData(
            "a camera records real light, but the phantom or the PSF is complex; save "
            "its intensity");
    if (!(request.photons > 0 && request.photons <= 1e12))
        throw InvalidArgument(
            message("--photons is ", request.photons, "; give more than 0, up to 1e12"));
    if (const auto factor = request.photons_per_unit; factor && !(*factor > 0 && *factor <= 1e12))
        throw InvalidArgument(
            message("--photons-per-unit is ", *factor, "; give more than 0, up to 1e12"));
}

namespace {

/// Returns the camera's pixels on the phantom, in voxels if the file has no voxel size.
CameraGrid grid_of(const SimulateRequest& request, const io::ImageMetadata& input) {
    const auto voxel_size = [&](std::size_t axis, const std::optional<double>& asked,
                                const char* option) {
        const auto& size = input.voxel_size_um[axis];
        if (asked && !size)
            throw InvalidArgument(message(option, " needs the voxel size of the phantom, and \"",
                                          request.image,
                                          "\" does not give it; leave the option out or save the "
                                          "phantom with its voxel size"));
        return size.value_or(1);
    };
    const VoxelSize voxel{voxel_size(0, request.step_um, "--step"),
                          voxel_size(1, request.pixel_um, "--pixel"),
                          voxel_size(2, request.pixel_um, "--pixel")};
    return {input.shape,
            voxel,
            {request.step_um.value_or(voxel.z_um), request.pixel_um.value_or(voxel.y_um),
             request.pixel_um.value_or(voxel.x_um)}};
}

}  // namespace

void set_recorded(const SimulateRequest& request, const Shape3& shape, io::ImageMetadata& output) {
    output.shape = shape;
    output.type = request.camera.bits <= 8 ? PixelType::uint8 : PixelType::uint16;
    if (request.step_um) output.voxel_size_um[0] = request.step_um;
    if (request.pixel_um) output.voxel_size_um[1] = output.voxel_size_um[2] = request.pixel_um;
}

void tell_camera(const Facts& facts, const Camera& camera, const io::ImageMetadata& recorded) {
    facts.console.fact("camera",
                       message("z,y,x ", to_string(recorded.shape), ", ",
                               format_voxel_size(recorded.voxel_size_um), ", ", camera.bits,
                               camera.bits == 1 ? " bit" : " bits",
                               camera.noise ? message(", seed ", camera.seed) : ", no noise"));
    nlohmann::ordered_json& json = facts.json["camera"];
    for_each_option<Camera>([&](const auto& field) { json[field.text.name] = field.get(camera); });
}

void tell_recorded(const Facts& facts, const Camera& camera, const RecordedLight& light) {
    const CameraReport& recorded = light.camera;
    const Console& console = facts.console;
    const auto share = [&](index_t count) {
        return static_cast<double>(count) / static_cast<double>(recorded.pixels);
    };
    if (light.negative_samples > 0)
        console.warning(message(light.negative_samples,
                                " samples of the phantom are negative, but light cannot be; "
                                "subtract less background from the phantom"));
    console.fact("signal",
                 message(format_number(recorded.peak_photons), " photons at the brightest pixel (",
                         format_number(light.photons_per_unit), " per unit of brightness)"));
    const double noise_db = recorded.signal_to_noise_db();
    const double at_peak = camera.signal_to_noise(recorded.peak_photons);
    if (camera.noise)
        console.fact("noise", message("signal to noise ", format_number(noise_db, 4),
                                      " dB, at the brightest pixel ", format_number(at_peak, 4)));
    const auto warn = [&](index_t pixels, const char* what, const char* cure) {
        if (pixels > 0)
            console.warning(message(pixels, " pixels (", format_number(100 * share(pixels), 3),
                                    " %) ", what, "; ", cure));
    };
    warn(recorded.saturated, "are saturated", "lower --photons or raise --gain");
    warn(recorded.below_zero, "would be below 0 and were recorded as 0", "raise --offset");
    facts.json["recorded"] = {{"photons_per_unit", light.photons_per_unit},
                              {"peak_photons", recorded.peak_photons},
                              {"signal_to_noise_db", finite_or_null(noise_db)},
                              {"peak_signal_to_noise", finite_or_null(at_peak)},
                              {"saturated_pixels", recorded.saturated},
                              {"saturated_share", share(recorded.saturated)},
                              {"below_zero_pixels", recorded.below_zero}};
}

double photons_for_peak(const SimulateRequest& request, double peak) {
    if (!(peak > 0))
        throw BadData(
            message("no light of \"", request.image,
                    "\" reaches the camera, so --photons cannot be reached; use a phantom "
                    "with light, or --photons-per-unit"));
    return request.photons / peak;
}

namespace {

void add_light(CLI::App& app, SimulateRequest& request) {
    begin_group(app, "Light");
    add_parsed(app, "--pixel", request.pixel_um, parse_length_um, "LENGTH",
               "Edge of a camera pixel in the sample, e.g. 130nm (default: the phantom's voxel)");
    add_parsed(app, "--step", request.step_um, parse_length_um, "LENGTH",
               "How far the focus moves between planes (default: the phantom's voxel)");
    CLI::Option* photons =
        add_value(app, "--photons", request.photons, "N",
                  "Photons expected from the specimen at the brightest pixel of all channels "
                  "and times (default 1000)");
    add_value(app, "--photons-per-unit", request.photons_per_unit, "F",
              "Photons per unit of brightness, instead of --photons")
        ->excludes(photons);
    with_option<Camera>("background_photons", [&](const auto& field) {
        add_value(app, field.text.flags, request.views.backgrounds, option_type(field),
                  option_help(field, request.camera) + "; with --views, for all or once for each")
            ->allow_extra_args(false);
    });
    add_options(app, request.options, {"boundary"});
    add_choice(app, "--nan", request.options.nan,
               {{"error", NanPolicy::error}, {"zero", NanPolicy::zero}},
               "What to do with NaN and infinities in the phantom (default error)");
    begin_group(app, groups::psf);
    add_kernel_options(app, request.kernel_options);
    add_channel_kernel_option(app, request);
    begin_group(app, groups::input);
    add_selection_options(app, request.selection);
}

void add_camera(CLI::App& app, Camera& camera) {
    begin_group(app, "Camera");
    add_options(app, camera,
                {"quantum_efficiency", "exposure_s", "dark_e_per_s", "read_noise_e", "full_well_e",
                 "gain_e_per_adu", "offset_adu", "bits", "seed"});
    app.add_flag_callback(
        "--no-noise", [&camera] { camera.noise = false; },
        "Record the mean charge: no photon noise and no read noise");
}

void add_views(CLI::App& app, SimulateRequest& request) {
    begin_group(app, "Views");
    add_parsed(
        app, "--views", request.view_count, parse_positive<int>, "N",
        "Record N views of the specimen by the PSFs --psf, as fuse takes them, to OUT.1.tif, "
        "OUT.2.tif, … for OUT.tif");
    add_view_options(
        app, request.views,
        {"Factor of the light of each pixel of a view, from 0, for all views or once for each",
         "Light that a view records, relative to the others, once for each view (default 1)"});
    app.add_option_function<std::vector<std::string>>(
           "--view-size",
           [&request](const std::vector<std::string>& texts) {
               for (const std::string& text : texts)
                   request.view_sizes.push_back(parse_extents("--view-size", text));
           },
           "Extents of the recording of all views, or once for each (default: as the phantom's)")
        ->allow_extra_args(false)
        ->type_name("Z,Y,X");
}

/// Takes the values of views, or refuses those of several.
void take_views(SimulateRequest& request, const ManyFilesRequest& many) {
    if (request.view_count > 0) {
        take_view_psfs(request, many);
        return;
    }
    const ViewRequest& views = request.views;
    if (!views.transforms.empty() || !views.masks.empty() || !views.lights.empty() ||
        !request.view_sizes.empty() || views.unit != TransformUnit::unknown)
        throw InvalidArgument(
            "--transform, --transform-unit, --mask, --light and --view-size are of several views; "
            "add --views N");
    if (views.backgrounds.size() > 1)
        throw InvalidArgument("--background is given once for each view; add --views N");
    if (!views.backgrounds.empty())
        request.camera.background_photons = parse_number("--background", views.backgrounds[0]);
}

void add_output(CLI::App& app, SimulateRequest& request) {
    begin_group(app, groups::output);
    add_value(app, "-o,--output", request.output, "OUT",
              "The recording: " + io::usual_image_endings());
    add_value(app, "--truth", request.second_output, "FILE",
              "Also write the photons expected at each pixel, float32; for many files, a pattern "
              "like that of --output-name");
    add_compression_option(app, request.create, "Compression of the outputs (default none)");
    app.add_flag("--overwrite", request.create.overwrite, "Replace outputs that exist");
    add_run_options(app, request.run);
}

class SimulateSteps : public ImageSteps {
  public:
    using Kernels = ChannelKernels<Convolver>;

    explicit SimulateSteps(const SimulateRequest& request, std::shared_ptr<Kernels::Cache> cache =
                                                               std::make_shared<Kernels::Cache>())
        : ImageSteps(request, "phantom"), request_(request), kernels_(std::move(cache)) {}

    void open(const ExecutionContext& context) override {
        ImageSteps::open(context);
        kernels_.load(request_, *reader_, {host_limit_bytes(request_.options.max_host_bytes), {}},
                      context);
        check_light(request_, input_metadata_.type, kernels_.type());
        grid_ = grid_of(request_, input_metadata_);
        set_recorded(request_, grid_->shape(), output_metadata_);
    }

    void plan(const ExecutionContext&) override {
        light_.format = {input_metadata_.shape,
                         request_.options.precision == Precision::float64 ? PixelType::float64
                                                                          : PixelType::float32,
                         input_metadata_.frames, input_metadata_.channels};
        const index_t limit = host_limit_bytes(request_.options.max_host_bytes);
        light_.overlapped = camera_bytes(2) <= limit / 4;
        const index_t left = limit - std::min(camera_bytes(light_.overlapped ? 2 : 1), limit);
        kernels_.plan([&](Kernels::Ready& kernel) {
            warn_of_one_plane(kernel.file, input_metadata_, kernel.file.warnings);
            kernel.file.negative_samples += clip_negative(kernel.file.values);
            Options options = request_.options;
            options.center = kernel.file.explicit_center();
            options.streamed = true;
            options.expected_executions = kernel.volumes;
            options.scratch_directory = folder_of(request_.output);
            std::optional<Convolver> convolver;
            kernel.intermediate_fits =
                plan_beside_intermediate(kernels_.share_of(left), [&](index_t bytes) {
                    options.max_host_bytes = bytes;
                    convolver.emplace(input_metadata_.shape, kernel.file.values.view(), options,
                                      request_.engines, input_metadata_.type, light_.format.type);
                });
            return std::move(*convolver);
        });
        light_.place =
            place_of_intermediate(light_.format.bytes(), left, kernels_.intermediate_fits());
    }

    void execute(const Console&, ProgressMeter&, const ExecutionContext& context) override {
        writer_ = io::create_image(request_.output, output_metadata_, request_.create);
        io::ImageMetadata expected = output_metadata_;
        expected.type = PixelType::float32;
        if (!request_.second_output.empty())
            second_writer_ = io::create_image(request_.second_output, expected, request_.create);

        const index_t parts = request_.photons_per_unit ? 2 : 3;
        BlurredLight light(light_, folder_of(request_.output));
        executed_ = with_places_in_file(
            *reader_, [&] { return light.blur(*reader_, kernels_, part_of(context, 0, parts)); });
        recorded_.negative_samples = light.negative_samples();
        // The brightest pixel is known only after everything is blurred.
        recorded_.photons_per_unit =
            request_.photons_per_unit
                ? *request_.photons_per_unit
                : photons_for_peak(request_, brightest_pixel(light, part_of(context, 1, parts)));
        record(light, part_of(context, parts - 1, parts));
    }

    void tell_plan(const Facts& facts) const override {
        ImageSteps::tell_plan(facts);
        const Console& console = facts.console;
        tell_camera(facts, request_.camera, output_metadata_);
        kernels_.tell_each(facts, [&](const Kernels::Ready& ready, auto&, auto& plan) {
            report_kernel(console, ready.file, ", normalized to sum 1");
            report_shift(console, ready.file);
            if (const index_t negative = ready.file.negative_samples; negative > 0)
                console.warning(negative_samples_warning(negative));
            console.warnings(input_warnings(ready.file.path, ready.file.metadata));
            plan = tell_plan_of(*ready.solver, console, request_.run);
        });
        const bool in_file = light_.place == ScratchImage::Place::file;
        if (in_file)
            console.fact("light", message(format_bytes(light_.format.bytes()),
                                          " between convolution and camera, in a temporary file"));
        facts.json["light"] = {{"bytes", light_.format.bytes()}, {"in_file", in_file}};
    }

    void tell_result(const Facts& facts) const override {
        tell_recorded(facts, request_.camera, recorded_);
    }

    void tell_output(const Facts& facts) const override {
        ImageSteps::tell_output(facts);
        if (request_.second_output.empty()) return;
        facts.json["output"]["truth"] = request_.second_output;
        facts.console.fact(
            "truth", message(request_.second_output, ": z,y,x ", to_string(output_metadata_.shape),
                             " float32, expected photons"));
    }

  private:
    /// Returns the bytes of `slots` planes of light and of the recording.
    index_t camera_bytes(index_t slots) const {
        const auto bytes = [](const Shape3& shape, std::size_t each) {
            return checked_multiply(checked_multiply(shape.y, shape.x), static_cast<index_t>(each));
        };
        const index_t slot_bytes =
            checked_add(bytes(input_metadata_.shape, 2 * size_of(light_.format.type)),
                        bytes(grid_->shape(), size_of(output_metadata_.type) + 4));
        return checked_add(checked_multiply(slots, slot_bytes), bytes(grid_->shape(), 8));
    }

    double brightest_pixel(BlurredLight& light, const ExecutionContext& context) {
        double peak = 0;
        light.for_each_plane(*grid_, request_.engines.threads, context,
                             [&](const BlurredLight::CameraPlane& plane) {
                                 const double* const pixels = plane.photons.elements<double>();
                                 const index_t count = element_count(plane.photons.shape());
                                 peak = std::max(peak, *std::max_element(pixels, pixels + count));
                             },
                             {});
        return peak;
    }

    void record(BlurredLight& light, const ExecutionContext& context) {
        const Shape3 plane_shape{1, grid_->shape().y, grid_->shape().x};
        std::vector<Volume> adu, expected;
        for (int slot = 0; slot < (light_.overlapped ? 2 : 1); ++slot) {
            adu.emplace_back(plane_shape, output_metadata_.type);
            expected.emplace_back(second_writer_ ? plane_shape : Shape3{}, PixelType::float32);
        }
        const auto compute = [&](const BlurredLight::CameraPlane& plane) {
            const auto slot = static_cast<std::size_t>(plane.slot);
            double* const photons = plane.photons.elements<double>();
            for (index_t i = 0; i < element_count(plane_shape); ++i) {
                // Rounding of the transforms may be below zero in dark pixels.
                photons[i] = std::max(0.0, photons[i] * recorded_.photons_per_unit);
                if (second_writer_)
                    expected[slot].elements<float>()[i] =
                        static_cast<float>(photons[i] + request_.camera.background_photons);
            }
            const index_t first_plane =
                (plane.t * input_metadata_.channels + plane.c) * grid_->shape().z + plane.z;
            recorded_.camera += expose(request_.camera, plane.photons.view(), first_plane,
                                       adu[slot].view(), request_.engines.threads);
        };
        const auto write = [&](const BlurredLight::CameraPlane& plane) {
            const auto slot = static_cast<std::size_t>(plane.slot);
            const PhaseTimer timer(context.timeline, Phase::write, -1, -1, adu[slot].bytes());
            writer_->write_planes(plane.t, plane.c, plane.z, adu[slot].view());
            if (second_writer_)
                second_writer_->write_planes(plane.t, plane.c, plane.z, expected[slot].view());
        };
        light.for_each_plane(*grid_, request_.engines.threads, context, compute, write);
    }

    const SimulateRequest request_;
    Kernels kernels_;
    std::optional<CameraGrid> grid_;
    LightPlan light_;
    RecordedLight recorded_;
};

}  // namespace

void add_simulate_command(CLI::App& app, Action& action) {
    CLI::App* command = app.add_subcommand(
        "simulate", "Simulate how a microscope records a specimen: blur, pixels, noise");
    auto request = std::make_shared<SimulateRequest>();
    auto many = std::make_shared<ManyFilesRequest>();
    add_image_arguments(*command, *many, {"PHANTOM", "The specimen; one or many images"},
                        {"PSF", "The point spread function: one 3D stack; without it one is made"});
    set_examples(
        *command,
        {"convolume simulate cells.tif psf.tif --photons 500 -o recorded.tif",
         "convolume simulate cells.tif --na 1.2 --ni 1.33 --wavelength 520nm -o seen.tif"});
    add_light(*command, *request);
    add_made_psf_options(*command, request->made_psf);
    add_views(*command, *request);
    add_camera(*command, request->camera);
    add_convolution_options(*command, request->options, request->engines);
    add_output(*command, *request);
    add_many_files_options(*command, *many);
    command->callback([request, many, command, &action] {
        divide_arguments(*command, *request, *many);
        take_views(*request, *many);
        if (request->view_count > 0 && command->count("--method") + command->count("--parts") > 0)
            throw InvalidArgument(
                "--views convolves by a method of its own; leave --method and --parts out");
        if (many->is_many && !request->second_output.empty())
            request->second_output = parse_output_name("--truth", request->second_output);
        if (request->view_count > 0)
            action = [request] { simulate_views(*request); };
        else
            action = [request, many] { run_images<SimulateSteps>(*request, *many); };
    });
}

}  // namespace convolume::cli
