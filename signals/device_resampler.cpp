// SPDX-License-Identifier: Apache-2.0
#include "convolume/device_signals.hpp"
#include "core/gpu_backend.hpp"
#include "signals/resample_checks.hpp"

namespace convolume {

struct DeviceResampler::Impl {
    ResampleSpec spec;
    std::unique_ptr<DeviceResampling> prepared;
};

DeviceResampler::DeviceResampler(const ConstImageView& taps, const ResampleOptions& options,
                                 const DeviceFilterOptions& device)
    : impl_(std::make_unique<Impl>()) {
    if (const std::string why = gpu_unavailable(); !why.empty()) throw GpuUnavailable(why);
    impl_->spec = checked_resample_spec(taps, options, device.signal_type);
    impl_->prepared =
        require_gpu_backend().make_device_resampling(device.device, impl_->spec, taps);
}

DeviceResampler::~DeviceResampler() = default;
DeviceResampler::DeviceResampler(DeviceResampler&&) noexcept = default;
DeviceResampler& DeviceResampler::operator=(DeviceResampler&&) noexcept = default;

index_t DeviceResampler::full_results(index_t samples) const {
    return full_results_of(impl_->spec, samples);
}
index_t DeviceResampler::same_results(index_t samples) const {
    return same_results_of(impl_->spec, samples);
}
PixelType DeviceResampler::sample_type() const {
    return impl_->spec.result_type();
}
index_t DeviceResampler::device_bytes() const {
    return impl_->prepared->bytes();
}

void DeviceResampler::execute(const SignalShape& shape, const void* samples, index_t count,
                              void* results, DeviceStream stream) const {
    if (samples == nullptr || (results == nullptr && count > 0))
        throw InvalidArgument(message("the ", samples == nullptr ? "signals" : "results",
                                      " point to no memory (null): allocate it first"));
    if (shape.samples < 1)
        throw InvalidArgument("a signal without samples cannot be resampled: give one at least");
    const ResampleOptions& options = impl_->spec.options;
    checked_add(checked_multiply(count, options.down), options.origin);
    impl_->prepared->run(samples, shape, results, count, stream.get());
}

}  // namespace convolume
