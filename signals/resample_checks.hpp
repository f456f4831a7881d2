// SPDX-License-Identifier: Apache-2.0
#pragma once
// Checks that resampling on the CPU and on GPUs have in common.

#include "core/resample_spec.hpp"

namespace convolume {

/// Throws InvalidArgument unless both factors are from 1 to 2^31 - 1.
void check_factors(index_t up, index_t down);

/// Throws InvalidArgument if signals cannot be resampled: none, complex ones by a real plan.
void check_signals(const ResampleSpec& spec, const ConstImageView& signals);

/// Returns the number of results until the newest sample that they read is `samples` - 1, plus
/// those that read later ones with taps of earlier samples.
index_t full_results_of(const ResampleSpec& spec, index_t samples);
index_t same_results_of(const ResampleSpec& spec, index_t samples);

}  // namespace convolume
