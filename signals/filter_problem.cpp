// SPDX-License-Identifier: Apache-2.0
#include "signals/filter_problem.hpp"

#include <algorithm>
#include <cmath>
#include <complex>
#include <limits>
#include <vector>

#include "convolume/error.hpp"
#include "convolume/filter_options.hpp"
#include "convolume/volume.hpp"
#include "core/pixels/rows.hpp"
#include "core/views.hpp"
#include "signals/samples.hpp"
#include "signals/stream.hpp"

namespace convolume {

namespace {

index_t origin_of(const FilterOrigin& origin, index_t taps) {
    switch (origin.kind) {
        case FilterOrigin::Kind::center:
            return (taps - 1) / 2;
        case FilterOrigin::Kind::causal:
            return 0;
        case FilterOrigin::Kind::anticausal:
            return taps - 1;
        case FilterOrigin::Kind::explicit_:
            return origin.index;
    }
    throw InternalError("a filter origin outside its enumeration");
}

void check_finite(const std::vector<std::complex<double>>& taps, std::size_t filter) {
    for (std::size_t k = 0; k < taps.size(); ++k)
        if (!std::isfinite(taps[k].real()) || !std::isfinite(taps[k].imag()))
            throw BadData(message("filter ", filter, " holds ",
                                  std::isfinite(taps[k].real()) ? taps[k].imag() : taps[k].real(),
                                  " at tap ", k, ": replace it by a finite number"));
}

// Filters of any length and type, padded to a common frame of taps in which their origins are at
// one tap.
class AlignedFilters {
  public:
    /// `filters` are as in FilterBank. Throws InvalidArgument (no filters or taps), BadData (NaN).
    AlignedFilters(const std::vector<ConstImageView>& filters, const FilterOrigin& origin) {
        for (const ConstImageView& view : filters) {
            if (view.shape.z != 1)
                throw InvalidArgument(
                    message("the filters have the shape ", to_string(view.shape),
                            " (z×y×x): give 1×F×M, a filter of M taps in each row"));
            if (view.shape.y < 1 || view.shape.x < 1)
                throw InvalidArgument(message("the bank holds ", view.shape.y, " filters of ",
                                              view.shape.x,
                                              " taps: it needs at least 1 of at least 1"));
            check_memory(view, message("filter ", filters_.size()));
            complex_ = complex_ || is_complex(view.type);
            for (index_t y = 0; y < view.shape.y; ++y) {
                AlignedFilter filter;
                filter.taps.resize(static_cast<std::size_t>(view.shape.x));
                convert_row(view, y, 0, view.shape.x, false, filter.taps.data());
                check_finite(filter.taps, filters_.size());
                filter.origin = origin_of(origin, view.shape.x);
                filters_.push_back(std::move(filter));
            }
        }
        if (filters_.empty())
            throw InvalidArgument("the bank holds no filters: it needs at least 1");

        // The frame begins with the earliest tap of any filter.
        origin_ = filters_.front().origin;
        for (const AlignedFilter& filter : filters_) origin_ = std::max(origin_, filter.origin);
        for (AlignedFilter& filter : filters_) {
            filter.begin = origin_ - filter.origin;
            taps_ = std::max(taps_, filter.begin + static_cast<index_t>(filter.taps.size()));
        }
    }

    index_t filters() const { return static_cast<index_t>(filters_.size()); }
    index_t taps() const { return taps_; }
    index_t origin() const { return origin_; }
    bool complex_taps() const { return complex_; }

    /// Returns the taps of all filters times `scale`, padded with zeros to the frame. With
    /// `derivative`, they are h * (1, 0, -1)/2, which has two taps more. Throws BadData if `type`
    /// cannot hold a tap.
    Volume padded_taps(PixelType type, bool derivative, double scale) const {
        const index_t length = checked_add(taps_, derivative ? 2 : 0);
        Volume taps({1, filters(), length}, type);
        const bool single = type == PixelType::float32 || type == PixelType::complex64;
        std::vector<std::complex<double>> padded(static_cast<std::size_t>(length));
        for (index_t f = 0; f < filters(); ++f) {
            const AlignedFilter& filter = filters_[static_cast<std::size_t>(f)];
            std::fill(padded.begin(), padded.end(), 0.0);
            for (std::size_t k = 0; k < filter.taps.size(); ++k) {
                const std::size_t at = static_cast<std::size_t>(filter.begin) + k;
                const std::complex<double> tap = scale * filter.taps[k];
                if (derivative) {
                    padded[at] += 0.5 * tap;
                    padded[at + 2] -= 0.5 * tap;
                } else {
                    padded[at] = tap;
                }
            }
            for (const std::complex<double>& tap : padded)
                if (single && std::max(std::abs(tap.real()), std::abs(tap.imag())) >
                                  static_cast<double>(std::numeric_limits<float>::max()))
                    throw BadData(message("filter ", f, " holds a tap of ", std::abs(tap),
                                          ", beyond what float32 holds: compute in float64"));
            visit_pixel_type(type, [&](auto tag) {
                using T = typename decltype(tag)::type;
                if constexpr (std::is_integral_v<T>) {
                    throw InternalError("taps are floating-point numbers");
                } else {
                    T* const out = taps.elements<T>() + f * length;
                    for (const std::complex<double>& tap : padded) {
                        if constexpr (std::is_floating_point_v<T>)
                            out[&tap - padded.data()] = static_cast<T>(tap.real());
                        else
                            out[&tap - padded.data()] = T(tap);
                    }
                }
            });
        }
        return taps;
    }

