// SPDX-License-Identifier: Apache-2.0
#include "cli/simulate/command.hpp"

#include <algorithm>

#include "cli/files/kernel_background.hpp"
#include "convolume/camera.hpp"

namespace convolume::cli {

namespace {

void check_light(const SimulateRequest& request, PixelType phantom, PixelType psf) {
    request.camera.check();
    if (is_complex(phantom) || is_complex(psf))
        throw BadData(
            "a camera records real light, but the phantom or the PSF is complex; save "
            "its intensity");
    if (request.options.nan == NanPolicy::propagate)
        throw InvalidArgument("a camera cannot record NaN; choose --nan error or zero");
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
                                          request.image,
                                          "\" does not give it; leave the option out or save the "
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

}  // namespace

void SimulateSteps::open(const ExecutionContext& context) {
    reader_ = open_selected(request_.image, request_.selection);
    input_ = reader_->metadata();
    kernels_.load(request_, input_, *context.timeline);
    check_light(request_, input_.type, kernels_.type());
    grid_ = grid_of(request_, input_);
    output_ = recorded_metadata(request_, input_, grid_->shape());
}

void SimulateSteps::plan(const ExecutionContext&) {
    kernels_.plan([&](Kernels::Ready& kernel) {
        kernel.file.negative_samples += clip_negative(kernel.file.values);
        Options options = request_.options;
        options.center = kernel.file.explicit_center();
        return Convolver(
            input_.shape, kernel.file.values.view(), options, request_.engines, input_.type,
            options.precision == Precision::float64 ? PixelType::float64 : PixelType::float32);
    });
}

/// The brightest of several volumes is only known when all have been blurred once.
index_t SimulateSteps::blurs() const {
    const bool twice = !request_.photons_per_unit && volumes() > 1;
    return volumes() * (twice ? 2 : 1);
}

Work SimulateSteps::work() const {
    return {static_cast<double>(blurs()) * static_cast<double>(element_count(input_.shape))};
}

void SimulateSteps::execute(const Console&, ProgressMeter&, const ExecutionContext& context) {
    writer_ = io::create_image(request_.output, output_, request_.create);
    io::ImageMetadata expected = output_;
    expected.type = PixelType::float32;
    if (!request_.truth.empty())
        truth_ = io::create_image(request_.truth, expected, request_.create);

    BlurredLight light(*reader_, kernels_, blurs(), context);
    photons_per_unit_ = request_.photons_per_unit
                            ? *request_.photons_per_unit
                            : request_.photons / brightest_pixel(light, context);
    record(light, context);
    executed_.seconds = light.seconds();
    negative_samples_ = light.negative_samples();
}

/// Calls `use` with every plane that the camera takes.
void SimulateSteps::for_each_plane(BlurredLight& light, const ExecutionContext& context,
                                   const UsePlane& use) {
    const Shape3 shape = grid_->shape();
    Volume plane({1, shape.y, shape.x}, PixelType::float64);
    for (index_t t = 0; t < input_.frames; ++t)
        for (index_t c = 0; c < input_.channels; ++c) {
            const Volume& blurred = light.of(t, c);
            for (index_t z = 0; z < shape.z; ++z) {
                throw_if_stopped(context);
                grid_->sample(blurred.view(), z, plane.elements<double>(),
                              request_.engines.threads);
                use(t, c, z, plane);
            }
        }
}

double SimulateSteps::brightest_pixel(BlurredLight& light, const ExecutionContext& context) {
    double peak = 0;
    for_each_plane(light, context, [&](index_t, index_t, index_t, const Volume& plane) {
        const double* const pixels = plane.elements<double>();
        peak = std::max(peak, *std::max_element(pixels, pixels + element_count(plane.shape())));
    });
    if (!(peak > 0))
        throw BadData(
            message("no light of \"", request_.image,
                    "\" reaches the camera, so --photons cannot be reached; use a phantom "
                    "with light, or --photons-per-unit"));
    return peak;
}

void SimulateSteps::record(BlurredLight& light, const ExecutionContext& context) {
    const Shape3 plane_shape{1, grid_->shape().y, grid_->shape().x};
    Volume adu(plane_shape, output_.type), expected(plane_shape, PixelType::float32);
    for_each_plane(light, context, [&](index_t t, index_t c, index_t z, Volume& plane) {
        double* const photons = plane.elements<double>();
        for (index_t i = 0; i < element_count(plane_shape); ++i) {
            // Transforms leave rounding where there is no light.
            photons[i] = std::max(0.0, photons[i] * photons_per_unit_);
            expected.elements<float>()[i] =
                static_cast<float>(photons[i] + request_.camera.background_photons);
        }
        const index_t first_plane = (t * input_.channels + c) * grid_->shape().z + z;
        recorded_ += expose(request_.camera, plane.view(), first_plane, adu.view(),
                            request_.engines.threads);
        const PhaseTimer timer(context.timeline, Phase::write, -1, -1, adu.bytes());
        writer_->write_planes(t, c, z, adu.view());
        if (truth_) truth_->write_planes(t, c, z, expected.view());
    });
}

void SimulateSteps::commit() {
    if (truth_) truth_->commit();
    writer_->commit();
}

}  // namespace convolume::cli
