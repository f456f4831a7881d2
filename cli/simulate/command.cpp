// SPDX-License-Identifier: Apache-2.0
#include "cli/simulate/command.hpp"

#include <algorithm>
#include <atomic>
#include <type_traits>
#include <vector>

#include "cli/files/kernel_file.hpp"
#include "cli/files/kernel_samples.hpp"
#include "cli/files/result_output.hpp"
#include "cli/files/volumes.hpp"
#include "cli/images/channel_kernels.hpp"
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

void set_recorded(const SimulateRequest& request, const Shape3& shape, io::ImageMetadata& output) {
    output.shape = shape;
    output.type = request.camera.bits <= 8 ? PixelType::uint8 : PixelType::uint16;
    if (request.step_um) output.voxel_size_um[0] = request.step_um;
    if (request.pixel_um) output.voxel_size_um[1] = output.voxel_size_um[2] = request.pixel_um;
}

index_t count_negative(const ConstImageView& image) {
    index_t count = 0;
    visit_pixel_type(image.type, [&](auto tag) {
        using T = typename decltype(tag)::type;
        if constexpr (std::is_signed_v<T> || std::is_floating_point_v<T>)
            for (index_t z = 0; z < image.shape.z; ++z)
                for (index_t y = 0; y < image.shape.y; ++y) {
                    const T* const row = static_cast<const T*>(image.at(z, y, 0));
                    for (index_t x = 0; x < image.shape.x; ++x)
                        count += row[x * image.strides.x] < 0;
                }
    });
    return count;
}

/// Source that reads the phantom, and remembers whether any sample was negative.
class PhantomSource : public ImageSource {
  public:
    explicit PhantomSource(io::ImageReader& phantom) : phantom_(phantom) {}

    StackFormat format() const override { return phantom_.format(); }
    void read_box(index_t t, index_t c, const Box3& box, const ImageView& target) override {
        phantom_.read_box(t, c, box, target);
        if (!negative_ && count_negative(target) > 0) negative_ = true;
    }
    bool has_negative() const { return negative_; }

  private:
    io::ImageReader& phantom_;
    std::atomic<bool> negative_{false};
};

/// Counts the negative samples of the phantom in a pass of its own: boxes of the convolution
/// overlap and would count samples twice.
index_t count_negative(io::ImageReader& phantom, const ExecutionContext& context) {
    const StackFormat format = phantom.format();
    Volume plane({1, format.shape.y, format.shape.x}, format.type);
    index_t count = 0;
    for (index_t t = 0; t < format.frames; ++t)
        for (index_t c = 0; c < format.channels; ++c)
            for (index_t z = 0; z < format.shape.z; ++z) {
                throw_if_stopped(context);
                phantom.read_planes(t, c, z, plane.view());
                count += count_negative(plane.view());
            }
    return count;
}

}  // namespace

void SimulateSteps::open(const ExecutionContext& context) {
    ImageSteps::open(context);
    kernels_.load(request_, *reader_, {host_limit_bytes(request_.options.max_host_bytes), {}},
                  context);
    check_light(request_, input_metadata_.type, kernels_.type());
    grid_ = grid_of(request_, input_metadata_);
    set_recorded(request_, grid_->shape(), output_metadata_);
}

