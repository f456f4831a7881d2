// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <vector>

#include "convolume/channelizer.hpp"
#include "convolume/device_signals.hpp"
#include "convolume/error.hpp"
#include "core/gpu_backend.hpp"
#include "core/report.hpp"
#include "core/stop_scope.hpp"
#include "core/threads.hpp"
#include "cpu/signals/channels.hpp"
#include "signals/channel_problem.hpp"
#include "signals/samples.hpp"

namespace convolume {

namespace {

// Converts frames of a signal to the type of the computation, without gaps between them.
void convert_frames(const ConstImageView& frames, index_t signal, PixelType type, int threads,
                    char* to) {
    ConstImageView rows = frames;
    rows.data = frames.at(signal, 0, 0);
    rows.shape.z = 1;
    parallel_for(frames.shape.y, threads, [&](index_t n, int) {
        convert_row(rows, n, 0, frames.shape.x, false, type,
                    to + n * frames.shape.x * sample_bytes(type));
    });
}

}  // namespace

struct Synthesizer::Impl {
    ChannelProblem problem;
    int threads;
    SynthesisTaps taps;
    std::unique_ptr<const cpu::ChannelSynthesis> synthesis;
    ChannelizerPlan plan;

    Impl(const ChannelizerOptions& options, PixelType signal_type, const EngineChoice& engines,
         const std::vector<double>& given)
        : problem(resolve_channels(options, signal_type)),
          threads(channel_threads(engines)),
          taps(synthesis_taps_of(problem, given)) {
        synthesis = cpu::make_channel_synthesis(problem.spec, taps.taps, engines.fft);
        plan = problem.plan("cpu:0", synthesis->method());
        problem.taps = {};  // only taps of the synthesis are used from here on
    }

    void check(const ConstImageView& frames, const ImageView& signals) const {
        check_frame_view(frames, {signals.shape.y, frames.shape.y, plan.stored_channels});
        if (!is_complex(frames.type))
            throw InvalidArgument(
                message("frames of type ", to_string(frames.type), ": they must be complex"));
        if (signals.shape.z != 1 ||
            (element_count(signals.shape) > 1 && signals.shape.x > 1 && signals.strides.x != 1))
            throw InvalidArgument(
                "the signals must have the shape 1×signals×samples, with samples that follow each "
                "other in memory");
        check_stored_type(plan.signal_type, signals.type, "signals");
        refuse_null(signals.data == nullptr && element_count(signals.shape) > 0, "signals");
        if (overlap(frames, signals))
            throw InvalidArgument(
                "frames and signals overlap in memory: put the signal into memory of its own");
    }

    index_t samples(index_t frames) const {
        if (frames <= 0) return 0;
        return std::max<index_t>(0, problem.spec.first_sample(frames));
    }

    ExecutionReport execute(const ConstImageView& frames, const ImageView& signals,
                            const ExecutionContext& context) const {
        const StopScope scope(context.stop);
        check(frames, signals);
        throw_if_stopped(context);
        const bool is_native =
            frames.type == plan.frame_type && (frames.strides.x == 1 || frames.shape.x == 1);
        Buffer buffer;
        if (!is_native)
            buffer = Buffer(
                checked_multiply(frames.shape.y * frames.shape.x, sample_bytes(plan.frame_type)),
                "converted frames");
        for (index_t s = 0; s < signals.shape.y; ++s) {
            ChannelFrames<const void*> given{
                {0, frames.shape.y}, frames.at(s, 0, 0), frames.strides.y};
            if (!is_native) {
                convert_frames(frames, s, plan.frame_type, threads, buffer.as<char>());
                given.data = buffer.data();
                given.stride = frames.shape.x;
            }
            synthesis->run(given, {0, signals.shape.x}, signals.at(0, s, 0), threads, context);
        }
        return {};
    }
};

Synthesizer::Synthesizer(const ChannelizerOptions& options, PixelType signal_type,
                         const EngineChoice& engines, const std::vector<double>& synthesis_taps)
    : impl_(std::make_shared<const Impl>(options, signal_type, engines, synthesis_taps)) {}

const ChannelizerPlan& Synthesizer::plan() const {
    return impl_->plan;
}
std::optional<double> Synthesizer::error() const {
    return impl_->taps.error;
}
const std::vector<double>& Synthesizer::synthesis_taps() const {
    return impl_->taps.taps;
}
index_t Synthesizer::samples(index_t frames) const {
    return impl_->samples(frames);
}

ExecutionReport Synthesizer::execute(const ConstImageView& frames, const ImageView& signals,
                                     const ExecutionContext& context) const {
    return timed([&] { return impl_->execute(frames, signals, context); });
}

// The frames that later samples depend on are kept in the type of the computation.
struct SynthesizerStream::Impl {
    std::shared_ptr<const Synthesizer::Impl> plan;
    index_t signals;
    index_t taken = 0;      ///< frames taken so far
    index_t kept_from = 0;  ///< first frame that is kept, up to `taken`
    std::vector<Buffer> kept;

