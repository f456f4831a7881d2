// SPDX-License-Identifier: Apache-2.0
// Deconvolvers from the cache of plans.

#include <memory>
#include <optional>
#include <tuple>

#include "convolume/device_deconvolver.hpp"
#include "convolume/error.hpp"
#include "core/option_fields.hpp"
#include "core/plan_cache.hpp"

namespace convolume {

namespace {

// Returns all options as core/option_fields.hpp does.
auto fields_of(const DeconvolveOptions& options) {
    const auto& [method, iterations, acceleration, view_updates, boundary, center, background,
                 has_varying_background, saturation, has_pixel_weights, tv_weight, roughness, voxel,
                 noise_to_signal, consensus, unmatched, stop, hold_out, gain, offset, read_noise,
                 coarse_start, splits, seed, host, image_type, streamed] = options;
    return std::tie(method, iterations, acceleration, view_updates, boundary, center.kind,
                    center.index, background, has_varying_background, saturation, has_pixel_weights,
                    tv_weight, roughness, voxel, noise_to_signal, consensus, unmatched, stop,
                    hold_out, gain, offset, read_noise, coarse_start, splits, seed, host,
                    image_type, streamed);
}

struct DeconvolverKey {
    Shape3 image;
    KernelCopy psf;
    DeconvolveOptions options;
    EngineChoice engines;
    PlanningState state;

    std::size_t hash() const { return hash_of(psf, image); }
    auto fields() const {
        return std::tuple_cat(std::tie(image, psf, state), fields_of(options), fields_of(engines));
    }
};

struct DeviceDeconvolverKey {
    Shape3 image;
    KernelCopy psf;
    DeconvolveOptions options;
    int device;
    PixelType image_type, output_type;
    std::optional<index_t> max_gpu_bytes;

    std::size_t hash() const { return hash_of(psf, image); }
    auto fields() const {
        return std::tuple_cat(std::tie(image, psf, device, image_type, output_type, max_gpu_bytes),
                              fields_of(options));
    }
};

PlanBytes bytes_of_plan(const DeconvolvePlan& plan, const KernelCopy& psf) {
    return {plan.host_bytes + psf.bytes(), plan.device_bytes};
}

}  // namespace

std::shared_ptr<const Deconvolver> cached_deconvolver(const Shape3& image_shape,
                                                      const ConstImageView& psf,
                                                      const DeconvolveOptions& options,
                                                      const EngineChoice& engines) {
    const DeconvolverKey key{image_shape, KernelCopy(psf), options, engines,
                             PlanningState(engines)};
    return PlanCache::instance().find_or_make<const Deconvolver>(
        key,
        [&] { return std::make_shared<const Deconvolver>(image_shape, psf, options, engines); },
        [&](const Deconvolver& made) { return bytes_of_plan(made.plan(), key.psf); });
}

std::shared_ptr<const DeviceDeconvolver> cached_device_deconvolver(
    const Shape3& image_shape, const ConstImageView& psf, const DeconvolveOptions& options,
    const DeviceDeconvolveOptions& device) {
    if (device.workspace_of.get())
        throw InvalidArgument("a deconvolver of the cache has a workspace of its own: share none");
    const DeviceDeconvolverKey key{image_shape,         KernelCopy(psf),   options,
                                   device.device,       device.image_type, device.output_type,
                                   device.max_gpu_bytes};
    return PlanCache::instance().find_or_make<const DeviceDeconvolver>(
        key,
        [&] {
            return std::make_shared<const DeviceDeconvolver>(image_shape, psf, options, device);
        },
        [&](const DeviceDeconvolver& made) { return bytes_of_plan(made.plan(), key.psf); });
}

}  // namespace convolume