void SimulateSteps::plan(const ExecutionContext&) {
    light_.format = {
        input_metadata_.shape,
        request_.options.precision == Precision::float64 ? PixelType::float64 : PixelType::float32,
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
    light_.place = place_of_intermediate(light_.format.bytes(), left, kernels_.intermediate_fits());
}

/// Returns the bytes of `slots` planes of light and of the recording.
index_t SimulateSteps::camera_bytes(index_t slots) const {
    const auto bytes = [](const Shape3& shape, std::size_t each) {
        return checked_multiply(checked_multiply(shape.y, shape.x), static_cast<index_t>(each));
    };
    const index_t slot_bytes =
        checked_add(bytes(input_metadata_.shape, 2 * size_of(light_.format.type)),
                    bytes(grid_->shape(), size_of(output_metadata_.type) + 4));
    return checked_add(checked_multiply(slots, slot_bytes), bytes(grid_->shape(), 8));
}

void SimulateSteps::execute(const Console&, ProgressMeter&, const ExecutionContext& context) {
    writer_ = io::create_image(request_.output, output_metadata_, request_.create);
    io::ImageMetadata expected = output_metadata_;
    expected.type = PixelType::float32;
    if (!request_.second_output.empty())
        second_writer_ = io::create_image(request_.second_output, expected, request_.create);

    const index_t parts = request_.photons_per_unit ? 2 : 3;
    BlurredLight light(light_, folder_of(request_.output));
    executed_ = with_places_in_file(
        *reader_, [&] { return light.blur(*reader_, kernels_, part_of(context, 0, parts)); });
    negative_samples_ = light.negative_samples();
    // The brightest pixel is known only after everything is blurred.
    photons_per_unit_ = request_.photons_per_unit
                            ? *request_.photons_per_unit
                            : request_.photons / brightest_pixel(light, part_of(context, 1, parts));
    record(light, part_of(context, parts - 1, parts));
}

double SimulateSteps::brightest_pixel(BlurredLight& light, const ExecutionContext& context) {
    double peak = 0;
    light.for_each_plane(*grid_, request_.engines.threads, context,
                         [&](const BlurredLight::CameraPlane& plane) {
                             const double* const pixels = plane.photons.elements<double>();
                             const index_t count = element_count(plane.photons.shape());
                             peak = std::max(peak, *std::max_element(pixels, pixels + count));
                         },
                         {});
    if (!(peak > 0))
        throw BadData(
            message("no light of \"", request_.image,
                    "\" reaches the camera, so --photons cannot be reached; use a phantom "
                    "with light, or --photons-per-unit"));
    return peak;
}

void SimulateSteps::record(BlurredLight& light, const ExecutionContext& context) {
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
            photons[i] = std::max(0.0, photons[i] * photons_per_unit_);
            if (second_writer_)
                expected[slot].elements<float>()[i] =
                    static_cast<float>(photons[i] + request_.camera.background_photons);
        }
        const index_t first_plane =
            (plane.t * input_metadata_.channels + plane.c) * grid_->shape().z + plane.z;
        recorded_ += expose(request_.camera, plane.photons.view(), first_plane, adu[slot].view(),
                            request_.engines.threads);
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

ExecutionReport BlurredLight::blur(io::ImageReader& phantom,
                                   const ChannelKernels<Convolver>& kernels,
                                   const ExecutionContext& context) {
    PhantomSource source(phantom);
    const ExecutionReport report = convolve_channels(kernels, source, light_, context);
    if (source.has_negative()) negative_samples_ = count_negative(phantom, context);
    phantom.check_unchanged();
    return report;
}

void BlurredLight::for_each_plane(const CameraGrid& grid, int threads,
                                  const ExecutionContext& context,
                                  const std::function<void(const CameraPlane&)>& compute,
                                  const std::function<void(const CameraPlane&)>& write) {
    const StackFormat& format = plan_.format;
    const Shape3 recorded = grid.shape();
    const index_t planes = recorded.z;
    const index_t most = std::min<index_t>(2, format.shape.z);
    const index_t slots = plan_.overlapped ? 2 : 1;
    std::vector<Volume> light;
    for (index_t slot = 0; slot < slots; ++slot)
        light.emplace_back(Shape3{most, format.shape.y, format.shape.x}, format.type);
    Volume photons({1, recorded.y, recorded.x}, PixelType::float64);
    const auto plane_of = [&](index_t item) {
        const index_t volume = item / planes;
        return CameraPlane{volume / format.channels, volume % format.channels, item % planes,
                           item % slots, photons};
    };
    const auto light_of = [&](const CameraPlane& plane, const PlaneRange& below) {
        return subview(light[static_cast<std::size_t>(plane.slot)].view(),
                       {{0, 0, 0}, {below.end - below.begin, format.shape.y, format.shape.x}});
    };
    const index_t items = planes * format.volumes();
    ItemSteps steps;
    steps.read = [&](index_t item) {
        throw_if_stopped(context);
        const CameraPlane plane = plane_of(item);
        const PlaneRange below = grid.planes_below(plane.z);
        light_.read_box(plane.t, plane.c,
                        {{below.begin, 0, 0}, {below.end, format.shape.y, format.shape.x}},
                        light_of(plane, below));
    };
    steps.compute = [&](index_t item) {
        throw_if_stopped(context);
        const CameraPlane plane = plane_of(item);
        grid.sample_planes(light_of(plane, grid.planes_below(plane.z)), plane.z,
                           photons.elements<double>(), threads);
        compute(plane);
        if (context.progress)
            context.progress(static_cast<double>(item + 1) / static_cast<double>(items));
    };
    if (write) steps.write = [&](index_t item) { write(plane_of(item)); };
    run_item_steps(items, plan_.overlapped, steps);
}

}  // namespace convolume::cli
