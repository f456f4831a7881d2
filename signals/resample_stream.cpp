// SPDX-License-Identifier: Apache-2.0
#include <cstring>

#include "signals/option_names.hpp"
#include "signals/resampler_impl.hpp"

namespace convolume {

struct ResampleStream::Impl {
    const Resampler::Impl& resampler;
    index_t signals;
    PixelType type = PixelType::float32;  ///< type of the samples, of the first block
    Volume kept{};                        ///< samples that later results may read
    index_t first = 0;                    ///< number of the first kept sample
    index_t results = 0;                  ///< number of results so far

    index_t end() const { return first + kept.shape().x; }

    /// Appends samples to those that are still needed.
    void append(const ConstImageView& samples) {
        const ResampleSpec& spec = resampler.spec;
        // Extensions reflect as many samples at an end as a result reads.
        const index_t needed = spec.newest_sample(results) - 2 * (spec.taps_per_phase() + 1);
        const index_t begin = std::clamp(needed, first, end());
        const index_t old = end() - begin;
        Volume next({1, signals, checked_add(old, samples.shape.x)}, samples.type);
        for (index_t y = 0; y < signals; ++y) {
            if (old > 0)
                std::memcpy(next.view().at(0, y, 0), kept.view().at(0, y, begin - first),
                            static_cast<std::size_t>(bytes_of({1, 1, old}, samples.type)));
        }
        const ImageView tail = subview(next.view(), {{0, 0, old}, next.shape()});
        convert_pixels(samples, tail);
        first = begin;
        kept = std::move(next);
    }

    /// Returns results until `until`.
    Volume take(index_t until, const ExecutionContext& context) {
        const index_t count = std::max<index_t>(0, until - results);
        Volume made({1, signals, count}, resampler.spec.result_type());
        if (count > 0)
            resampler.prepared->resample({kept.view(), first}, results, made.view(),
                                         resampler.threads, context);
        results += count;
        return made;
    }

    /// Returns the number of results that read no sample beyond those that have come.
    index_t complete() const {
        const ResampleSpec& spec = resampler.spec;
        const ResampleOptions& options = spec.options;
        // The first results may read an extension that depends on the first samples.
        const bool is_early = options.extension != SignalExtension::constant &&
                              options.extension != SignalExtension::edge &&
                              end() < std::max<index_t>(2, spec.taps_per_phase() + 1);
        const index_t reached = checked_multiply(end(), options.up) - options.origin;
        return is_early || reached <= 0 ? 0 : ceil_div(reached, options.down);
    }
};

ResampleStream::ResampleStream(const Resampler& resampler, index_t signals)
    : impl_(new Impl{*resampler.impl_, signals}) {
    const SignalExtension extension = resampler.options().extension;
    if (extension == SignalExtension::wrap || extension == SignalExtension::line)
        throw InvalidArgument(message("the extension ", to_string(extension),
                                      " needs both ends of a signal, which comes in blocks here: "
                                      "choose another, or resample the whole signal"));
    if (signals < 1)
        throw InvalidArgument(message(signals, " signals cannot be resampled: one at least"));
}

ResampleStream::~ResampleStream() = default;
ResampleStream::ResampleStream(ResampleStream&&) noexcept = default;
ResampleStream& ResampleStream::operator=(ResampleStream&&) noexcept = default;

Volume ResampleStream::push(const ConstImageView& samples, const ExecutionContext& context) {
    Impl& impl = *impl_;
    if (samples.shape.z != 1 || samples.shape.y != impl.signals)
        throw InvalidArgument(message("a block has samples of ", samples.shape.z * samples.shape.y,
                                      " signals where ", impl.signals, " are resampled"));
    if (samples.shape.x > 0) {
        check_signals(impl.resampler.spec, samples);
        if (impl.end() > 0 && samples.type != impl.type)
            throw InvalidArgument(message("a block of ", to_string(samples.type),
                                          " follows one of ", to_string(impl.type),
                                          ": all blocks of a signal have one type"));
        impl.type = samples.type;
        impl.append(samples);
    }
    return impl.take(impl.complete(), context);
}

Volume ResampleStream::finish(const ExecutionContext& context) {
    Impl& impl = *impl_;
    if (impl.end() == 0)
        throw BadData("a signal without samples cannot be resampled: give one at least");
    Volume last = impl.take(same_results_of(impl.resampler.spec, impl.end()), context);
    impl.kept = {};
    impl.first = impl.results = 0;
    return last;
}

}  // namespace convolume
