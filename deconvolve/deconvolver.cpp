// SPDX-License-Identifier: Apache-2.0
#include <mutex>

#include "convolume/error.hpp"
#include "convolume/execution.hpp"
#include "deconvolve/device_deconvolution.hpp"

namespace convolume {

namespace {

std::unique_ptr<deconvolve::Runner> make_runner(const deconvolve::Problem& problem,
                                                const EngineChoice& choice,
                                                std::string& why_not_on_device) {
    const auto* const device = deconvolve::device_deconvolution();
    if (device != nullptr && choice.device != EngineChoice::Device::cpu &&
        gpu_unavailable().empty()) {
        try {
            return device->make_runner(problem, choice, nullptr);
        } catch (const OutOfMemory& error) {
            why_not_on_device = error.what();
        }
    }
    return deconvolve::make_host_runner(problem, choice);
}

}  // namespace

struct Deconvolver::Impl {
    deconvolve::Problem problem;
    std::unique_ptr<deconvolve::Runner> runner;
    DeconvolvePlan plan;
    std::mutex execution_mutex;
};

Deconvolver::Deconvolver(const Shape3& image_shape, const ConstImageView& psf,
                         const DeconvolveOptions& options, const EngineChoice& engines)
    : impl_(std::make_unique<Impl>()) {
    impl_->problem = deconvolve::resolve_problem(image_shape, psf, options, engines.threads);
    std::string why_not_on_device;
    impl_->runner = make_runner(impl_->problem, engines, why_not_on_device);
    impl_->plan = impl_->runner->plan();
    if (!why_not_on_device.empty()) impl_->plan.why_not_on_device = why_not_on_device;
    impl_->problem.psf = {};  // the convolvers have it
    impl_->problem.unmatched = {};
}

Deconvolver::~Deconvolver() = default;
Deconvolver::Deconvolver(Deconvolver&&) noexcept = default;
Deconvolver& Deconvolver::operator=(Deconvolver&&) noexcept = default;

DeconvolvePlan Deconvolver::plan() const {
    return impl_->plan;
}
double Deconvolver::psf_sum() const {
    return impl_->problem.psf_sum;
}
index_t Deconvolver::negative_psf_samples() const {
    return impl_->problem.negative_psf_samples;
}

DeconvolveReport Deconvolver::execute(const ConstImageView& image, const ImageView& result,
                                      const DeconvolveRun& run,
                                      const ExecutionContext& context) const {
    const auto expect = [&](const char* what, const ConstImageView& view) {
        if (view.shape != impl_->problem.image)
            throw InvalidArgument(message("the ", what, " has the shape ", to_string(view.shape),
                                          " (z×y×x), but this deconvolution was planned for ",
                                          to_string(impl_->problem.image), ": plan another one"));
    };
    expect("image", image);
    expect("result", result);
    if (is_complex(result.type))
        throw InvalidArgument(message("the result is real and is not stored as ",
                                      to_string(result.type), ": use float32"));
    if (image.data == nullptr || result.data == nullptr)
        throw InvalidArgument(message("the ", image.data == nullptr ? "image" : "result",
                                      " points to no memory (null): allocate it first"));
    const auto planned = impl_->problem.options.image_type;
    if (planned && deconvolve::fits_uint16(*planned) && !deconvolve::fits_uint16(image.type))
        throw InvalidArgument(message("this deconvolution was planned for images of the type ",
                                      to_string(*planned), ", not ", to_string(image.type),
                                      ": plan another one"));
    const StopScope scope(context.stop);
    deconvolve::check_start(impl_->problem, run.start);
    // The loop's arrays serve one execution at a time.
    const std::lock_guard lock(impl_->execution_mutex);
    return impl_->runner->execute(impl_->problem, deconvolve::HostImages(image, result), context,
                                  run);
}

}  // namespace convolume
