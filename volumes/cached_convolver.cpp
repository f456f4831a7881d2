// SPDX-License-Identifier: Apache-2.0
// Convolvers from the cache of plans.

#include <algorithm>
#include <optional>
#include <tuple>
#include <vector>

#include "convolume/device_convolver.hpp"
#include "convolume/error.hpp"
#include "core/engine.hpp"
#include "core/option_fields.hpp"
#include "core/plan_cache.hpp"
#include "volumes/convolver_factory.hpp"

namespace convolume {

namespace {

struct ConvolverKey {
    Shape3 image;
    KernelCopy kernel;
    Options options;
    EngineChoice engines;
    PixelType image_type, output_type;
    PlanningState state;

    std::size_t hash() const { return hash_of(kernel, image); }
    auto fields() const {
        return std::tuple_cat(std::tie(image, kernel, image_type, output_type, state),
                              fields_of(options), fields_of(engines));
    }
};

struct DeviceConvolverKey {
    Shape3 image;
    KernelCopy kernel;
    Options options;
    int device;
    std::vector<int> devices;
    std::vector<index_t> input_planes, output_planes;
    PixelType image_type;
    std::optional<PixelType> output_type;
    SampleStorage image_storage, output_storage;
    bool keep_kernel_spectrum, kernel_on_device;
    std::optional<index_t> max_gpu_bytes;

    std::size_t hash() const { return hash_of(kernel, image); }
    auto fields() const {
        return std::tuple_cat(std::tie(image, kernel, device, devices, input_planes, output_planes,
                                       image_type, output_type, image_storage, output_storage,
                                       keep_kernel_spectrum, kernel_on_device, max_gpu_bytes),
                              fields_of(options));
    }
};

// Number of calls that a plan of the cache is expected to serve, whether or not they come: so all
// calls have the same plan, and the same bits. It decides whether GPUs are worth their start.
constexpr index_t expected_calls = 4;

Options for_several_calls(Options options) {
    std::optional<index_t>& executions = options.expected_executions;
    if (executions && *executions >= 1) executions = checked_multiply(*executions, expected_calls);
    return options;
}

// Returns the predicted bytes of a convolver apart from image and result.
PlanBytes bytes_of_plan(const Plan& plan, const ConvolverKey& key) {
    const PlanCandidate& chosen = plan.chosen;
    const index_t images =
        bytes_of(plan.image, key.image_type) + bytes_of(plan.output, key.output_type);
    const auto engines = static_cast<index_t>(plan.engines.size());
    return {std::max<index_t>(0, chosen.host_bytes - images) + key.kernel.bytes(),
            chosen.on_gpu ? engines * chosen.engine_bytes : 0};
}

}  // namespace

std::shared_ptr<const Convolver> cached_convolver(const Shape3& image_shape,
                                                  const ConstImageView& kernel,
                                                  const Options& options,
                                                  const EngineChoice& engines, PixelType image_type,
                                                  PixelType output_type) {
    const ConvolverKey key{image_shape, KernelCopy(kernel),    options, engines, image_type,
                           output_type, PlanningState(engines)};
    return PlanCache::instance().find_or_make<const Convolver>(
        key,
        [&] {
            return std::make_shared<const Convolver>(ConvolverFactory::make_steady(
                image_shape, kernel, for_several_calls(options), engines, image_type, output_type));
        },
        [&](const Convolver& made) { return bytes_of_plan(made.plan(), key); });
}

std::shared_ptr<const DeviceConvolver> cached_device_convolver(const Shape3& image_shape,
                                                               const ConstImageView& kernel,
                                                               const Options& options,
                                                               const DeviceOptions& device) {
    if (device.workspace_of.get())
        throw InvalidArgument("a convolver of the cache has a workspace of its own: share none");
    const DeviceConvolverKey key{image_shape,
                                 KernelCopy(kernel),
                                 options,
                                 device.device,
                                 device.devices,
                                 device.input_planes,
                                 device.output_planes,
                                 device.image_type,
                                 device.output_type,
                                 device.image_storage,
                                 device.output_storage,
                                 device.keep_kernel_spectrum,
                                 device.kernel_on_device,
                                 device.max_gpu_bytes};
    return PlanCache::instance().find_or_make<const DeviceConvolver>(
        key,
        [&] {
            return std::make_shared<const DeviceConvolver>(image_shape, kernel, options, device);
        },
        [&](const DeviceConvolver& made) {
            return PlanBytes{key.kernel.bytes(), made.device_bytes()};
        });
}

}  // namespace convolume
