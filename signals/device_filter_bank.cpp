// SPDX-License-Identifier: Apache-2.0
#include "convolume/device_signals.hpp"
#include "convolume/error.hpp"
#include "core/gpu_backend.hpp"
#include "signals/filter_problem.hpp"

namespace convolume {

namespace {

void check_device_options(const FilterOptions& options) {
    if (options.nan == NanPolicy::zero)
        throw InvalidArgument(
            "signals in a GPU's memory are taken as they are: replace NaN by zero before, or let "
            "it propagate");
    if (options.function && options.function->device_kernels() == nullptr)
        throw InvalidArgument(
            "the function runs on the CPU only: make it with device_sample_function() of "
            "convolume/cuda/device_sample_function.cuh");
}

}  // namespace

struct DeviceFilterBank::Impl {
    int device = 0;
    SignalShape shape;
    FilterProblem problem;
    std::unique_ptr<DeviceFilterProgram> program;
};

DeviceFilterBank::DeviceFilterBank(const SignalShape& shape,
                                   const std::vector<ConstImageView>& filters,
                                   const FilterOptions& options, const DeviceFilterOptions& device)
    : impl_(std::make_unique<Impl>()) {
    if (const std::string why = gpu_unavailable(); !why.empty()) throw GpuUnavailable(why);
    check_device_options(options);
    impl_->device = device.device;
    impl_->shape = shape;
    FilterProblem& problem = impl_->problem;
    problem = resolve_filters(shape, filters, options, device.signal_type);
    impl_->program = require_gpu_backend().make_device_filter_program(
        device.device, problem.spec, problem.taps.view().data, shape.signals,
        problem.range.count());
    problem.taps = {};  // the device has its own copy
}

DeviceFilterBank::~DeviceFilterBank() = default;
DeviceFilterBank::DeviceFilterBank(DeviceFilterBank&&) noexcept = default;
DeviceFilterBank& DeviceFilterBank::operator=(DeviceFilterBank&&) noexcept = default;

const SignalShape& DeviceFilterBank::signal_shape() const {
    return impl_->shape;
}
index_t DeviceFilterBank::filters() const {
    return impl_->problem.spec.filters;
}
index_t DeviceFilterBank::taps() const {
    return impl_->problem.frame_taps;
}
index_t DeviceFilterBank::origin() const {
    return impl_->problem.origin;
}
SampleRange DeviceFilterBank::range() const {
    return impl_->problem.range;
}
index_t DeviceFilterBank::result_samples() const {
    return impl_->problem.stored();
}
PixelType DeviceFilterBank::sample_type() const {
    return impl_->problem.signal_element();
}
PixelType DeviceFilterBank::result_type() const {
    return impl_->problem.result_element();
}
index_t DeviceFilterBank::sample_elements() const {
    return impl_->problem.signal_elements();
}
index_t DeviceFilterBank::result_elements() const {
    return impl_->problem.result_elements();
}
ClampCount DeviceFilterBank::clamped(DeviceStream stream) const {
    return impl_->program->clamped(stream.get());
}
index_t DeviceFilterBank::device_bytes() const {
    return impl_->program->bytes();
}
FilterPlan DeviceFilterBank::plan() const {
    const FilterCost& cost = impl_->program->cost();
    FilterPlan plan;
    plan.method = cost.method;
    plan.segment = cost.segment;
    plan.engine = message("gpu:", impl_->device);
    plan.seconds = cost.seconds;
    return plan;
}

void DeviceFilterBank::execute(const void* signals, void* results, index_t* peak_positions,
                               DeviceStream stream) const {
    if (signals == nullptr || results == nullptr)
        throw InvalidArgument(message("the ", signals == nullptr ? "signals" : "results",
                                      " point to no memory (null): allocate it first"));
    const FilterProblem& problem = impl_->problem;
    const SignalShape& shape = impl_->shape;
    const auto is_aligned = [](const void* array, index_t elements) {
        return elements == 1 || reinterpret_cast<std::uintptr_t>(array) % 4 == 0;
    };
    if (!is_aligned(signals, problem.signal_elements()) ||
        !is_aligned(results, problem.result_elements()))
        throw InvalidArgument(
            "complex samples of 16 bits must begin at a multiple of 4 bytes: move the array");
    if (peak_positions && problem.spec.window.kind != WindowPost::Kind::peak)
        throw InvalidArgument(
            "only the peaks of windows have positions: give no array for them (null)");
    // The caller's result n is the engine's result n + shift. For signals that begin `shift`
    // earlier, both numbers agree, and peaks have the caller's positions.
    const SignalView view{signals,        shape.signals, shape.samples,
                          -problem.shift, shape.samples, problem.spec.signal_storage};
    FilterResult result;
    result.range = problem.range;
    result.data = results;
    result.peak_positions = peak_positions;
    result.filter_stride = problem.stored();
    result.signal_stride = problem.spec.filters * problem.stored();
    impl_->program->run(view, result, stream.get());
}

}  // namespace convolume
