// SPDX-License-Identifier: Apache-2.0
#include "signals/sample_stream.hpp"

#include <algorithm>

namespace convolume {

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
