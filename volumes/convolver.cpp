// SPDX-License-Identifier: Apache-2.0
#include "convolume/convolver.hpp"

#include <memory>
#include <mutex>
#include <utility>

#include "core/report.hpp"
#include "core/stop_scope.hpp"
#include "volumes/convolver_factory.hpp"
#include "volumes/planned_convolution.hpp"

namespace convolume {

/// The convolution with the newest kernel. Executions keep the one that they began with.
struct Convolver::Impl {
    explicit Impl(std::unique_ptr<const PlannedConvolution> convolution)
        : input_shape(convolution->resolved().input_shape),
          output_shape(convolution->resolved().output_shape),
          newest(std::move(convolution)) {}

    std::shared_ptr<const PlannedConvolution> convolution() const {
        const std::lock_guard lock(mutex);
        return newest;
    }
    void replace_kernel(const ConstImageView& kernel) {
        std::shared_ptr<const PlannedConvolution> made = convolution()->with_kernel(kernel);
        const std::lock_guard lock(mutex);
        newest.swap(made);
    }

    const Shape3 input_shape, output_shape;
    mutable std::mutex mutex;
    std::shared_ptr<const PlannedConvolution> newest;
};

Convolver::Convolver(const Shape3& image_shape, const ConstImageView& kernel,
                     const Options& options, const EngineChoice& engines, PixelType image_type,
                     PixelType output_type)
    : Convolver(std::make_unique<Impl>(std::make_unique<PlannedConvolution>(
          image_shape, kernel, options, engines, image_type, output_type))) {}
Convolver::Convolver(const Shape3& image_shape, Volume kernel, const Options& options,
                     const EngineChoice& engines, PixelType image_type, PixelType output_type)
    : Convolver(std::make_unique<Impl>(std::make_unique<PlannedConvolution>(
          image_shape, kernel.view(), options, engines, image_type, output_type, &kernel))) {}
Convolver::Convolver(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Convolver::~Convolver() = default;
Convolver::Convolver(Convolver&&) noexcept = default;
Convolver& Convolver::operator=(Convolver&&) noexcept = default;

void Convolver::replace_kernel(const ConstImageView& kernel) {
    impl_->replace_kernel(kernel);
}

const Shape3& Convolver::input_shape() const {
    return impl_->input_shape;
}
const Shape3& Convolver::output_shape() const {
    return impl_->output_shape;
}
PixelType Convolver::natural_output_type() const {
    return impl_->convolution()->natural_type();
}
double Convolver::kernel_sum() const {
    return impl_->convolution()->resolved().kernel_sum;
}
Plan Convolver::plan() const {
    return impl_->convolution()->plan();
}

ExecutionReport Convolver::execute(const ConstImageView& input, const ImageView& output,
                                   const ExecutionContext& context) const {
    const StopScope scope(context.stop);
    return timed([&] { return impl_->convolution()->execute(input, output, context); });
}

ExecutionReport Convolver::execute(ImageSource& source, ImageSink& sink,
                                   const ExecutionContext& context) const {
    const StopScope scope(context.stop);
    return timed([&] { return impl_->convolution()->execute(source, sink, context); });
}

Volume convolve(const ConstImageView& image, const ConstImageView& kernel, const Options& options,
                const EngineChoice& engines) {
    const auto convolver =
        cached_convolver(image.shape, kernel, options, engines, image.type, PixelType::float32);
    Volume result(convolver->output_shape(), convolver->natural_output_type());
    convolver->execute(image, result.view());
    return result;
}

Convolver ConvolverFactory::make(const Shape3& image_shape, const ConstImageView& kernel,
                                 const Options& options, EngineList engines, PixelType image_type,
                                 PixelType output_type) {
    return Convolver(std::make_unique<Convolver::Impl>(std::make_unique<PlannedConvolution>(
        image_shape, kernel, options, std::move(engines), image_type, output_type)));
}

Convolver ConvolverFactory::make_steady(const Shape3& image_shape, const ConstImageView& kernel,
                                        const Options& options, const EngineChoice& engines,
                                        PixelType image_type, PixelType output_type) {
    return Convolver(std::make_unique<Convolver::Impl>(PlannedConvolution::steady(
        image_shape, kernel, options, engines, image_type, output_type)));
}

}  // namespace convolume
