// SPDX-License-Identifier: Apache-2.0
#include "convolume/rate_converter.hpp"

#include <algorithm>
#include <array>

#include "core/threads.hpp"
#include "cpu/signals/resampling.hpp"
#include "signals/rate_plan.hpp"
#include "signals/result_positions.hpp"
#include "signals/sample_stream.hpp"

namespace convolume {

namespace {

// Results whose positions are computed before their sums, which threads share.
constexpr index_t segment_results = index_t{1} << 16;
// Samples that go through all stages before the next ones, so that what stages give to the next
// ones stays in caches: of all signals, of each, and of each for a thread.
constexpr index_t most_at_once = index_t{1} << 20;
constexpr index_t least_at_once = 64, usual_at_once = index_t{1} << 16;
constexpr index_t of_thread_at_once = index_t{1} << 13;

/// Throws InvalidArgument unless there is one ratio in range for each sample, or none at all.
void check_ratios(std::span<const double> ratios, index_t samples, double lowest) {
    if (ratios.empty()) return;
    if (static_cast<index_t>(ratios.size()) != samples)
        throw InvalidArgument(message("there are ", ratios.size(), " ratios for ", samples,
                                      " samples: give one for each sample, or none"));
    for (std::size_t i = 0; i < ratios.size(); ++i)
        check_ratio(ratios[i], lowest, static_cast<index_t>(i));
}

void set_ratios(ResultPositions& positions, index_t first, double ratio,
                std::span<const double> ratios) {
    if (ratios.empty()) positions.set_ratio(first, ratio);
    for (std::size_t i = 0; i < ratios.size(); ++i)
        positions.set_ratio(first + static_cast<index_t>(i), ratios[i]);
}

/// Returns a position among samples of 2^doublings times the rate, `first` of which come before
/// sample 0.
SamplePosition among(const SamplePosition& position, int doublings, index_t first) {
    const std::uint64_t fraction = position.fraction;
    if (doublings == 0) return {position.whole + first, fraction};
    if (doublings == 1)
        return {2 * position.whole + static_cast<index_t>(fraction >> 63) + first, fraction << 1};
    const auto whole = static_cast<std::uint64_t>(position.whole);
    return {(position.whole >> -doublings) + first,
            (whole << (64 + doublings)) | (fraction >> -doublings)};
}

/// Returns a view whose rows are along y, if they are along z only.
template <class View>
View rows_along_y(View view) {
    if (view.shape.y == 1) {
        std::swap(view.shape.z, view.shape.y);
        std::swap(view.strides.z, view.strides.y);
    }
    return view;
}

PlannedResampling prepare(const RateStage& stage, const RateFilter& filter, int threads) {
    ResampleOptions options;
    options.up = stage.up;
    options.down = stage.down;
    const auto taps = static_cast<index_t>(stage.taps.size());
    options.origin = taps / 2;
    options.precision = filter.precision;
    const ConstImageView view = view_of(stage.taps.data(), {1, 1, taps});
    PlannedResampling planned{checked_resample_spec(view, options, filter.result_type()), threads};
    planned.prepared = cpu::make_resampling(planned.spec, view);
    return planned;
}

}  // namespace

/// The stages of a conversion with their engines.
class RateEngine {
  public:
    RateEngine(const RateOptions& options, bool complex_data)
        : plan_(plan_rates(options, complex_data)),
          threads_(thread_count(options.threads)),
          interpolation_(cpu::make_rate_conversion(plan_.filter)) {
        for (const RateStage& stage : plan_.stages)
            stages_.push_back(prepare(stage, plan_.filter, threads_));
        plan_.stages.clear();  // the engines have their own taps
        std::vector<double>().swap(plan_.filter.coefficients);
    }

    const RatePlan& plan() const { return plan_; }
    int threads() const { return threads_; }
    const std::vector<PlannedResampling>& stages() const { return stages_; }
    const PreparedRateConversion& interpolation() const { return *interpolation_; }

    /// Returns the number of samples after the stages that come before sample 0 of a signal.
    index_t before() const { return of_rate(plan_.silence); }
    /// Returns the sample before which all results are complete when `samples` have come.
    index_t complete_before(index_t samples) const {
        index_t made = checked_add(samples, plan_.silence);
        for (const PlannedResampling& stage : stages_) made = stage.complete_results(made);
        const index_t ready = std::max<index_t>(0, made - plan_.filter.half - before());
        return plan_.doublings > 0 ? ready >> plan_.doublings : ready << -plan_.doublings;
    }

