// SPDX-License-Identifier: Apache-2.0
#include "convolume/device_signals.hpp"
#include "convolume/error.hpp"
#include "core/gpu_backend.hpp"
#include "signals/channel_problem.hpp"

namespace convolume {

namespace {

// Throws InvalidArgument unless the CUDA kernels read signals of this type.
void check_read_type(const ChannelProblem& problem, PixelType type) {
    const bool pairs =
        problem.interleaved && (type == PixelType::int8 || type == PixelType::int16 ||
                                type == sample_type(problem.spec.precision, false));
    if (pairs || (!problem.interleaved && type == problem.spec.signal_type())) return;
    throw InvalidArgument(
        message("signals of type ", to_string(type), " in a GPU's memory: convert them to ",
                to_string(problem.spec.signal_type()), ", or give interleaved int8 or int16"));
}

}  // namespace

struct DeviceChannelizer::Impl {
    ChannelizerPlan plan;
    index_t frames = 0;
    std::unique_ptr<DeviceChannelProgram> program;
};

DeviceChannelizer::DeviceChannelizer(const ChannelizerOptions& options, index_t samples,
                                     const DeviceChannelizerOptions& device)
    : impl_(std::make_unique<Impl>()) {
    if (const std::string why = gpu_unavailable(); !why.empty()) throw GpuUnavailable(why);
    const ChannelProblem problem = resolve_channels(options, device.signal_type);
    if (problem.nan == NanPolicy::zero)
        throw InvalidArgument(
            "signals in a GPU's memory are taken as they are: replace NaN by zero before, or let "
            "it propagate");
    if (samples < 0 || device.signals < 1)
        throw InvalidArgument(message(device.signals, " signals of ", samples,
                                      " samples: there must be at least 1 of at least 0"));
    check_read_type(problem, device.signal_type);
    const ChannelSpec& spec = problem.spec;
    impl_->frames =
        spec.frames(device.tail && samples > 0 ? checked_add(samples, spec.taps() - 1) : samples);
    DeviceChannelSpec wanted{device.device,  spec,    problem.taps, device.signal_type,
                             device.signals, samples, impl_->frames};
    if (!is_integer(device.signal_type)) wanted.stored = spec.signal_type();
    impl_->program = require_gpu_backend().make_device_channel_program(wanted);
    impl_->plan = problem.plan(message("gpu:", device.device), impl_->program->method());
}

DeviceChannelizer::~DeviceChannelizer() = default;
DeviceChannelizer::DeviceChannelizer(DeviceChannelizer&&) noexcept = default;
DeviceChannelizer& DeviceChannelizer::operator=(DeviceChannelizer&&) noexcept = default;

const ChannelizerPlan& DeviceChannelizer::plan() const {
    return impl_->plan;
}
index_t DeviceChannelizer::frames() const {
    return impl_->frames;
}
index_t DeviceChannelizer::device_bytes() const {
    return impl_->program->bytes();
}

void DeviceChannelizer::execute(const void* signals, void* frames, DeviceStream stream) const {
    if (impl_->frames > 0 && (signals == nullptr || frames == nullptr))
        throw InvalidArgument(message("the ", signals == nullptr ? "signals" : "frames",
                                      " point to no memory (null): allocate it first"));
    impl_->program->run(signals, frames, stream.get());
}

}  // namespace convolume
