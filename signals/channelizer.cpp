// SPDX-License-Identifier: Apache-2.0
#include "convolume/channelizer.hpp"

#include <algorithm>
#include <vector>

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

struct Channelizer::Impl {
    ChannelProblem problem;
    int threads;
    std::unique_ptr<const cpu::ChannelAnalysis> analysis;
    ChannelizerPlan plan;

    Impl(const ChannelizerOptions& options, PixelType signal_type, const EngineChoice& engines)
        : problem(resolve_channels(options, signal_type)), threads(channel_threads(engines)) {
        analysis = cpu::make_channel_analysis(problem.spec, problem.taps, engines.fft);
        plan = problem.plan("cpu:0", analysis->method());
        problem.taps = {};  // the analysis has its own copy
    }

    /// Frames of all signals in memory.
    struct Target {
        const ImageView& frames;
        const ExecutionContext& context;
        bool nonfinite_to_zero = false;
    };

    // Computes frames [range) of a signal, of which frame range.begin is number `first` of the
    // target. Sample 0 of `signals` is sample `offset` of the whole signal; samples before are
    // zero. Returns whether all samples that were read are finite.
    bool divide(const ChannelSignals& signals, index_t s, index_t offset, const SampleRange& range,
                const Target& target, index_t first) const {
        const bool checks = problem.nan == NanPolicy::error;
        const ImageView& frames = target.frames;
        if (range.count() <= 0) return true;
        if (signals.is_native() && !target.nonfinite_to_zero)
            return analysis->run({signals.address(s, 0), offset, signals.samples()},
                                 {range, frames.at(s, first, 0), frames.strides.y}, checks, threads,
                                 target.context);
        const ChannelSpec& spec = problem.spec;
        const index_t at_once = ceil_div(std::max(samples_of_chunk, 4 * spec.taps()), spec.step);
        bool is_finite = true;
        Buffer buffer;
        for (index_t begin = range.begin; begin < range.end; begin += at_once) {
            const index_t end = std::min(range.end, begin + at_once);
            const index_t count = signals.samples();
            const index_t from = std::clamp<index_t>(spec.first_sample(begin) - offset, 0, count);
            const index_t to =
                std::clamp<index_t>(spec.last_sample(end - 1) + 1 - offset, from, count);
            const index_t bytes =
                checked_multiply(std::max<index_t>(to - from, 1), sample_bytes(spec.signal_type()));
            if (buffer.bytes() < bytes) buffer = Buffer(bytes, "converted signals");
            signals.convert(s, {from, to}, target.nonfinite_to_zero, threads, buffer.data());
            is_finite =
                analysis->run(
                    {buffer.data(), offset + from, to - from},
                    {{begin, end}, frames.at(s, first + begin - range.begin, 0), frames.strides.y},
                    checks, threads, target.context) &&
                is_finite;
        }
        return is_finite;
    }

    void check_frames(const ChannelSignals& signals, const ImageView& frames) const {
        const Shape3 wanted{signals.signals(), frames.shape.y, plan.stored_channels};
        check_frame_view(frames, wanted);
        check_stored_type(plan.frame_type, frames.type, "frames");
    }

    ExecutionReport execute(const ConstImageView& view, const ImageView& frames,
                            const ExecutionContext& context) const {
        const StopScope scope(context.stop);
        const ChannelSignals signals(problem, view);
        check_frames(signals, frames);
        const index_t most = with_tail(signals.samples());
        if (frames.shape.y > most)
            throw InvalidArgument(message(frames.shape.y, " frames of ", signals.samples(),
                                          " samples: at most ", most,
                                          " frames depend on the signal"));
        if (overlap(view, frames))
            throw InvalidArgument(
                "signals and frames overlap in memory: divide into memory of its own");
        throw_if_stopped(context);
        ExecutionReport report;
        if (problem.nan == NanPolicy::zero)
            report.nonfinite_inputs = signals.check_finite(problem.nan, 0, threads);
        const Target target{frames, context, report.nonfinite_inputs > 0};
        bool is_finite = true;
        for (index_t s = 0; s < signals.signals(); ++s)
            is_finite = divide(signals, s, 0, {0, frames.shape.y}, target, 0) && is_finite;
        if (!is_finite) signals.check_finite(problem.nan, 0, threads);
        return report;
    }

    index_t with_tail(index_t samples) const {
        return samples > 0 ? problem.spec.frames(checked_add(samples, problem.spec.taps() - 1)) : 0;
    }

    static constexpr index_t samples_of_chunk = index_t{1} << 19;
};

Channelizer::Channelizer(const ChannelizerOptions& options, PixelType signal_type,
                         const EngineChoice& engines)
    : impl_(std::make_shared<const Impl>(options, signal_type, engines)) {}

const ChannelizerPlan& Channelizer::plan() const {
    return impl_->plan;
}

index_t Channelizer::frames(index_t samples, bool tail) const {
    if (samples < 0) throw InvalidArgument(message("a signal of ", samples, " samples"));
    return tail ? impl_->with_tail(samples) : impl_->problem.spec.frames(samples);
}

ExecutionReport Channelizer::execute(const ConstImageView& signals, const ImageView& frames,
                                     const ExecutionContext& context) const {
    return timed([&] { return impl_->execute(signals, frames, context); });
}

