// SPDX-License-Identifier: Apache-2.0
#include "core/pixels/rows.hpp"
#include "core/threads.hpp"
#include "signals/option_names.hpp"
#include "signals/resampler_impl.hpp"

namespace convolume {

CONVOLUME_TO_STRING(SignalExtension)

SignalExtension parse_signal_extension(std::string_view text) {
    return parse_named<SignalExtension>(text, "extension of signals");
}

void check_factors(index_t up, index_t down) {
    constexpr index_t most = std::numeric_limits<std::int32_t>::max();
    for (const auto& [name, factor] : {std::pair{"up", up}, std::pair{"down", down}})
        if (factor < 1 || factor > most)
            throw InvalidArgument(message("the factor ", name, " is ", factor,
                                          ": factors of resampling are from 1 to ", most));
}

void check_signals(const ResampleSpec& spec, const ConstImageView& signals) {
    if (signals.data == nullptr)
        throw InvalidArgument("the signals point to no memory (null): allocate it first");
    if (signals.shape.x < 1)
        throw InvalidArgument("a signal without samples cannot be resampled: give one at least");
    if (is_complex(signals.type) && !spec.complex_data)
        throw InvalidArgument(
            "the signals are complex and the resampler is for real ones: make it for a complex "
            "signal_type");
}

ResampleSpec checked_resample_spec(const ConstImageView& taps, const ResampleOptions& options,
                                   PixelType signal_type) {
    check_factors(options.up, options.down);
    check_threads(options.threads);
    if (taps.data == nullptr || taps.shape.x < 1 || taps.shape.z != 1 || taps.shape.y != 1)
        throw InvalidArgument("the filter of a resampler is one row of taps, at least one");
    if (options.origin < 0 || options.origin >= taps.shape.x)
        throw InvalidArgument(message("the filter's origin is tap ", options.origin,
                                      ": taps are numbered from 0 to ", taps.shape.x - 1));
    if (const auto found = pixels::find_nonfinite(taps, 1))
        throw BadData(
            message("the filter holds ", found->value, " at tap ", found->index.x, ": repair it"));
    ResampleSpec spec;
    spec.options = options;
    spec.taps = taps.shape.x;
    spec.complex_data = is_complex(signal_type);
    spec.complex_taps = is_complex(taps.type);
    if (options.value.imag() != 0 && !spec.complex_data)
        throw InvalidArgument("the value beyond the ends of a real signal is real");
    return spec;
}

index_t full_results_of(const ResampleSpec& spec, index_t samples) {
    if (samples < 1) return 0;
    const ResampleOptions& options = spec.options;
    const index_t reached = checked_add(checked_multiply(samples - 1, options.up), spec.taps - 1);
    return reached < options.origin ? 0 : (reached - options.origin) / options.down + 1;
}

index_t same_results_of(const ResampleSpec& spec, index_t samples) {
    return ceil_div(checked_multiply(samples, spec.options.up), spec.options.down);
}

Resampler::Resampler(const ConstImageView& taps, const ResampleOptions& options,
                     PixelType signal_type)
    : impl_(std::make_unique<Impl>()) {
    impl_->spec = checked_resample_spec(taps, options, signal_type);
    impl_->threads = thread_count(options.threads);
    impl_->prepared = cpu::make_resampling(impl_->spec, taps);
}

Resampler::~Resampler() = default;
Resampler::Resampler(Resampler&&) noexcept = default;
Resampler& Resampler::operator=(Resampler&&) noexcept = default;

const ResampleOptions& Resampler::options() const {
    return impl_->spec.options;
}
index_t Resampler::taps() const {
    return impl_->spec.taps;
}
PixelType Resampler::result_type() const {
    return impl_->spec.result_type();
}
index_t Resampler::full_results(index_t samples) const {
    return full_results_of(impl_->spec, samples);
}
index_t Resampler::same_results(index_t samples) const {
    return same_results_of(impl_->spec, samples);
}

void Resampler::execute(const ConstImageView& signals, const ImageView& results,
                        const ExecutionContext& context) const {
    const ResampleSpec& spec = impl_->spec;
    check_signals(spec, signals);
    if (results.data == nullptr && results.shape.x > 0)
        throw InvalidArgument("the results point to no memory (null): allocate it first");
    if (results.type != spec.result_type())
        throw InvalidArgument(message("the results are ", to_string(spec.result_type()),
                                      ", and not ", to_string(results.type)));
    if (results.shape.z != signals.shape.z || results.shape.y != signals.shape.y)
        throw InvalidArgument("there are as many rows of results as of signals");
    checked_add(checked_multiply(results.shape.x, spec.options.down), spec.options.origin);
    if (overlap(signals, results))
        throw InvalidArgument("the results overlap the signals: give them memory of their own");
    impl_->prepared->resample({signals, 0}, 0, results, impl_->threads, context);
}

Volume resample(const ConstImageView& signals, index_t up, index_t down, int threads) {
    ResampleOptions options;
    check_factors(up, down);
    const index_t common = std::gcd(up, down);
    options.up = up / common;
    options.down = down / common;
    options.threads = threads;
    const bool is_double = signals.type == PixelType::float64 ||
                           signals.type == PixelType::complex128 ||
                           signals.type == PixelType::int32 || signals.type == PixelType::uint32;
    options.precision = is_double ? Precision::float64 : Precision::float32;
    std::vector<double> taps{1};
    if (options.up != options.down) taps = resample_taps(options.up, options.down);
    options.origin = static_cast<index_t>(taps.size() / 2);
    const Resampler resampler(
        view_of(std::as_const(taps).data(), {1, 1, static_cast<index_t>(taps.size())}), options,
        signals.type);
    Volume results({signals.shape.z, signals.shape.y, resampler.same_results(signals.shape.x)},
                   resampler.result_type());
    resampler.execute(signals, results.view());
    return results;
}

}  // namespace convolume
