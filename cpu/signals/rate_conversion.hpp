// SPDX-License-Identifier: Apache-2.0
#pragma once
// Conversion between any sampling rates on the CPU.

#include <memory>

#include "core/rate_spec.hpp"

namespace convolume::cpu {

std::unique_ptr<const PreparedRateConversion> make_rate_conversion(const RateFilter& filter);

}  // namespace convolume::cpu
