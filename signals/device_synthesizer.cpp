// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "convolume/device_signals.hpp"
#include "convolume/error.hpp"
#include "core/gpu_backend.hpp"
#include "signals/channel_problem.hpp"

namespace convolume {

namespace {

// Throws InvalidArgument unless the CUDA kernels write signals of this type.
void check_written_type(const ChannelProblem& problem, PixelType type) {
    const ChannelSpec& spec = problem.spec;
    const PixelType wanted =
        problem.interleaved ? sample_type(spec.precision, false) : spec.signal_type();
    if (type != wanted)
        throw InvalidArgument(message("signals of type ", to_string(type),
                                      " cannot be put together in a GPU's memory: choose ",
                                      to_string(wanted), ", or another precision"));
}

}  // namespace

struct DeviceSynthesizer::Impl {
    ChannelizerPlan plan;
    std::optional<double> error;
    index_t frames = 0, samples = 0;
    std::unique_ptr<DeviceChannelProgram> program;
};

DeviceSynthesizer::DeviceSynthesizer(const ChannelizerOptions& options, index_t frames,
                                     const DeviceSynthesizerOptions& device)
    : impl_(std::make_unique<Impl>()) {
    if (const std::string why = gpu_unavailable(); !why.empty()) throw GpuUnavailable(why);
    const ChannelProblem problem = resolve_channels(options, device.signal_type);
    check_written_type(problem, device.signal_type);
    const ChannelSpec& spec = problem.spec;
    if (frames < 0 || device.signals < 1 || device.samples.value_or(0) < 0)
        throw InvalidArgument(
            message(device.signals, " signals of ", device.samples.value_or(0), " samples from ",
                    frames, " frames: there must be at least 1 signal, and no negative numbers"));
    // No number of a sample or of a byte overflows.
    static_cast<void>(checked_add(spec.first, checked_multiply(frames, spec.step)));
    static_cast<void>(checked_multiply(checked_multiply(frames, device.signals),
                                       spec.stored_channels() * sample_bytes(spec.frame_type())));
    impl_->frames = frames;
    impl_->samples =
        device.samples.value_or(frames == 0 ? 0 : std::max<index_t>(0, spec.first_sample(frames)));
    static_cast<void>(checked_multiply(checked_multiply(impl_->samples, device.signals),
                                       sample_bytes(spec.signal_type())));
    const SynthesisTaps taps = synthesis_taps_of(problem, device.synthesis_taps);
    impl_->error = taps.error;
    impl_->program = require_gpu_backend().make_device_synthesis_program(
        {device.device, spec, taps.taps, device.signals, frames, impl_->samples});
    impl_->plan = problem.plan(message("gpu:", device.device), impl_->program->method());
}

DeviceSynthesizer::~DeviceSynthesizer() = default;
DeviceSynthesizer::DeviceSynthesizer(DeviceSynthesizer&&) noexcept = default;
DeviceSynthesizer& DeviceSynthesizer::operator=(DeviceSynthesizer&&) noexcept = default;

const ChannelizerPlan& DeviceSynthesizer::plan() const {
    return impl_->plan;
}
std::optional<double> DeviceSynthesizer::error() const {
    return impl_->error;
}
index_t DeviceSynthesizer::samples() const {
    return impl_->samples;
}
index_t DeviceSynthesizer::device_bytes() const {
    return impl_->program->bytes();
}

void DeviceSynthesizer::execute(const void* frames, void* signals, DeviceStream stream) const {
    const bool lacks_frames = frames == nullptr && impl_->frames > 0;
    if (impl_->samples > 0 && (lacks_frames || signals == nullptr))
        throw InvalidArgument(message("the ", lacks_frames ? "frames" : "signals",
                                      " point to no memory (null): allocate it first"));
    impl_->program->run(frames, signals, stream.get());
}

}  // namespace convolume
