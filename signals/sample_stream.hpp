// SPDX-License-Identifier: Apache-2.0
#pragma once
// Signals on their way through a resampling, in blocks of any sizes.

#include <memory>

#include "signals/kept_samples.hpp"

namespace convolume {

/// A resampling with its engine.
struct PlannedResampling {
    ResampleSpec spec;
    int threads = 1;
    std::unique_ptr<const PreparedResampling> prepared{};

    /// Returns the number of results that read no sample beyond the first `samples` ones.
    index_t complete_results(index_t samples) const;
};

/// Takes samples, and gives each result once. The extension needs one end of a signal only.
class SampleStream {
  public:
    /// Throws InvalidArgument for fewer signals than 1.
    SampleStream(const PlannedResampling& resampling, index_t signals)
        : resampling_(resampling), kept_(signals) {}

    const KeptSamples& kept() const { return kept_; }
    /// Appends samples, which kept() has checked.
    void append(const ConstImageView& samples);
    /// Returns the next results, up to number `until`.
    Volume take(index_t until, const ExecutionContext& context);
    /// Returns the results that read no sample beyond those that have come.
    Volume take_complete(const ExecutionContext& context) {
        return take(resampling_.complete_results(kept_.end()), context);
    }
    /// Begins after samples that are zero, at the begin of a signal that zeros extend. Returns the
    /// number of results that read nothing else: they are zero, too.
    index_t begin_after(index_t zeros) {
        kept_.begin_after(zeros);
        return results_ = resampling_.complete_results(zeros);
    }
    /// Returns the last results that read samples. Those after them read zeros only.
    Volume take_last(const ExecutionContext& context);
    /// Begins another signal.
    void clear();

  private:
    const PlannedResampling& resampling_;
    KeptSamples kept_;
    index_t results_ = 0;  ///< number of results so far
};

}  // namespace convolume
