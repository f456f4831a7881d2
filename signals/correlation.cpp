// SPDX-License-Identifier: Apache-2.0
#include "convolume/correlation.hpp"

#include <algorithm>
#include <cmath>
#include <complex>
#include <optional>
#include <utility>
#include <vector>

#include "core/order_statistics.hpp"
#include "core/threads.hpp"
#include "signals/matched_template.hpp"
#include "signals/peak_finder.hpp"
#include "signals/sample_recorder.hpp"
#include "signals/samples.hpp"
#include "signals/stream.hpp"

namespace convolume {

namespace {

constexpr index_t shortest_block = 16;
// Medians of |x| for noise of standard deviation 1: real Gaussian, and complex circular Gaussian.
constexpr double real_median = 0.674489750196082;
constexpr double complex_median = 0.832554611157698;  // sqrt(ln 2)

/// Throws InvalidArgument for blocks that are too short for an estimate.
void check_noise_block(index_t block) {
    if (block < shortest_block)
        throw InvalidArgument(message("a noise level from blocks of ", block,
                                      " samples is no estimate: give at least ", shortest_block));
}

/// A source whose samples are those of another source, divided by the level of their noise. Each
/// signal must be read from sample 0 on, without gaps.
class NoiseDivider : public SignalSource {
  public:
    /// `samples` is the number of samples of each signal, or unknown_samples. `precision` is that
    /// of the quotients. Throws InvalidArgument for short blocks.
    NoiseDivider(SignalSource& source, index_t samples, index_t block, Precision precision)
        : source_(source),
          length_(samples),
          // A longer block than the signal is one block, whose double is within range.
          block_(std::min(block, std::max(samples, shortest_block))),
          complex_(is_complex(source.type())) {
        check_noise_block(block);
        type_ = sample_type(precision, complex_);
    }

    PixelType type() const override { return type_; }
    void read(index_t signal, index_t begin, index_t count, void* to) override {
        read_until_end(signal, begin, count, to);
    }

    index_t read_until_end(index_t signal, index_t begin, index_t count, void* to) override {
        if (signal != signal_ || begin == 0) start(signal);
        constexpr index_t samples_at_a_time = index_t{1} << 16;
        index_t done = 0;
        while (done < count) {
            const index_t now = std::min(samples_at_a_time, count - done);
            const index_t found =
                divide(begin + done, now,
                       static_cast<char*>(to) + done * static_cast<index_t>(size_of(type_)));
            done += found;
            if (found < now) break;
        }
        return done;
    }

    void cancel() override { source_.cancel(); }

  private:
    struct BlockLevel {
        double center = 0;  ///< middle of the block, as a number of samples
        double value = 0;   ///< standard deviation; 0: unknown
    };
    void start(index_t signal) {
        signal_ = signal;
        end_.reset();
        if (length_ != unknown_samples) end_ = length_;
        first_ = blocks_ = 0;
        samples_.clear();
        all_levels_ = false;
        left_ = right_ = {};
    }

    /// Divides samples as read_until_end() does, after its preparation.
    index_t divide(index_t begin, index_t count, void* to) {
        const index_t passed = std::min(begin - first_, static_cast<index_t>(samples_.size()));
        samples_.erase(samples_.begin(), samples_.begin() + passed);
        first_ = begin;
        read_ahead(begin + count);
        count = std::min(count, end_.value_or(unknown_samples) - begin);
        visit_pixel_type(type_, [&](auto tag) {
            using T = typename decltype(tag)::type;
            if constexpr (!std::is_integral_v<T>)
                for (index_t i = 0; i < count; ++i) {
                    const double level = level_at(begin + i);
                    const std::complex<double> x = samples_[static_cast<std::size_t>(i)];
                    const std::complex<double> quotient =
                        level == 0 && std::isfinite(std::abs(x)) ? 0 : x / level;
                    if constexpr (std::is_floating_point_v<T>)
                        static_cast<T*>(to)[i] = static_cast<T>(quotient.real());
                    else
                        static_cast<T*>(to)[i] = T(quotient);
                }
        });
        return count;
    }

    /// Reads until the samples before `end` are there, or the signal ends.
    void read_ahead(index_t end) {
        const index_t begin = first_ + static_cast<index_t>(samples_.size());
        if (end_) end = std::min(end, *end_);
        if (end <= begin) return;
        index_t count = end - begin;
        raw_.resize(static_cast<std::size_t>(count) * size_of(source_.type()));
        if (length_ != unknown_samples) {
            source_.read(signal_, begin, count, raw_.data());
        } else if (const index_t found = source_.read_until_end(signal_, begin, count, raw_.data());
                   found < count) {
            end_ = begin + found;
            count = std::max<index_t>(found, 0);
        }
        const ConstImageView from{raw_.data(), source_.type(), {1, 1, count}, {count, count, 1}};
        samples_.resize(samples_.size() + static_cast<std::size_t>(count));
        convert_row(from, 0, 0, count, false, samples_.data() + (begin - first_));
    }

