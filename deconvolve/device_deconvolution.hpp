// SPDX-License-Identifier: Apache-2.0
#pragma once
// The CUDA part of deconvolution, where the program has one.

#include "deconvolve/runner.hpp"

#if CONVOLUME_HAVE_CUDA
// Weak: null where the linker has left the CUDA part out.
extern "C" [[gnu::weak]] const convolume::deconvolve::DeviceDeconvolution convolume_cuda_deconvolve;
#endif

namespace convolume::deconvolve {

/// Null where there is none.
inline const DeviceDeconvolution* device_deconvolution() {
#if CONVOLUME_HAVE_CUDA
    return &convolume_cuda_deconvolve;
#else
    return nullptr;
#endif
}

}  // namespace convolume::deconvolve
