// SPDX-License-Identifier: Apache-2.0
#include "convolume/correlation.hpp"

#include <algorithm>
#include <cmath>

#include "core/threads.hpp"
#include "signals/matched_template.hpp"
#include "signals/noise_level.hpp"
#include "signals/peak_finder.hpp"
#include "signals/sample_recorder.hpp"
#include "signals/stream.hpp"

namespace convolume {

namespace {

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
    if (view.data == nullptr)
        throw InvalidArgument(
            message("the ", what, " point to no memory (null): allocate it first"));
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
CorrelationBank::~CorrelationBank() = default;
CorrelationBank::CorrelationBank(CorrelationBank&&) noexcept = default;
CorrelationBank& CorrelationBank::operator=(CorrelationBank&&) noexcept = default;

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

}  // namespace convolume
