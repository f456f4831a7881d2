// SPDX-License-Identifier: Apache-2.0
#include <mutex>

#include "convolume/device.hpp"
#include "convolume/error.hpp"
#include "deconvolve/device_deconvolution.hpp"

namespace convolume {

struct DeviceDeconvolver::Impl {
    deconvolve::Problem problem;
    DeviceDeconvolveOptions on_device;
    std::unique_ptr<deconvolve::Runner> runner;
    std::mutex execution_mutex;
};

DeviceDeconvolver::DeviceDeconvolver(const Shape3& image_shape, const ConstImageView& psf,
                                     const DeconvolveOptions& options,
                                     const DeviceDeconvolveOptions& device)
    : impl_(std::make_unique<Impl>()) {
    for (const PixelType type : {device.image_type, device.output_type})
        if (is_complex(type))
            throw InvalidArgument(
                message("images are real and not of the type ", to_string(type), ": use float32"));
    if (options.coarse_start > 0)
        throw InvalidArgument(
            "a coarse start is made of images in host memory, and these are in a GPU's: leave it "
            "out, or use Deconvolver");
    if (deconvolve::device_deconvolution() == nullptr)
        throw GpuUnavailable("this program was built without CUDA: link convolume::cuda");
    if (const std::string why = gpu_unavailable(); !why.empty()) throw GpuUnavailable(why);
    require_on_device(device.workspace_of.get().get(), device.device);
    EngineChoice engines;
    engines.device = EngineChoice::Device::gpu;
    engines.gpus = {device.device};
    engines.max_gpu_bytes = device.max_gpu_bytes;
    impl_->on_device = device;
    impl_->on_device.workspace_of = {};
    DeconvolveOptions of_images = options;
    of_images.image_type = device.image_type;
    impl_->problem = deconvolve::resolve_problem(image_shape, psf, of_images);
    impl_->runner = deconvolve::device_deconvolution()->make_runner(impl_->problem, engines,
                                                                    device.workspace_of.get());
    const DeconvolvePlan plan = impl_->runner->plan();
    if (!plan.on_device)
        throw OutOfMemory(message("the deconvolution does not stay in the memory of GPU ",
                                  device.device, ", since ", plan.why_not_on_device),
                          MemoryKind::gpu);
    impl_->problem.psf = {};
    impl_->problem.unmatched = {};
}

DeviceDeconvolver::~DeviceDeconvolver() = default;
DeviceDeconvolver::DeviceDeconvolver(DeviceDeconvolver&&) noexcept = default;
DeviceDeconvolver& DeviceDeconvolver::operator=(DeviceDeconvolver&&) noexcept = default;

WorkspaceOf::WorkspaceOf(const DeviceDeconvolver* deconvolver) {
    if (deconvolver) workspace_ = deconvolver->impl_->runner->workspace();
}

const Shape3& DeviceDeconvolver::image_shape() const {
    return impl_->problem.image;
}
DeconvolvePlan DeviceDeconvolver::plan() const {
    return impl_->runner->plan();
}

DeconvolveReport DeviceDeconvolver::execute(const void* image, void* result, DeviceStream stream,
                                            const DeconvolveRun& run,
                                            const ExecutionContext& context) const {
    if (image == nullptr || result == nullptr)
        throw InvalidArgument(message("the ", image == nullptr ? "image" : "result",
                                      " points to no memory (null): allocate it first"));
    deconvolve::check_start(impl_->problem, run.start);
    const DeviceDeconvolveOptions& on_device = impl_->on_device;
    const auto images = deconvolve::device_deconvolution()->make_images(
        {on_device.device, image, on_device.image_type, result, on_device.output_type,
         stream.get()},
        impl_->problem.image);
    // The loop's arrays serve one execution at a time.
    const std::lock_guard lock(impl_->execution_mutex);
    return impl_->runner->execute(impl_->problem, *images, context, run);
}

}  // namespace convolume
