// SPDX-License-Identifier: Apache-2.0
#pragma once
// The compiled passes of every length.

#include <vector>

#include "gpu/fft/column_kernel.hpp"
#include "gpu/fft/lengths.hpp"
#include "gpu/fft/row_kernel.hpp"
#include "gpu/fft/varying_kernel.hpp"

namespace convolume::gpu {

template <class Real>
struct ColumnPass {
    void (*cuda_kernel)(ColumnJob<Real>) = nullptr;
    TransformPlan plan;
    int threads = 0;  ///< threads of a thread block
    int columns = 0;  ///< columns of a thread block
    index_t fixed_bytes = 0, prefetch_bytes = 0;
    bool spectrum_in_shared_memory = false;  ///< needs the memory for prefetches in any case
};

template <class Real>
struct RowPass {
    void (*cuda_kernel)(RowJob<Real>) = nullptr;
    TransformPlan plan;
    int threads = 0;  ///< threads of a thread block
    int rows = 0;     ///< rows of a thread block
    index_t shared_bytes = 0;
};

template <class Real>
struct Passes {
    int n = 0;
    ColumnPass<Real> columns;
    ColumnPass<Real> taps;  ///< columns and taps
    /// The same for devices whose shared memory is too small for `taps`; more slowly.
    ColumnPass<Real> taps_in_registers;
    /// Its thread blocks are those of `columns`.
    void (*varying_columns)(VaryingColumnJob<Real>) = nullptr;
    RowPass<Real> rows;
};

/// Returns the passes of one group of lengths<Real>: length i is in group i mod Groups. Each group
/// is compiled in a file of its own, made from passes.cu.in.
template <class Real, int Group, int Groups>
std::vector<Passes<Real>> compiled_passes();

}  // namespace convolume::gpu
