// SPDX-License-Identifier: Apache-2.0
#pragma once
// Predicted times of convolutions along columns, by which spectra of kernels are kept or not.

#include "convolume/shape.hpp"

namespace convolume::gpu {

/// A pass of convolve_columns (passes.hpp) over all columns of a plane.
struct ColumnConvolution {
    index_t length = 1;              ///< of the transforms
    index_t loaded = 1, stored = 1;  ///< samples of each column
    index_t columns = 1;             ///< columns of a plane
    index_t taps = 1;                ///< taps of the kernel in each column
    index_t sample_bytes = 8;        ///< bytes of a complex sample
    /// The pass reads a spectrum that is kept, or transforms the kernel's taps itself, or reads a
    /// spectrum that another pass writes to memory just before.
    enum class Spectrum { kept, in_pass, in_memory } spectrum = Spectrum::kept;
};

/// Returns the seconds of the pass on a device with these rates of memory (bytes per second) and of
/// multiply-adds. Either the memory takes longest or, if the pass transforms taps, the transforms.
double convolution_seconds(const ColumnConvolution& pass, double memory, double multiply_adds);

}  // namespace convolume::gpu
