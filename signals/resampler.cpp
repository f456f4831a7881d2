// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <numbers>

#include "convolume/device_signals.hpp"
#include "convolume/resample.hpp"
#include "core/gpu_backend.hpp"
#include "core/pixels/rows.hpp"
#include "core/resample_spec.hpp"
#include "core/threads.hpp"
#include "cpu/signals/resampling.hpp"
#include "signals/option_names.hpp"
#include "signals/sample_stream.hpp"
#include "signals/samples.hpp"

namespace convolume {

CONVOLUME_NAMES(SignalExtension, parse_signal_extension, parse_named, "extension of signals")

namespace {

/// Throws InvalidArgument unless both factors are from 1 to 2^31 - 1.
void check_factors(index_t up, index_t down) {
    constexpr index_t most = std::numeric_limits<std::int32_t>::max();
    for (const auto& [name, factor] : {std::pair{"up", up}, std::pair{"down", down}})
        if (factor < 1 || factor > most)
            throw InvalidArgument(message("the factor ", name, " is ", factor,
                                          ": factors of resampling are from 1 to ", most));
}

/// Returns the number of results until the newest sample that they read is `samples` - 1, plus
/// those that read later ones with taps of earlier samples.
index_t full_results_of(const ResampleSpec& spec, index_t samples) {
    check_has_samples(samples);
    const ResampleOptions& options = spec.options;
    const index_t reached = checked_add(checked_multiply(samples - 1, options.up), spec.taps - 1);
    return reached < options.origin ? 0 : (reached - options.origin) / options.down + 1;
}
index_t same_results_of(const ResampleSpec& spec, index_t samples) {
    check_has_samples(samples);
    return ceil_div(checked_multiply(samples, spec.options.up), spec.options.down);
}

// The modified Bessel function I₀(x) by its power series, Σ ((x/2)^k / k!)².
double bessel_i0(double x) {
    double term = 1, sum = 1;
    for (int k = 1; term > sum * 1e-17; ++k) {
        term *= (x / (2 * k)) * (x / (2 * k));
        sum += term;
    }
    return sum;
}

}  // namespace

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

struct Resampler::Impl : PlannedResampling {};

Resampler::Resampler(const ConstImageView& taps, const ResampleOptions& options,
                     PixelType signal_type)
    : impl_(std::make_unique<Impl>()) {
    impl_->spec = checked_resample_spec(taps, options, signal_type);
    impl_->threads = thread_count(options.threads);
    impl_->prepared = cpu::make_resampling(impl_->spec, taps);
}

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
    check_resampled(signals, spec.complex_data);
    refuse_null(results.data == nullptr && results.shape.x > 0, "results");
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
    options.precision = needs_float64(signals.type) ? Precision::float64 : Precision::float32;
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

struct ResampleStream::Impl {
    const PlannedResampling& resampling;
    SampleStream stream;
};

ResampleStream::ResampleStream(const Resampler& resampler, index_t signals)
    : impl_(std::unique_ptr<Impl>(
          new Impl{*resampler.impl_, SampleStream(*resampler.impl_, signals)})) {
    const SignalExtension extension = resampler.options().extension;
    if (extension == SignalExtension::wrap || extension == SignalExtension::line)
        throw InvalidArgument(message("the extension ", to_string(extension),
                                      " needs both ends of a signal, which comes in blocks here: "
                                      "choose another, or resample the whole signal"));
}

Volume ResampleStream::push(const ConstImageView& samples, const ExecutionContext& context) {
    SampleStream& stream = impl_->stream;
    stream.kept().check(samples, impl_->resampling.spec.complex_data);
    if (samples.shape.x > 0) stream.append(samples);
    return stream.take_complete(context);
}

Volume ResampleStream::finish(const ExecutionContext& context) {
    SampleStream& stream = impl_->stream;
    Volume last =
        stream.take(same_results_of(impl_->resampling.spec, stream.kept().end()), context);
    stream.clear();
    return last;
}

struct DeviceResampler::Impl {
    ResampleSpec spec;
    std::unique_ptr<DeviceResampling> prepared;
};

DeviceResampler::DeviceResampler(const ConstImageView& taps, const ResampleOptions& options,
                                 const DeviceFilterOptions& device)
    : impl_(std::make_unique<Impl>()) {
    if (const std::string why = gpu_unavailable(); !why.empty()) throw GpuUnavailable(why);
    impl_->spec = checked_resample_spec(taps, options, device.signal_type);
    impl_->prepared =
        require_gpu_backend().make_device_resampling(device.device, impl_->spec, taps);
}

index_t DeviceResampler::full_results(index_t samples) const {
    return full_results_of(impl_->spec, samples);
}
index_t DeviceResampler::same_results(index_t samples) const {
    return same_results_of(impl_->spec, samples);
}
PixelType DeviceResampler::sample_type() const {
    return impl_->spec.result_type();
}
index_t DeviceResampler::device_bytes() const {
    return impl_->prepared->bytes();
}

void DeviceResampler::execute(const SignalShape& shape, const void* samples, index_t count,
                              void* results, DeviceStream stream) const {
    refuse_null(samples == nullptr, "signals");
    refuse_null(results == nullptr && count > 0, "results");
    check_has_samples(shape.samples);
    const ResampleOptions& options = impl_->spec.options;
    checked_add(checked_multiply(count, options.down), options.origin);
    impl_->prepared->run(samples, shape, results, count, stream.get());
}

std::vector<double> resample_taps(index_t up, index_t down, index_t zero_crossings, double kaiser) {
    check_factors(up, down);
    if (zero_crossings < 1)
        throw InvalidArgument(message("a filter of ", zero_crossings,
                                      " zero crossings has no taps: it needs one at least"));
    if (!(kaiser >= 0 && kaiser <= 700))
        throw InvalidArgument(
            message("a Kaiser window's parameter is from 0 to 700, and not ", kaiser));
    const index_t rate = std::max(up, down);
    const index_t half = checked_multiply(zero_crossings, rate);
    std::vector<double> taps(static_cast<std::size_t>(checked_add(2 * half, 1)));
    double sum = 0;
    for (index_t i = 0; i < static_cast<index_t>(taps.size()); ++i) {
        const double x = static_cast<double>(i - half) / static_cast<double>(rate);
        const double place = static_cast<double>(i - half) / static_cast<double>(half);
        const double angle = std::numbers::pi * x;
        const double sinc = i == half ? 1 : std::sin(angle) / angle;
        taps[static_cast<std::size_t>(i)] =
            sinc * bessel_i0(kaiser * std::sqrt(std::max(0.0, 1 - place * place)));
        sum += taps[static_cast<std::size_t>(i)];
    }
    for (double& tap : taps) tap *= static_cast<double>(up) / sum;
    return taps;
}

}  // namespace convolume
