// SPDX-License-Identifier: Apache-2.0
#include "convolume/rate_converter.hpp"

#include <algorithm>

#include "core/threads.hpp"
#include "cpu/signals/rate_conversion.hpp"
#include "signals/kept_samples.hpp"
#include "signals/rate_filter.hpp"
#include "signals/result_positions.hpp"

namespace convolume {

namespace {

// Results whose positions are computed before their sums, which threads share.
constexpr index_t segment_results = index_t{1} << 16;

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

}  // namespace

/// A filter with its engine.
class RateEngine {
  public:
    RateEngine(const RateOptions& options, bool complex_data)
        : filter_(design_rate_filter(options, complex_data)),
          threads_(thread_count(options.threads)),
          engine_(cpu::make_rate_conversion(filter_)) {
        std::vector<double>().swap(filter_.coefficients);  // the engine has its own
    }

    const RateFilter& filter() const { return filter_; }

    /// Computes the next `count` results of signals.
    Volume convert(const ResampledSignals& signals, ResultPositions& positions, index_t count,
                   const ExecutionContext& context) const {
        const Shape3& shape = signals.samples.shape;
        Volume results({shape.z, shape.y, count}, filter_.result_type());
        std::vector<SamplePosition> segment;
        for (index_t begin = 0; begin < count; begin += segment_results) {
            const index_t end = std::min(count, begin + segment_results);
            segment.resize(static_cast<std::size_t>(end - begin));
            positions.take(end - begin, segment.data());
            engine_->convert(signals, segment.data(),
                             subview(results.view(), {{0, 0, begin}, {shape.z, shape.y, end}}),
                             threads_, context);
        }
        return results;
    }

  private:
    RateFilter filter_;  // without coefficients
    int threads_;
    std::unique_ptr<const PreparedRateConversion> engine_;
};

struct RateConverter::Impl {
    RateOptions options;
    RateEngine engine;
    double ratio;
    KeptSamples kept;
    ResultPositions positions{};

    Volume take(index_t end, const ExecutionContext& context) {
        return engine.convert(kept.samples(), positions, positions.count_before(end), context);
    }
};

RateConverter::RateConverter(const RateOptions& options, PixelType signal_type, index_t signals) {
    const RateOptions checked = checked_rate_options(options);
    impl_ = std::unique_ptr<Impl>(new Impl{checked, RateEngine(checked, is_complex(signal_type)),
                                           checked.ratio, KeptSamples(signals)});
}

const RateOptions& RateConverter::options() const {
    return impl_->options;
}
PixelType RateConverter::result_type() const {
    return impl_->engine.filter().result_type();
}
index_t RateConverter::taps() const {
    return impl_->engine.filter().taps();
}
double RateConverter::ratio() const {
    return impl_->ratio;
}
void RateConverter::set_ratio(double ratio) {
    check_ratio(ratio, impl_->options.lowest_ratio);
    impl_->ratio = ratio;
}

index_t RateConverter::results(index_t samples) const {
    return ResultPositions::count_of(samples, impl_->ratio);
}

Volume RateConverter::push(const ConstImageView& samples, std::span<const double> ratios,
                           const ExecutionContext& context) {
    Impl& impl = *impl_;
    const RateFilter& filter = impl.engine.filter();
    impl.kept.check(samples, filter.complex_data);
    check_ratios(ratios, samples.shape.x, impl.options.lowest_ratio);
    if (samples.shape.x > 0) {
        set_ratios(impl.positions, impl.kept.end(), impl.ratio, ratios);
        if (!ratios.empty()) impl.ratio = ratios.back();
        impl.kept.append(samples, impl.positions.next().whole - filter.half + 1);
    }
    return impl.take(impl.kept.end() - filter.half, context);
}

Volume RateConverter::finish(const ExecutionContext& context) {
    Impl& impl = *impl_;
    impl.kept.check_end();
    Volume last = impl.take(impl.kept.end(), context);
    impl.kept.clear();
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
    ResultPositions positions;
    set_ratios(positions, 0, used.ratio, ratios);
    return RateEngine(used, is_complex(signals.type))
        .convert({signals, 0}, positions, positions.count_before(signals.shape.x), context);
}

}  // namespace convolume
