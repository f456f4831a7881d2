// SPDX-License-Identifier: Apache-2.0
#include "cli/simulate/blurred_light.hpp"

#include <algorithm>
#include <atomic>
#include <type_traits>
#include <vector>

#include "cli/files/volumes.hpp"

namespace convolume::cli {

namespace {

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
