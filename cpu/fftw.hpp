// SPDX-License-Identifier: Apache-2.0
#pragma once
// FFTW in both precisions, with its planner locked: in FFTW only executing is thread-safe. Builds
// without FFTW have without_fftw.cpp in place of fftw.cpp.

#include <memory>
#include <string>

#include "cpu/fft/fft_plan.hpp"

namespace convolume::cpu {

bool has_fftw();

/// Returns the name and version of FFTW, such as "fftw-3.3.10-sse2-avx". It is empty in builds
/// without FFTW.
std::string fftw_version();

/// Throws Unavailable in builds without FFTW.
void require_fftw();

/// Plans transforms on the given arrays and overwrites them. Throws Unavailable in builds without
/// FFTW, and InternalError if FFTW knows no plan.
template <class Real>
std::unique_ptr<const PlannedTransforms> plan_by_fftw(const TransformBatch& transforms,
                                                      TransformKind kind, void* in, void* out,
                                                      PlanningEffort effort);

}  // namespace convolume::cpu