  private:
    struct AlignedFilter {
        std::vector<std::complex<double>> taps;
        index_t origin = 0;
        index_t begin = 0;  ///< position of the filter's first tap in the frame
    };
    std::vector<AlignedFilter> filters_;
    index_t taps_ = 0;
    index_t origin_ = 0;
    bool complex_ = false;
};

void check_options(const SignalShape& shape, const FilterOptions& options) {
    if (shape.signals < 1 || shape.samples < 1)
        throw InvalidArgument(message(shape.signals, " signals of ", shape.samples,
                                      " samples were given: at least 1 of at least 1 is needed"));
    check_nan_policy(options.nan);
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

void check_function(const FilterSpec& spec) {
    if (spec.function) {
        if (spec.function->sample_type != spec.sample_type())
            throw InvalidArgument(
                message("the function takes ", to_string(spec.function->sample_type),
                        ", but filtered samples are ", to_string(spec.sample_type()), " here"));
        if (spec.function->before < 0 || spec.function->after < 0)
            throw InvalidArgument("the function looks at a negative number of samples");
        if (is_integer(spec.function->result_type))
            throw InvalidArgument("the function returns whole numbers: return float or double");
    }
    if (spec.window.kind == WindowPost::Kind::peak && is_complex(spec.result_type()))
        throw InvalidArgument(
            "complex results have no largest one: ask for peaks of their power, or of a function "
            "with real values");
}

void check_scale(SampleStorage storage, double scale, const char* which) {
    if (!(scale > 0) || !std::isfinite(scale))
        throw InvalidArgument(message("the scale of ", which, " is ", scale,
                                      ": give the value of one step of int16, above 0"));
    if (scale != 1 && storage != SampleStorage::int16)
        throw InvalidArgument(message("a scale of ", scale, " was given for ", which,
                                      " that are not stored as int16: give 1"));
}

void check_storage(const FilterSpec& spec, const FilterOptions& options) {
    check_scale(options.signal_storage, options.signal_scale, "signals");
    check_scale(options.result_storage, options.result_scale, "results");
    if (spec.is_plain_storage()) return;
    if (spec.precision != Precision::float32)
        throw InvalidArgument(
            "signals and results of 16 bits are computed in float32: ask for that precision, or "
            "for plain storage");
    if (spec.result_storage == SampleStorage::plain) return;
    if (spec.window.kind == WindowPost::Kind::peak)
        throw InvalidArgument(
            "peaks are few and are not stored in 16 bits: ask for plain storage of the results");
    const PixelType type = spec.result_type();
    if (type != PixelType::float32 && type != PixelType::complex64)
        throw InvalidArgument(message("the function returns ", to_string(type),
                                      ", which is not stored in 16 bits: return float"));
}

void check_segment(const FilterSpec& spec) {
    const bool partitions =
        spec.method == FilterMethod::partitioned || spec.method == FilterMethod::direct;
    if (spec.segment == 0 || partitions || spec.segment >= spec.taps) return;
    throw InvalidArgument(sentence("segments of ", spec.segment, " samples are shorter than the ",
                                   spec.taps,
                                   " taps of the filters: give at least as many samples as taps (",
                                   OptionName{"segment"}, "), or the method partitioned"));
}

// Returns a + b. Throws InvalidArgument if the full result has too many samples.
index_t add_sample_counts(index_t a, index_t b) {
    if (a > std::numeric_limits<index_t>::max() - b)
        throw InvalidArgument(message("the full result of ", a, " samples and ", b,
                                      " taps has more samples than 64 bits count"));
    return a + b;
}

}  // namespace

SampleRange FilterProblem::range_of(index_t samples) const {
    const index_t full = add_sample_counts(samples, frame_taps) - 1;
    if (requested_range) {
        const SampleRange& wanted = *requested_range;
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
            if (frame_taps > samples)
                throw InvalidArgument(message(
                    "mode valid has no results: the filters' ", frame_taps,
                    " taps (from the first of any to the last) do not fit into the signal's ",
                    samples, " samples"));
            return {frame_taps - 1, samples};
    }
    throw InternalError("a mode outside its enumeration");
}

SampleRange FilterProblem::inputs(const SampleRange& results, index_t samples) const {
    const index_t before = spec.taps - 1 + (spec.function ? spec.function->before : 0);
    const index_t after = spec.function ? spec.function->after : 0;
    SampleRange inputs;
    inputs.begin = std::clamp<index_t>(results.begin - before, 0, samples);
    inputs.end = std::clamp<index_t>(results.end + after, inputs.begin, samples);
    return inputs;
}

FilterProblem resolve_filters(const SignalShape& shape, const std::vector<ConstImageView>& filters,
                              const FilterOptions& options, PixelType signal_type) {
    check_options(shape, options);
    const AlignedFilters aligned(filters, options.origin);
    const bool derivative = options.post == PointPost::derivative;

    FilterProblem problem;
    problem.frame_taps = aligned.taps();
    problem.origin = aligned.origin();
    problem.mode = options.mode;
    problem.requested_range = options.range;
    problem.range = problem.range_of(shape.samples);
    // A signal of unknown length may still be recorded: small chunks let its results appear soon.
    constexpr index_t live_chunk = index_t{1} << 16;
    problem.chunk = options.chunk;
    if (problem.chunk == 0 && shape.samples == unknown_samples)
        problem.chunk = std::max(live_chunk, 4 * std::min(aligned.taps(), unknown_samples));
    // (y[n+1] - y[n-1]) / 2 is sample n+1 of the convolution with h * (1, 0, -1)/2.
    problem.shift = derivative ? 1 : 0;

    FilterSpec& spec = problem.spec;
    spec.filters = aligned.filters();
    spec.taps = add_sample_counts(aligned.taps(), derivative ? 2 : 0);
    spec.complex_data = aligned.complex_taps() || is_complex(signal_type);
    spec.precision = options.precision;
    spec.power = options.post == PointPost::power;
    spec.function = options.function;
    spec.window = options.window;
    // A window longer than the results is one window. Clamping its length avoids overflow.
    spec.window.length = spec.window.kind == WindowPost::Kind::none
                             ? 1
                             : std::min(spec.window.length, problem.range.count());
    spec.method = options.method;
    spec.segment = options.segment;
    spec.signal_storage = options.signal_storage;
    spec.result_storage = options.result_storage;
    spec.result_scale = options.result_scale;
    check_function(spec);
    check_storage(spec, options);
    check_segment(spec);

    const index_t sample =
        std::max<index_t>(sample_bytes(spec.result_type()), static_cast<index_t>(sizeof(index_t)));
    index_t bytes = sample;
    for (const index_t factor : {shape.signals, spec.filters, problem.stored()}) {
        if (factor > std::numeric_limits<index_t>::max() / bytes)
            throw InvalidArgument(message("the results, ", shape.signals, " signals × ",
                                          spec.filters, " filters × ", problem.stored(),
                                          " samples, are larger than 64 bits address"));
        bytes *= factor;
    }
    problem.taps = aligned.padded_taps(spec.sample_type(), derivative, options.signal_scale);
    return problem;
}

namespace {

constexpr FilterMethod all_methods[] = {FilterMethod::direct, FilterMethod::overlap_save,
                                        FilterMethod::overlap_add, FilterMethod::partitioned};

bool allows(const FilterOptions& options, FilterMethod method) {
    return options.method == FilterMethod::automatic || options.method == method;
}

[[noreturn]] void throw_no_method(const FilterProblem& problem, const SignalShape& shape,
                                  const FilterOptions& options, const FilterEngineList& engines) {
    std::string choices;
    bool segment_excludes_methods = false;  // whether only the requested segment rules methods out
    for (const auto& engine : engines)
        for (const FilterMethod method : all_methods) {
            FilterSpec spec = problem.spec;
            spec.method = method;
            spec.segment = 0;
            const auto cost =
                engine->estimate(spec, shape.signals, problem.predicted_results(shape));
            if (!cost) continue;
            segment_excludes_methods |= options.segment > 0 && allows(options, method);
            choices +=
                message(choices.empty() ? "" : ", ", engine->info().name, " ", to_string(method));
            if (cost->segment > 0) choices += message(" (segments of ", cost->segment, ")");
        }
    const std::string text =
        message("no engine filters with ", problem.spec.taps, " taps by the method ",
                to_string(options.method),
                options.segment > 0 ? message(" in segments of ", options.segment) : std::string(),
                ": ", choices.empty() ? "there is none" : "there is " + choices);
    if (segment_excludes_methods) throw InvalidArgument(text);
    throw Unavailable(text);
}

}  // namespace

MethodSelection select_method(const FilterProblem& problem, const SignalShape& shape,
                              const FilterOptions& options, const FilterEngineList& engines) {
    MethodSelection best;
    bool best_fits = false;
    for (const auto& engine : engines)
        for (const FilterMethod method : all_methods) {
            if (!allows(options, method)) continue;
            FilterSpec spec = problem.spec;
            spec.method = method;
            auto cost = engine->estimate(spec, shape.signals, problem.predicted_results(shape));
            if (!cost) continue;
            const MethodSelection tried{engine, *std::move(cost)};
            const bool fits =
                !options.max_host_bytes ||
                stream_layout(problem, shape, tried, *options.max_host_bytes).chunk > 0;
            if (!best.engine || (fits && !best_fits) ||
                (fits == best_fits && tried.cost.seconds < best.cost.seconds)) {
                best = tried;
                best_fits = fits;
            }
        }
    if (!best.engine) throw_no_method(problem, shape, options, engines);
    return best;
}

}  // namespace convolume
