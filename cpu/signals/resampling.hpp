// SPDX-License-Identifier: Apache-2.0
#pragma once
// Resampling on the CPU, by rational factors and between any rates.

#include <memory>

#include "core/rate_spec.hpp"
#include "core/resample_spec.hpp"

namespace convolume::cpu {

/// Prepares the taps, which have the shape (1, 1, spec.taps).
std::unique_ptr<const PreparedResampling> make_resampling(const ResampleSpec& spec,
                                                          const ConstImageView& taps);
std::unique_ptr<const PreparedRateConversion> make_rate_conversion(const RateFilter& filter);

}  // namespace convolume::cpu