    Impl(std::shared_ptr<const Synthesizer::Impl> whose, index_t count)
        : plan(std::move(whose)), signals(count), kept(static_cast<std::size_t>(count)) {
        if (count < 1)
            throw InvalidArgument(message("a stream of ", count, " signals: it needs at least 1"));
    }

    index_t samples(index_t frames) const {
        return plan->samples(taken + frames) - plan->samples(taken);
    }
    index_t frame_bytes() const {
        return plan->plan.stored_channels * sample_bytes(plan->plan.frame_type);
    }

    ExecutionReport push(const ConstImageView& frames, const ImageView& signal,
                         const ExecutionContext& context) {
        const StopScope scope(context.stop);
        plan->check(frames, signal);
        const index_t count = frames.shape.y, wanted = samples(count);
        if (signal.shape.y != signals)
            throw InvalidArgument(
                message("frames of ", signal.shape.y, " signals for a stream of ", signals));
        if (signal.shape.x != wanted)
            throw InvalidArgument(message("room for ", signal.shape.x, " samples, and ", count,
                                          " frames determine ", wanted, " now"));
        const ChannelSpec& spec = plan->problem.spec;
        const index_t begin = plan->samples(taken), end = begin + wanted;
        index_t from = kept_from;
        while (from < taken + count && spec.last_sample(from) < end) ++from;
        std::vector<Buffer> next(static_cast<std::size_t>(signals));
        for (index_t s = 0; s < signals; ++s) {
            const Buffer joined(checked_multiply(taken + count - kept_from, frame_bytes()),
                                "frames of a stream");
            const Buffer& old = kept[static_cast<std::size_t>(s)];
            if (taken > kept_from)
                std::copy_n(old.as<char>(), (taken - kept_from) * frame_bytes(), joined.as<char>());
            convert_frames(frames, s, plan->plan.frame_type, plan->threads,
                           joined.as<char>() + (taken - kept_from) * frame_bytes());
            plan->synthesis->run(
                {{kept_from, taken + count}, joined.data(), spec.stored_channels()}, {begin, end},
                signal.at(0, s, 0), plan->threads, context);
            Buffer rest(checked_multiply(taken + count - from, frame_bytes()),
                        "frames of a stream");
            std::copy_n(joined.as<char>() + (from - kept_from) * frame_bytes(),
                        (taken + count - from) * frame_bytes(), rest.as<char>());
            next[static_cast<std::size_t>(s)] = std::move(rest);
        }
        kept.swap(next);
        taken += count;
        kept_from = from;
        return {};
    }
};

SynthesizerStream::SynthesizerStream(const Synthesizer& synthesizer, index_t signals)
    : impl_(std::make_unique<Impl>(synthesizer.impl_, signals)) {}

index_t SynthesizerStream::samples(index_t frames) const {
    return impl_->samples(frames);
}

ExecutionReport SynthesizerStream::push(const ConstImageView& frames, const ImageView& signals,
                                        const ExecutionContext& context) {
    return timed([&] { return impl_->push(frames, signals, context); });
}

void SynthesizerStream::reset() {
    impl_->taken = impl_->kept_from = 0;
}

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
    refuse_null(impl_->samples > 0 && impl_->frames > 0 && frames == nullptr, "frames");
    refuse_null(impl_->samples > 0 && signals == nullptr, "signals");
    impl_->program->run(frames, signals, stream.get());
}

}  // namespace convolume