  private:
    index_t of_rate(index_t samples) const {
        return plan_.doublings > 0 ? samples << plan_.doublings : samples >> -plan_.doublings;
    }

    RatePlan plan_;
    int threads_;
    std::vector<PlannedResampling> stages_;
    std::unique_ptr<const PreparedRateConversion> interpolation_;
};

/// Signals on their way through the stages of a conversion, which begins after zeros.
class ConvertedStream {
  public:
    ConvertedStream(const RateEngine& engine, index_t signals)
        : engine_(engine), between_(signals) {
        for (const PlannedResampling& stage : engine.stages())
            streams_.emplace_back(stage, signals);
    }

    const KeptSamples& kept() const { return streams_.front().kept(); }
    /// Returns the number of samples that have come.
    index_t end() const { return end_; }

    /// Takes samples, which kept() has checked, and computes the next results.
    void process(const ConstImageView& samples, ResultPositions& positions,
                 const ImageView& results, const ExecutionContext& context) {
        ConvertedResults sink{positions, results, context};
        if (samples.shape.x == 0) return;
        if (end_ == 0) begin();
        end_ += samples.shape.x;
        feed(samples, sink);
    }
    /// Computes the last results, and begins another signal.
    void finish(ResultPositions& positions, const ImageView& results,
                const ExecutionContext& context) {
        ConvertedResults sink{positions, results, context};
        Volume made;
        for (std::size_t i = 0; i < streams_.size(); ++i) {
            if (i > 0) streams_[i].append(std::as_const(made).view());
            made = streams_[i].take_last(context);
        }
        keep_between(std::as_const(made).view(), sink);
        interpolate(end_, sink, context);
        for (SampleStream& stream : streams_) stream.clear();
        between_.clear();
        fed_ = end_ = 0;
    }

  private:
    /// The view that receives results, and the positions of the next ones.
    struct ConvertedResults {
        ResultPositions& positions;
        const ImageView& results;
        const ExecutionContext& context;
        index_t done = 0;
    };

    /// Begins a signal. All that stages make of the zeros before it is zero.
    void begin() {
        index_t zeros = fed_ = engine_.plan().silence;
        for (SampleStream& stream : streams_) zeros = stream.begin_after(zeros);
        between_.begin_after(zeros);
    }

    void keep_between(const ConstImageView& samples, const ConvertedResults& sink) {
        const SamplePosition first = among(sink.positions.next());
        between_.append(samples, first.whole - engine_.plan().filter.half + 1);
    }

    void feed(const ConstImageView& samples, ConvertedResults& sink) {
        const index_t signals = between_.signals();
        const index_t at_once =
            std::clamp(most_at_once / signals, least_at_once,
                       std::max(usual_at_once, of_thread_at_once * engine_.threads()));
        ExecutionContext own = sink.context;
        own.progress = {};
        for (index_t x = 0; x < samples.shape.x; x += at_once) {
            const index_t end = std::min(samples.shape.x, x + at_once);
            feed_part(subview(samples, {{0, 0, x}, {1, signals, end}}), sink, own);
            if (sink.context.progress && sink.results.shape.x > 0)
                sink.context.progress(static_cast<double>(sink.done) /
                                      static_cast<double>(sink.results.shape.x));
        }
    }

    void feed_part(const ConstImageView& samples, ConvertedResults& sink,
                   const ExecutionContext& context) {
        const RatePlan& plan = engine_.plan();
        Volume made;
        ConstImageView next = samples;
        for (SampleStream& stream : streams_) {
            stream.append(next);
            made = stream.take_complete(context);
            next = std::as_const(made).view();
        }
        fed_ += samples.shape.x;
        if (next.shape.x == 0) return;
        keep_between(next, sink);
        const index_t ready =
            std::min(end_, engine_.complete_before(std::max<index_t>(0, fed_ - plan.silence)));
        interpolate(ready, sink, context);
    }

    SamplePosition among(const SamplePosition& position) const {
        return convolume::among(position, engine_.plan().doublings, engine_.before());
    }

    /// Computes the results before sample `end`.
    void interpolate(index_t end, ConvertedResults& sink, const ExecutionContext& context) {
        const Shape3& shape = sink.results.shape;
        for (;;) {
            sink.positions.take_before(end, segment_results, segment_);
            const index_t x = sink.done, now = static_cast<index_t>(segment_.size());
            if (now == 0) return;
            for (SamplePosition& position : segment_) position = among(position);
            engine_.interpolation().convert(
                between_.samples(), segment_.data(),
                subview(sink.results, {{0, 0, x}, {1, shape.y, x + now}}), engine_.threads(),
                context);
            sink.done += now;
        }
    }

