// SPDX-License-Identifier: Apache-2.0
#pragma once
// Checks of signals that are resampled, and the samples of a stream that later results may read.

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

}  // namespace convolume