    /// Appends the level of the next block, unless the signal ended before it.
    void add_level() {
        // A block is the last one if the signal ends before another whole one.
        const index_t begin = blocks_ * block_;
        read_ahead(begin + 2 * block_);
        const bool is_last = end_ && *end_ < begin + 2 * block_;
        const index_t end = is_last ? *end_ : begin + block_;
        left_ = right_;
        right_ = {static_cast<double>(begin + end - 1) / 2, estimate(begin, end)};
        if (right_.value == 0) right_.value = left_.value;
        if (blocks_ == 0 || left_.value == 0) left_.value = right_.value;
        if (blocks_ == 0) left_.center = right_.center;
        ++blocks_;
        all_levels_ = is_last;
    }

    double estimate(index_t begin, index_t end) const {
        std::vector<double> sizes;
        sizes.reserve(static_cast<std::size_t>(end - begin));
        for (index_t i = begin - first_; i < end - first_; ++i) {
            const double size = std::abs(samples_[static_cast<std::size_t>(i)]);
            if (std::isfinite(size)) sizes.push_back(size);
        }
        return median(std::move(sizes)) / (complex_ ? complex_median : real_median);
    }

    double level_at(index_t sample) {
        const auto at = static_cast<double>(sample);
        while (blocks_ == 0 || (at > right_.center && !all_levels_)) add_level();
        if (at >= right_.center) return right_.value;
        if (at <= left_.center) return left_.value;
        const double part = (at - left_.center) / (right_.center - left_.center);
        return left_.value + part * (right_.value - left_.value);
    }

    SignalSource& source_;
    index_t length_;  ///< samples of a signal, as given
    index_t block_;
    PixelType type_;
    bool complex_;

    index_t signal_ = -1;
    std::optional<index_t> end_;  ///< samples of the signal, once they are known
    index_t first_ = 0;           ///< sample that samples_ begins with
    std::vector<std::complex<double>> samples_;
    std::vector<char> raw_;
    index_t blocks_ = 0;       ///< blocks that have a level
    bool all_levels_ = false;  ///< the last block has its level
    BlockLevel left_, right_;  ///< levels of the last two blocks
};

void check_options(const CorrelationOptions& options) {
    const FilterOptions plain;
    const FilterOptions& filters = options.filters;
    if (filters.origin.kind != plain.origin.kind || filters.post != plain.post || filters.range ||
        filters.function || !(filters.window == plain.window))
        throw InvalidArgument(
            "origin, post, window, range and function of the filters are the correlation bank's: "
            "leave them out");
    if (!(options.threshold > 0) || !std::isfinite(options.threshold))
        throw InvalidArgument(
            message("a threshold of ", options.threshold, " is no SNR: give a number above 0"));
    if (options.window && *options.window < 1)
        throw InvalidArgument(
            message("a window of ", *options.window, " positions was given: give at least 1"));
    if (options.noise && options.noise_block)
        throw InvalidArgument("the noise is given and to be estimated, too: leave out one of them");
}

void expect_shape(const char* what, const ConstImageView& view, const Shape3& planned) {
    if (view.shape != planned)
        throw InvalidArgument(message("the ", what, " have the shape ", to_string(view.shape),
                                      ", but this bank was planned for ", to_string(planned)));
    refuse_null(view.data == nullptr, what);
}

PeakFunction collected_in(std::vector<CorrelationPeak>& peaks) {
    return [&peaks](std::span<const CorrelationPeak> some) {
        peaks.insert(peaks.end(), some.begin(), some.end());
    };
}

}  // namespace

struct CorrelationBank::Impl {
    SignalShape shape;
    CorrelationOptions options;
    std::vector<MatchedTemplate> templates;
    bool is_complex;
    int threads;
    index_t longest = 0;  ///< samples of the longest template
    index_t window;
    std::optional<FilterBank> bank;

    Impl(const SignalShape& signal_shape, const std::vector<ConstImageView>& views,
         const CorrelationOptions& opts, const EngineChoice& engines, PixelType signal_type)
        : shape(signal_shape),
          options(opts),
          templates(load_templates(views, opts.noise.value_or(1))),
          is_complex(convolume::is_complex(signal_type)),
          threads(thread_count(engines.threads)) {
        check_options(options);
        std::vector<Volume> taps;
        std::vector<ConstImageView> filters;
        for (const MatchedTemplate& one : templates) {
            longest = std::max(longest, one.size());
            is_complex = is_complex || one.is_complex();
            filters.push_back(taps.emplace_back(one.taps()).view());
        }
        window = options.window.value_or(longest);
        if (options.noise_block) check_noise_block(*options.noise_block);
        bank.emplace(shape, filters, filter_options(), engines, signal_type);
        window = std::min(window, bank->range().count());
    }

