// SPDX-License-Identifier: Apache-2.0
#pragma once
// Predicted times of convolutions along columns, by which spectra of kernels are kept or not.

#include <algorithm>
#include <cmath>

#include "convolume/shape.hpp"

namespace convolume::gpu {

/// A pass of convolve_columns (passes.hpp) over all columns of a plane.
struct ColumnConvolution {
    index_t length = 1;                    ///< of the transforms
    index_t loaded = 1, stored = 1;        ///< samples of each column
    index_t columns = 1;                   ///< columns of a plane
    index_t taps = 1;                      ///< taps of the kernel in each column
    bool has_spectrum = false;             ///< the kernel is given as its spectrum
    index_t sample_bytes = 8;              ///< bytes of a complex sample
    bool makes_spectra_in_memory = false;  ///< another pass makes the spectra that this one reads
};

/// Returns the seconds of the pass on a device with these rates of memory (bytes per second) and of
/// multiply-adds. Either the memory takes longest or, if taps are transformed, the transforms.
inline double convolution_seconds(const ColumnConvolution& pass, double memory,
                                  double multiply_adds) {
    const auto length = static_cast<double>(pass.length);
    const auto columns = static_cast<double>(pass.columns);
    const auto planes = [&](index_t count) {
        return static_cast<double>(std::min(pass.length, count));
    };
    double moved = planes(pass.loaded) + planes(pass.stored);
    if (pass.has_spectrum || pass.makes_spectra_in_memory) moved += length;
    if (!pass.has_spectrum) moved += planes(pass.taps);
    if (pass.makes_spectra_in_memory) moved += length;
    const double memory_s = moved * columns * static_cast<double>(pass.sample_bytes) / memory;
    if (pass.has_spectrum || pass.makes_spectra_in_memory) return memory_s;
    // Fitted to measured times of 30 lengths on an H100. Beyond 1024 samples, transforms have three
    // radix stages.
    const double work = 110 + 17 * std::log2(length) + (pass.length > 1024 ? 60 : 0);
    return std::max(memory_s, work * length * columns / multiply_adds);
}

}  // namespace convolume::gpu
