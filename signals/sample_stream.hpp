// SPDX-License-Identifier: Apache-2.0
#pragma once
// Signals on their way through a resampling, in blocks of any sizes.

#include <memory>

#include "core/resample_spec.hpp"

namespace convolume {

/// Throws BadData for signals without samples.
void check_has_samples(index_t samples);
/// Throws InvalidArgument or BadData if signals cannot be resampled: none, without samples, or
/// complex ones by a real plan.
void check_resampled(const ConstImageView& signals, bool is_for_complex);

/// Samples of signals that come in blocks of one type.
class KeptSamples {
  public:
    /// Throws InvalidArgument for fewer signals than 1.
    explicit KeptSamples(index_t signals);

    /// Throws InvalidArgument unless a block of shape (1, signals, samples) may follow.
    void check(const ConstImageView& samples, bool is_for_complex) const;
    /// Appends a block that was checked. Samples before number `needed` are dropped.
    void append(const ConstImageView& samples, index_t needed);
    /// Begins after samples that are zero, at the begin of a signal. They are not kept.
    void begin_after(index_t zeros) { first_ = zeros; }
    /// Begins another signal.
    void clear();

    index_t signals() const { return signals_; }
    /// Returns the number of samples that have come.
    index_t end() const { return first_ + kept_.shape().x; }
    ResampledSignals samples() const { return {kept_.view(), first_}; }

  private:
    index_t signals_;
    PixelType type_ = PixelType::float32;  ///< type of the samples, of the first block
    Volume kept_;
    index_t first_ = 0;  ///< number of the first kept sample
};

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
