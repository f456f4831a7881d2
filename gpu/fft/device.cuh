// SPDX-License-Identifier: Apache-2.0
#pragma once
// The kernels of the passes.

#include "convolume/cuda/detail/device_block.cuh"
#include "gpu/fft/column_kernel.hpp"
#include "gpu/fft/row_kernel.hpp"

namespace convolume::gpu {

template <class Real, int N, bool OfTaps>
__global__ void __launch_bounds__(ColumnShape<Real, N>::threads,
                                  ColumnShape<Real, N>::blocks_per_unit)
    column_kernel(const __grid_constant__ ColumnJob<Real> job) {
    CONVOLUME_PASS((column_pass<Real, N, OfTaps>(DeviceBlock{}, job)));
}

template <class Real, int N>
__global__ void __launch_bounds__(RowShape<Real, N>::threads, RowShape<Real, N>::blocks_per_unit)
    row_kernel(const __grid_constant__ RowJob<Real> job) {
    CONVOLUME_PASS((row_pass<Real, N>(DeviceBlock{}, job)));
}

}  // namespace convolume::gpu
