// SPDX-License-Identifier: Apache-2.0
#include "cli/simulate/blurred_light.hpp"

#include <algorithm>
#include <atomic>
#include <type_traits>
#include <vector>

#include "cli/files/volumes.hpp"
#include "cli/images/channel_kernels.hpp"

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

/// The phantom; remembers whether any sample that was read is negative.
class LightSource : public ImageSource {
  public:
    explicit LightSource(io::ImageReader& phantom) : phantom_(phantom) {}

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

/// Boxes of the convolution overlap: only a pass of its own counts every sample once.
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
    LightSource source(phantom);
    const ExecutionReport report = convolve_channels(kernels, source, light_, context);
    if (source.has_negative()) negative_samples_ = count_negative(phantom, context);
    phantom.check_unchanged();
    return report;
}

void BlurredLight::for_each_plane(const CameraGrid& grid, int threads,
                                  const ExecutionContext& context,
                                  const std::function<void(const Plane&)>& compute,
                                  const std::function<void(const Plane&)>& write) {
    const StackFormat& format = plan_.format;
    const Shape3 seen = grid.shape();
    const index_t planes = seen.z;
    const index_t most = std::min<index_t>(2, format.shape.z);
    const index_t slots = plan_.overlapped ? 2 : 1;
    std::vector<Volume> light;
    for (index_t slot = 0; slot < slots; ++slot)
        light.emplace_back(Shape3{most, format.shape.y, format.shape.x}, format.type);
    Volume photons({1, seen.y, seen.x}, PixelType::float64);
    const auto plane_of = [&](index_t item) {
        const index_t volume = item / planes;
        return Plane{volume / format.channels, volume % format.channels, item % planes,
                     item % slots, photons};
    };
    const auto light_of = [&](const Plane& plane, const PlaneRange& below) {
        return subview(light[static_cast<std::size_t>(plane.slot)].view(),
                       {{0, 0, 0}, {below.end - below.begin, format.shape.y, format.shape.x}});
    };
    const index_t items = planes * format.volumes();
    ItemSteps steps;
    steps.read = [&](index_t item) {
        throw_if_stopped(context);
        const Plane plane = plane_of(item);
        const PlaneRange below = grid.planes_below(plane.z);
        light_.read_box(plane.t, plane.c,
                        {{below.begin, 0, 0}, {below.end, format.shape.y, format.shape.x}},
                        light_of(plane, below));
    };
    steps.compute = [&](index_t item) {
        throw_if_stopped(context);
        const Plane plane = plane_of(item);
        grid.sample_planes(light_of(plane, grid.planes_below(plane.z)), plane.z,
                           photons.elements<double>(), threads);
        compute(plane);
        if (context.progress)
            context.progress(static_cast<double>(item + 1) / static_cast<double>(items));
    };
    if (write) steps.write = [&](index_t item) { write(plane_of(item)); };
    take_through(items, plan_.overlapped, steps);
}

}  // namespace convolume::cli
