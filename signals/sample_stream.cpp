// SPDX-License-Identifier: Apache-2.0
#include "signals/sample_stream.hpp"

#include <algorithm>
#include <cstring>

#include "convolume/error.hpp"
#include "signals/samples.hpp"

namespace convolume {

void check_has_samples(index_t samples) {
    if (samples < 1)
        throw BadData("a signal without samples cannot be resampled: give one at least");
}

void check_resampled(const ConstImageView& signals, bool is_for_complex) {
    refuse_null(signals.data == nullptr, "signals");
    check_has_samples(signals.shape.x);
    if (is_complex(signals.type) && !is_for_complex)
        throw InvalidArgument(
            "the signals are complex and the resampler is for real ones: make it for a complex "
            "signal_type");
}

KeptSamples::KeptSamples(index_t signals) : signals_(signals) {
    if (signals < 1)
        throw InvalidArgument(message(signals, " signals cannot be resampled: one at least"));
}

void KeptSamples::check(const ConstImageView& samples, bool is_for_complex) const {
    if (samples.shape.z != 1 || samples.shape.y != signals_)
        throw InvalidArgument(message("a block has samples of ", samples.shape.z * samples.shape.y,
                                      " signals where ", signals_, " are resampled"));
    if (samples.shape.x == 0) return;
    check_resampled(samples, is_for_complex);
    if (end() > 0 && samples.type != type_)
        throw InvalidArgument(message("a block of ", to_string(samples.type), " follows one of ",
                                      to_string(type_), ": all blocks of a signal have one type"));
}

void KeptSamples::append(const ConstImageView& samples, index_t needed) {
    type_ = samples.type;
    const index_t begin = std::clamp(needed, first_, end());
    const index_t old = end() - begin;
    Volume next({1, signals_, checked_add(old, samples.shape.x)}, samples.type);
    for (index_t y = 0; y < signals_ && old > 0; ++y)
        std::memcpy(next.view().at(0, y, 0), kept_.view().at(0, y, begin - first_),
                    static_cast<std::size_t>(bytes_of({1, 1, old}, samples.type)));
    const ImageView tail = subview(next.view(), {{0, 0, old}, next.shape()});
    convert_pixels(samples, tail);
    first_ = begin;
    kept_ = std::move(next);
}

void KeptSamples::clear() {
    kept_ = {};
    first_ = 0;
}

index_t PlannedResampling::complete_results(index_t samples) const {
    const ResampleOptions& options = spec.options;
    // The first results may read an extension that depends on the first samples.
    const bool is_early = options.extension != SignalExtension::constant &&
                          options.extension != SignalExtension::edge &&
                          samples < std::max<index_t>(2, spec.taps_per_phase() + 1);
    const index_t reached = checked_multiply(samples, options.up) - options.origin;
    return is_early || reached <= 0 ? 0 : ceil_div(reached, options.down);
}

void SampleStream::append(const ConstImageView& samples) {
    // Extensions reflect as many samples at an end as a result reads.
    const ResampleSpec& spec = resampling_.spec;
    kept_.append(samples, spec.newest_sample(results_) - 2 * (spec.taps_per_phase() + 1));
}

Volume SampleStream::take(index_t until, const ExecutionContext& context) {
    const index_t count = std::max<index_t>(0, until - results_);
    Volume made({1, kept_.signals(), count}, resampling_.spec.result_type());
    if (count > 0)
        resampling_.prepared->resample(kept_.samples(), results_, made.view(), resampling_.threads,
                                       context);
    results_ += count;
    return made;
}

Volume SampleStream::take_last(const ExecutionContext& context) {
    const ResampleSpec& spec = resampling_.spec;
    const index_t reached =
        (kept_.end() + spec.taps_per_phase() - 1) * spec.options.up - spec.options.origin;
    return take(ceil_div(std::max<index_t>(0, reached), spec.options.down), context);
}

void SampleStream::clear() {
    kept_.clear();
    results_ = 0;
}

}  // namespace convolume
