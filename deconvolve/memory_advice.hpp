// SPDX-License-Identifier: Apache-2.0
#pragma once
// Advice on memory limits that are too small for a deconvolution.

#include <functional>
#include <optional>

#include "convolume/error.hpp"
#include "convolume/shape.hpp"

namespace convolume::deconvolve {

/// Plans with a limit of host memory. Returns the bytes that the plan takes; none if nothing fits.
using PlanWithin = std::function<std::optional<index_t>(index_t limit_bytes)>;

/// Returns the limit of host memory that lets a deconvolution be planned, as text for an option. It
/// is tried by `plan`, and is at most 6 % above a limit that is too small. Returns none if no limit
/// is enough. `limit_bytes` is too small.
///
/// The need depends on the limit: a larger one admits searches and coarser images, which take
/// memory themselves. The bytes of one plan would therefore not tell it.
std::optional<std::string> sufficient_host_limit(index_t limit_bytes, const PlanWithin& plan);

}  // namespace convolume::deconvolve
