// SPDX-License-Identifier: Apache-2.0
#pragma once
// Convolutions of many small planes of real float32 samples, each in one pass within a thread
// block.

#include <cuda_runtime_api.h>

#include "gpu/fft/pass_types.hpp"

namespace convolume::gpu {

/// Returns the least length of at least `least` samples of which there is a pass for planes, or 0.
index_t plane_pass_length(index_t least);

/// Whether a device has a pass for planes of `length`×`length`: its shared memory decides.
bool has_plane_pass(index_t length, int device);

/// Returns the number of samples of a kernel's spectrum.
index_t plane_kernel_samples(index_t length);

/// Transforms the taps of a kernel, one plane, into `spectrum`. Enqueues work as the functions of
/// passes.hpp do.
void transform_plane_kernel(index_t length, const RowSource& taps, std::complex<float>* spectrum,
                            cudaStream_t stream);

/// Convolves the planes of `source` by transforms of length×length with the kernel whose spectrum
/// is given.
void convolve_planes(index_t length, const RowSource& source, const std::complex<float>* kernel,
                     const RowTarget& target, double scale, cudaStream_t stream);

}  // namespace convolume::gpu