// The samples that later frames depend on are kept in the type of the computation. Frames that
// depend on them are computed from a copy of these and of the block's first samples.
struct ChannelizerStream::Impl {
    std::shared_ptr<const Channelizer::Impl> plan;
    index_t signals;
    index_t taken = 0;      ///< samples taken so far
    index_t next = 0;       ///< number of the next frame
    index_t kept_from = 0;  ///< first sample that is kept, up to `taken`
    std::vector<Buffer> kept, spare;

    Impl(std::shared_ptr<const Channelizer::Impl> whose, index_t count)
        : plan(std::move(whose)), signals(count) {
        if (count < 1)
            throw InvalidArgument(message("a stream of ", count, " signals: it needs at least 1"));
        const index_t bytes = checked_multiply(spec().taps(), sample_bytes(spec().signal_type()));
        for (index_t s = 0; s < count; ++s) {
            kept.emplace_back(bytes, "samples of a stream");
            spare.emplace_back(bytes, "samples of a stream");
        }
    }

    const ChannelSpec& spec() const { return plan->problem.spec; }
    index_t bytes_each() const { return sample_bytes(spec().signal_type()); }
    Buffer& kept_of(index_t s) { return kept[static_cast<std::size_t>(s)]; }
    Buffer& spare_of(index_t s) { return spare[static_cast<std::size_t>(s)]; }
    index_t frames(index_t samples) const { return spec().frames(taken + samples) - next; }

    ExecutionReport push(const ConstImageView& view, const ImageView& frames,
                         const ExecutionContext& context) {
        const StopScope scope(context.stop);
        const ChannelSignals block(plan->problem, view);
        const index_t count = this->frames(block.samples());
        if (block.signals() != signals)
            throw InvalidArgument(
                message("a block of ", block.signals(), " signals for a stream of ", signals));
        plan->check_frames(block, frames);
        if (frames.shape.y != count)
            throw InvalidArgument(message("room for ", frames.shape.y, " frames, and a block of ",
                                          block.samples(), " samples gives ", count, " now"));
        ExecutionReport report;
        report.nonfinite_inputs = block.check_finite(plan->problem.nan, taken, plan->threads);
        const Channelizer::Impl::Target target{frames, context, report.nonfinite_inputs > 0};
        const index_t end = taken + block.samples();
        const index_t from = std::clamp<index_t>(spec().first_sample(next + count), 0, end);
        for (index_t s = 0; s < signals; ++s) {
            copy(block, s, {from, end}, target.nonfinite_to_zero, spare_of(s).as<char>());
            push_signal(block, s, {next, next + count}, target);
        }
        kept.swap(spare);
        taken = end;
        next += count;
        kept_from = from;
        return report;
    }

    // Copies samples that are kept or in the block.
    void copy(const ChannelSignals& block, index_t s, const SampleRange& range,
              bool nonfinite_to_zero, char* to) {
        const index_t inner = std::clamp(taken, range.begin, range.end);
        const char* const from = kept_of(s).as<char>() + (range.begin - kept_from) * bytes_each();
        if (inner > range.begin) std::copy_n(from, (inner - range.begin) * bytes_each(), to);
        block.convert(s, {inner - taken, range.end - taken}, nonfinite_to_zero, plan->threads,
                      to + (inner - range.begin) * bytes_each());
    }

    void push_signal(const ChannelSignals& block, index_t s, const SampleRange& range,
                     const Channelizer::Impl::Target& target) {
        index_t inside = range.begin;  // first frame that depends on the block alone
        while (inside < range.end && spec().first_sample(inside) < taken && taken > 0) ++inside;
        if (inside > range.begin) {
            const SampleRange needed{std::max<index_t>(spec().first_sample(range.begin), 0),
                                     spec().last_sample(inside - 1) + 1};
            const Buffer joined(checked_multiply(needed.count(), bytes_each()),
                                "samples of a stream");
            copy(block, s, needed, target.nonfinite_to_zero, joined.as<char>());
            plan->analysis->run(
                {joined.data(), needed.begin, needed.count()},
                {{range.begin, inside}, target.frames.at(s, 0, 0), target.frames.strides.y}, false,
                plan->threads, target.context);
        }
        plan->divide(block, s, taken, {inside, range.end}, target, inside - range.begin);
    }
};

ChannelizerStream::ChannelizerStream(const Channelizer& channelizer, index_t signals)
    : impl_(std::make_unique<Impl>(channelizer.impl_, signals)) {}

index_t ChannelizerStream::frames(index_t samples) const {
    return impl_->frames(samples);
}

ExecutionReport ChannelizerStream::push(const ConstImageView& signals, const ImageView& frames,
                                        const ExecutionContext& context) {
    return timed([&] { return impl_->push(signals, frames, context); });
}

void ChannelizerStream::reset() {
    impl_->taken = impl_->next = impl_->kept_from = 0;
}

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
    refuse_null(impl_->frames > 0 && signals == nullptr, "signals");
    refuse_null(impl_->frames > 0 && frames == nullptr, "frames");
    impl_->program->run(signals, frames, stream.get());
}

}  // namespace convolume
