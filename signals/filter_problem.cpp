// SPDX-License-Identifier: Apache-2.0
#include "signals/filter_problem.hpp"

#include <algorithm>
#include <limits>

#include "convolume/error.hpp"
#include "signals/aligned_filters.hpp"

namespace convolume {

namespace {

void check_options(const SignalShape& shape, const FilterOptions& options) {
    if (shape.signals < 1 || shape.samples < 1)
        throw InvalidArgument(message(shape.signals, " signals of ", shape.samples,
                                      " samples were given: at least 1 of at least 1 is needed"));
    if (options.window.kind != WindowPost::Kind::none && options.window.length < 1)
        throw InvalidArgument(message("a window of ", options.window.length,
                                      " samples was asked for: give at least 1"));
    if (options.segment < 0)
        throw InvalidArgument(message("segments of ", options.segment,
                                      " samples were asked for: give a length, or 0 for the best"));
    if (options.chunk < 0)
        throw InvalidArgument(message("chunks of ", options.chunk,
                                      " results were asked for: give a number, or 0 for the best"));
    if (shape.samples == unknown_samples && shape.signals != 1)
        throw InvalidArgument(message(shape.signals,
                                      " signals of unknown length were given: filter one at a "
                                      "time"));
    if (options.max_host_bytes && *options.max_host_bytes < 1)
        throw InvalidArgument("a memory limit of nothing was given: give at least 1 MiB");
    if (options.function && options.post != PointPost::none)
        throw InvalidArgument(message("both ", to_string(options.post),
                                      " and a function were asked for: choose one"));
}

void check_function(const FilterWork& work) {
    if (work.function) {
        if (work.function->sample_type != work.sample_type())
            throw InvalidArgument(
                message("the function takes ", to_string(work.function->sample_type),
                        ", but filtered samples are ", to_string(work.sample_type()), " here"));
        if (work.function->before < 0 || work.function->after < 0)
            throw InvalidArgument("the function looks at a negative number of samples");
        if (is_integer(work.function->result_type))
            throw InvalidArgument("the function returns whole numbers: return float or double");
    }
    if (work.window.kind == WindowPost::Kind::peak && is_complex(work.result_type()))
        throw InvalidArgument(
            "complex results have no largest one: ask for peaks of their power, or of a function "
            "with real values");
}

void check_segment(const FilterWork& work) {
    const bool partitions =
        work.method == FilterMethod::partitioned || work.method == FilterMethod::direct;
    if (work.segment == 0 || partitions || work.segment >= work.taps) return;
    throw InvalidArgument(sentence("segments of ", work.segment, " samples are shorter than the ",
                                   work.taps,
                                   " taps of the filters: give at least as many samples as taps (",
                                   OptionName{"segment"}, "), or the method partitioned"));
}

// a + b, or a sentence about the results.
index_t total(index_t a, index_t b) {
    if (a > std::numeric_limits<index_t>::max() - b)
        throw InvalidArgument(message("the full result of ", a, " samples and ", b,
                                      " taps has more samples than 64 bits count"));
    return a + b;
}

}  // namespace

SampleRange FilterProblem::range_of(index_t samples) const {
    const index_t full = total(samples, frame) - 1;
    if (asked) {
        const SampleRange& wanted = *asked;
        if (wanted.begin < 0 || wanted.end > full || wanted.begin >= wanted.end)
            throw InvalidArgument(message("the range ", wanted.begin, ":", wanted.end,
                                          wanted.begin >= wanted.end ? " is empty" : " is outside",
                                          ": the full result has the samples 0:", full));
        return wanted;
    }
    switch (mode) {
        case Mode::full:
            return {0, full};
        case Mode::same:
            if (origin > std::numeric_limits<index_t>::max() / 2 - samples ||
                origin < std::numeric_limits<index_t>::min() / 2)
                throw InvalidArgument(
                    message("the filters' origin ", origin, " is too far from their taps"));
            return {origin, origin + samples};
        case Mode::valid:
            if (frame > samples)
                throw InvalidArgument(message(
                    "mode valid has no results: the filters' ", frame,
                    " taps (from the first of any to the last) do not fit into the signal's ",
                    samples, " samples"));
            return {frame - 1, samples};
    }
    throw InternalError("a mode outside its enumeration");
}

SampleRange FilterProblem::inputs(const SampleRange& results, index_t samples) const {
    const index_t before = work.taps - 1 + (work.function ? work.function->before : 0);
    const index_t after = work.function ? work.function->after : 0;
    SampleRange inputs;
    inputs.begin = std::clamp<index_t>(results.begin - before, 0, samples);
    inputs.end = std::clamp<index_t>(results.end + after, inputs.begin, samples);
    return inputs;
}

FilterProblem resolve_filters(const SignalShape& shape, const std::vector<ConstImageView>& filters,
                              const FilterOptions& options, PixelType signal_type) {
    check_options(shape, options);
    const AlignedFilters frame(filters, options.origin);
    const bool derivative = options.post == PointPost::derivative;

    FilterProblem problem;
    problem.frame = frame.taps();
    problem.origin = frame.origin();
    problem.mode = options.mode;
    problem.asked = options.range;
    problem.range = problem.range_of(shape.samples);
    // Of a signal that arrives as it is recorded, results are not held back for long.
    constexpr index_t soon = index_t{1} << 16;
    problem.chunk = options.chunk;
    if (problem.chunk == 0 && shape.samples == unknown_samples)
        problem.chunk = std::max(soon, 4 * std::min(frame.taps(), unknown_samples));
    // (y[n+1] - y[n-1]) / 2 is sample n+1 of the convolution with h * (1, 0, -1)/2.
    problem.shift = derivative ? 1 : 0;

    FilterWork& work = problem.work;
    work.filters = frame.filters();
    work.taps = total(frame.taps(), derivative ? 2 : 0);
    work.complex_data = frame.complex_taps() || is_complex(signal_type);
    work.precision = options.precision;
    work.power = options.post == PointPost::power;
    work.function = options.function;
    work.window = options.window;
    // Longer windows than there are results are one, and would only invite overflow.
    work.window.length = work.window.kind == WindowPost::Kind::none
                             ? 1
                             : std::min(work.window.length, problem.range.count());
    work.method = options.method;
    work.segment = options.segment;
    check_function(work);
    check_segment(work);

    const index_t sample = std::max<index_t>(static_cast<index_t>(size_of(work.result_type())),
                                             static_cast<index_t>(sizeof(index_t)));
    index_t bytes = sample;
    for (const index_t factor : {shape.signals, work.filters, problem.stored()}) {
        if (factor > std::numeric_limits<index_t>::max() / bytes)
            throw InvalidArgument(message("the results, ", shape.signals, " signals × ",
                                          work.filters, " filters × ", problem.stored(),
                                          " samples, are larger than 64 bits address"));
        bytes *= factor;
    }
    problem.taps = frame.make_taps(work.sample_type(), derivative);
    return problem;
}

}  // namespace convolume