    const RateEngine& engine_;
    std::vector<SampleStream> streams_;
    KeptSamples between_;  ///< samples after the stages
    std::vector<SamplePosition> segment_;
    index_t fed_ = 0, end_ = 0;  ///< number of samples with and without silence
};

struct RateConverter::Impl {
    Impl(const RateOptions& checked, bool complex_data, index_t signals)
        : options(checked),
          engine(checked, complex_data),
          ratio(checked.ratio),
          stream(engine, signals) {}

    RateOptions options;
    RateEngine engine;
    double ratio;
    ConvertedStream stream;
    ResultPositions positions{};

    Volume results(index_t end) const {
        return {{1, stream.kept().signals(), positions.count_before(end)},
                engine.plan().filter.result_type()};
    }
};

RateConverter::RateConverter(const RateOptions& options, PixelType signal_type, index_t signals)
    : impl_(std::unique_ptr<Impl>(
          new Impl(checked_rate_options(options), is_complex(signal_type), signals))) {}

const RateOptions& RateConverter::options() const {
    return impl_->options;
}
PixelType RateConverter::result_type() const {
    return impl_->engine.plan().filter.result_type();
}
index_t RateConverter::taps() const {
    return 2 * impl_->engine.plan().half;
}
double RateConverter::ratio() const {
    return impl_->ratio;
}
void RateConverter::set_ratio(double ratio) {
    check_ratio(ratio, impl_->options.lowest_ratio);
    impl_->ratio = ratio;
}

index_t RateConverter::results(index_t samples) const {
    check_has_samples(samples);
    return ResultPositions::count_of(samples, impl_->ratio);
}

Volume RateConverter::push(const ConstImageView& samples, std::span<const double> ratios,
                           const ExecutionContext& context) {
    Impl& impl = *impl_;
    impl.stream.kept().check(samples, impl.engine.plan().filter.complex_data);
    check_ratios(ratios, samples.shape.x, impl.options.lowest_ratio);
    const index_t before = impl.stream.end(), end = checked_add(before, samples.shape.x);
    if (end > before) {
        set_ratios(impl.positions, before, impl.ratio, ratios);
        if (!ratios.empty()) impl.ratio = ratios.back();
    }
    Volume results = impl.results(std::min(end, impl.engine.complete_before(end)));
    impl.stream.process(samples, impl.positions, results.view(), context);
    return results;
}

Volume RateConverter::finish(const ExecutionContext& context) {
    Impl& impl = *impl_;
    check_has_samples(impl.stream.end());
    Volume last = impl.results(impl.stream.end());
    impl.stream.finish(impl.positions, last.view(), context);
    impl.positions = {};
    return last;
}

Volume convert_rate(const ConstImageView& signals, const RateOptions& options,
                    std::span<const double> ratios, const ExecutionContext& context) {
    RateOptions used = options;
    if (!ratios.empty()) {
        used.ratio = ratios.front();
        if (used.lowest_ratio == 0)
            used.lowest_ratio = *std::min_element(ratios.begin(), ratios.end());
    }
    used = checked_rate_options(used);
    check_resampled(signals, true);
    check_ratios(ratios, signals.shape.x, used.lowest_ratio);
    ResultPositions whole;
    set_ratios(whole, 0, used.ratio, ratios);
    const RateEngine engine(used, is_complex(signals.type));
    const index_t samples = signals.shape.x, count = whole.count_before(samples);
    Volume results({signals.shape.z, signals.shape.y, count}, engine.plan().filter.result_type());
    const ConstImageView from = rows_along_y(signals);
    const ImageView to = rows_along_y(results.view());
    if (element_count(from.shape) == 0) return results;
    ConvertedStream stream(engine, from.shape.y);
    for (index_t z = 0; z < from.shape.z; ++z) {
        ResultPositions positions = whole;
        const index_t early =
            positions.count_before(std::min(samples, engine.complete_before(samples)));
        const auto part = [&](const auto& view, index_t begin, index_t end) {
            return subview(view, {{z, 0, begin}, {z + 1, from.shape.y, end}});
        };
        stream.process(part(from, 0, samples), positions, part(to, 0, early), context);
        stream.finish(positions, part(to, early, count), context);
    }
    return results;
}

}  // namespace convolume
