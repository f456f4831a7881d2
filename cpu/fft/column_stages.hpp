// SPDX-License-Identifier: Apache-2.0
#pragma once
// Runs the radix stages of a transform of columns, with the best instruction set of the processor.
// Float and double are sources of their own, which are compiled side by side.

#include "cpu/fft/column_fft.hpp"

namespace convolume::cpu {

/// A transform with the tables of its length.
template <class Real>
struct ColumnStages {
    index_t length;
    const int* radices;
    const Real* twiddles;
    const ColumnTransform<Real>& transform;
    Real* scratch;
};

void run_stages(const ColumnStages<float>& stages);
void run_stages(const ColumnStages<double>& stages);

/// Lanes of the vectors that rows of `width` columns of a tile consist of.
template <class Real>
index_t lanes_of_columns(index_t width);

}  // namespace convolume::cpu
