// SPDX-License-Identifier: Apache-2.0
#include "signals/channel_problem.hpp"

#include <algorithm>
#include <cmath>

#include "convolume/error.hpp"
#include "core/threads.hpp"
#include "signals/samples.hpp"

namespace convolume {

namespace {
// With these limits no index overflows.
constexpr index_t most_channels = index_t{1} << 26;
constexpr index_t most_taps = index_t{1} << 30;
constexpr index_t latest_first = index_t{1} << 60;
}  // namespace

void check_channel_sizes(index_t channels, index_t taps_per_channel, index_t step) {
    if (channels < 1 || channels > most_channels)
        throw InvalidArgument(
            message(channels, " channels: a signal is divided into 1 to ", most_channels));
    if (taps_per_channel < 1)
        throw InvalidArgument(
            message("a prototype of ", taps_per_channel, " taps per channel: it needs at least 1"));
    if (taps_per_channel > most_taps / channels)
        throw InvalidArgument(message("a prototype of ", taps_per_channel, " taps for each of ",
                                      channels, " channels: more than ", most_taps,
                                      " taps are not supported"));
    if (step < 1 || step > channels)
        throw InvalidArgument(message("a step of ", step, " samples from frame to frame with ",
                                      channels, " channels: choose 1 to ", channels,
                                      ", since longer steps would lose parts of the signal"));
}

void check_prototype(const std::vector<double>& taps) {
    if (taps.empty()) throw InvalidArgument("a prototype without taps: it needs at least 1");
    for (std::size_t l = 0; l < taps.size(); ++l)
        if (!std::isfinite(taps[l]))
            throw BadData(message("the prototype holds ", taps[l], " at tap ", l,
                                  ": replace it by a finite number"));
}

int channel_threads(const EngineChoice& engines) {
    if (engines.device == EngineChoice::Device::gpu)
        throw Unavailable(
            "signals in host memory are divided into channels on the CPU: choose it, or give a "
            "signal in a GPU's memory");
    return thread_count(engines.threads);
}

void check_frame_view(const ConstImageView& frames, const Shape3& wanted) {
    if (frames.shape != wanted)
        throw InvalidArgument(message("the frames have the shape ", to_string(frames.shape),
                                      " (signals×frames×channels) where ", to_string(wanted),
                                      " is meant"));
    refuse_null(frames.data == nullptr && element_count(frames.shape) > 0, "frames");
    if (element_count(frames.shape) > 0 && frames.shape.x > 1 && frames.strides.x != 1)
        throw InvalidArgument("the channels of a frame must follow each other in memory");
}

ChannelProblem resolve_channels(const ChannelizerOptions& options, PixelType signal_type) {
    ChannelProblem problem;
    ChannelSpec& spec = problem.spec;
    spec.channels = options.channels;
    spec.step = options.step == 0 ? options.channels : options.step;
    const auto given = static_cast<index_t>(options.prototype.size());
    spec.taps_per_channel = given == 0 ? options.taps_per_channel
                                       : ceil_div(given, std::max<index_t>(options.channels, 1));
    check_channel_sizes(spec.channels, spec.taps_per_channel, spec.step);
    if (options.first < 0 || options.first > latest_first)
        throw InvalidArgument(
            message("frame 0 cannot end with sample ", options.first, ": the first sample is 0"));
    spec.first = options.first;
    if (options.interleaved && is_complex(signal_type))
        throw InvalidArgument(message("signals of type ", to_string(signal_type),
                                      " are complex already: only real numbers are interleaved"));
    spec.complex_data = options.interleaved || is_complex(signal_type);
    spec.precision = options.precision;
    problem.interleaved = options.interleaved;
    check_nan_policy(options.nan);
    problem.nan = options.nan;
    if (given == 0) {
        problem.taps = prototype_filter(spec.channels, spec.taps_per_channel, options.window);
    } else {
        check_prototype(options.prototype);
        problem.taps = options.prototype;
        problem.taps.resize(static_cast<std::size_t>(spec.taps()));
    }
    const index_t taps = given == 0 ? spec.taps() : given;
    problem.first_middle = static_cast<double>(spec.first) - static_cast<double>(taps - 1) / 2;
    return problem;
}

ChannelizerPlan ChannelProblem::plan(std::string engine, std::string method) const {
    ChannelizerPlan plan;
    plan.channels = spec.channels;
    plan.stored_channels = spec.stored_channels();
    plan.taps_per_channel = spec.taps_per_channel;
    plan.step = spec.step;
    plan.first = spec.first;
    plan.first_middle = first_middle;
    plan.signal_type = spec.signal_type();
    plan.frame_type = spec.frame_type();
    plan.engine = std::move(engine);
    plan.method = std::move(method);
    return plan;
}

SynthesisTaps synthesis_taps_of(const ChannelProblem& problem, const std::vector<double>& given) {
    const ChannelSpec& spec = problem.spec;
    SynthesisTaps result{given, {}};
    if (given.empty()) {
        DualPrototype dual = dual_prototype(problem.taps, spec.channels, spec.step);
        result = {std::move(dual.taps), dual.error};
    }
    check_prototype(result.taps);
    if (static_cast<index_t>(result.taps.size()) > spec.taps())
        throw InvalidArgument(message("a synthesis of ", result.taps.size(),
                                      " taps: it has at most as many as the analysis, ",
                                      spec.taps()));
    result.taps.resize(static_cast<std::size_t>(spec.taps()));
    return result;
}

double ChannelizerPlan::center_frequency(index_t channel) const {
    const index_t number = channel > channels / 2 ? channel - channels : channel;
    return static_cast<double>(number) / static_cast<double>(channels);
}

std::string ChannelizerPlan::to_string() const {
    return message("channels: ", channels,
                   stored_channels < channels ? message(" (", stored_channels, " stored)") : "",
                   ", ", taps_per_channel, " taps each\nstep: ", step, " samples, oversampled by ",
                   static_cast<double>(channels) / static_cast<double>(step), "\nmethod: ", method,
                   "\nengine: ", engine, "\n");
}

ChannelSignals::ChannelSignals(const ChannelProblem& problem, const ConstImageView& signals)
    : view_(signals),
      numbers_(problem.numbers()),
      converted_(
          sample_type(problem.spec.precision, problem.spec.complex_data && !problem.interleaved)),
      sample_bytes_(sample_bytes(problem.spec.signal_type())) {
    if (signals.shape.z != 1)
        throw InvalidArgument(message("the signals have the shape ", to_string(signals.shape),
                                      ", and it must be 1×signals×samples"));
    if (is_complex(signals.type) && (!problem.spec.complex_data || problem.interleaved))
        throw InvalidArgument(
            "the signals are complex, but this filter bank was planned for real numbers: give the "
            "complex type when planning");
    if (signals.shape.x % numbers_ != 0)
        throw InvalidArgument(message("signals of ", signals.shape.x,
                                      " numbers are no pairs of real and imaginary parts: their "
                                      "number must be even"));
    refuse_null(signals.data == nullptr && element_count(signals.shape) > 0, "signals");
    is_native_ = signals.type == converted_ && (signals.strides.x == 1 || signals.shape.x <= 1);
}

void ChannelSignals::convert(index_t signal, const SampleRange& range, bool nonfinite_to_zero,
                             int threads, void* to) const {
    constexpr index_t at_once = index_t{1} << 14;
    parallel_for(ceil_div(range.count(), at_once), threads, [&](index_t chunk, int) {
        const index_t begin = chunk * at_once;
        const index_t count = std::min(at_once, range.count() - begin);
        convert_row(view_, signal, numbers_ * (range.begin + begin), numbers_ * count,
                    nonfinite_to_zero, converted_, static_cast<char*>(to) + begin * sample_bytes_);
    });
}

index_t ChannelSignals::check_finite(NanPolicy policy, index_t first, int threads) const {
    return convolume::check_finite(view_, policy, 0, first * numbers_, threads);
}

}  // namespace convolume