    FilterOptions filter_options() const {
        FilterOptions filters = options.filters;
        filters.origin.kind = FilterOrigin::Kind::anticausal;
        if (!options.keeps_series) {
            filters.post = PointPost::power;
            filters.window = {WindowPost::Kind::peak, window};
        }
        // Samples of up to three chunks are kept until their peaks are certain. Chunks are
        // therefore smaller than those of filters, and half of the memory limit is for the samples.
        constexpr index_t results_at_a_time = index_t{1} << 22;
        const auto count = static_cast<index_t>(templates.size());
        if (filters.chunk == 0 && shape.samples != unknown_samples)
            filters.chunk = std::max(results_at_a_time / count, 4 * longest);
        filters.max_host_bytes = std::max<index_t>(1, stream_limit(filters) / 2);
        return filters;
    }

    PeakSearch search() const { return {options, window, *bank, templates, is_complex, threads}; }

    ExecutionReport execute(SignalSource& source, const PeakFunction& on_peaks, ResultSink* series,
                            const ExecutionContext& context) const {
        if (series && !options.keeps_series)
            throw InvalidArgument(
                sentence("the bank keeps no series: plan it with ", OptionName{"keeps_series"}));
        std::optional<NoiseDivider> divider;
        if (options.noise_block)
            divider.emplace(source, shape.samples, *options.noise_block, options.filters.precision);
        SampleRecorder recorder(divider ? static_cast<SignalSource&>(*divider) : source);
        PeakFinder finder(search(), recorder, on_peaks, series);
        const ExecutionReport report = bank->execute(recorder, finder, context);
        finder.finish();
        return report;
    }
};

CorrelationBank::CorrelationBank(const SignalShape& shape,
                                 const std::vector<ConstImageView>& templates,
                                 const CorrelationOptions& options, const EngineChoice& engines,
                                 PixelType signal_type)
    : impl_(std::make_unique<Impl>(shape, templates, options, engines, signal_type)) {}

const FilterBank& CorrelationBank::filter_bank() const {
    return *impl_->bank;
}
index_t CorrelationBank::window() const {
    return impl_->window;
}

std::vector<CorrelationPeak> CorrelationBank::peaks(const ConstImageView& signals,
                                                    const ExecutionContext& context) const {
    expect_shape("signals", signals, {1, impl_->shape.signals, impl_->shape.samples});
    MemorySource source(signals);
    std::vector<CorrelationPeak> found;
    impl_->execute(source, collected_in(found), nullptr, context);
    return found;
}

std::vector<CorrelationPeak> CorrelationBank::peaks_of_maxima(const ConstImageView& powers,
                                                              const index_t* positions,
                                                              SignalSource& source) const {
    const FilterBank& bank = *impl_->bank;
    if (impl_->options.noise_block || impl_->options.keeps_series)
        throw InvalidArgument(
            "maxima belong to a bank that neither estimates the noise nor keeps the series");
    expect_shape("maxima", powers, {impl_->shape.signals, bank.filters(), bank.result_samples()});
    if (positions == nullptr || powers.type != bank.result_type() || powers.strides.x != 1)
        throw InvalidArgument(message("maxima are contiguous ", to_string(bank.result_type()),
                                      " with their positions"));
    RereadSource samples(source, impl_->shape.samples);
    std::vector<CorrelationPeak> found;
    const PeakFunction collect = collected_in(found);
    PeakFinder finder(impl_->search(), samples, collect, nullptr);
    const index_t windows = bank.result_samples();
    for (index_t signal = 0; signal < powers.shape.z; ++signal)
        for (index_t filter = 0; filter < powers.shape.y; ++filter) {
            finder.write(signal, filter, 0, windows, powers.at(signal, filter, 0));
            finder.write_positions(signal, filter, 0, windows, positions);
            positions += windows;
        }
    finder.finish();
    return found;
}

ExecutionReport CorrelationBank::execute(SignalSource& source, const PeakFunction& on_peaks,
                                         ResultSink* series,
                                         const ExecutionContext& context) const {
    return impl_->execute(source, on_peaks, series, context);
}

Volume divide_by_noise(const ConstImageView& signals, index_t block, Precision precision) {
    if (signals.shape.z != 1) throw InvalidArgument("signals have the shape (1, signals, samples)");
    MemorySource source(signals);
    NoiseDivider divider(source, signals.shape.x, block, precision);
    Volume quotients(signals.shape, divider.type());
    for (index_t i = 0; i < signals.shape.y && signals.shape.x > 0; ++i)
        divider.read(i, 0, signals.shape.x, quotients.view().at(0, i, 0));
    return quotients;
}

}  // namespace convolume
