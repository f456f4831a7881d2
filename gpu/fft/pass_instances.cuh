// SPDX-License-Identifier: Apache-2.0
#pragma once
// The CUDA kernels of the passes, and their table for one group of lengths.

#include <utility>

#include "convolume/cuda/detail/device_block.cuh"
#include "gpu/fft/column_kernel.hpp"
#include "gpu/fft/pass_table.hpp"
#include "gpu/fft/row_kernel.hpp"
#include "gpu/fft/varying_kernel.hpp"

namespace convolume::gpu {

template <class Real, int N, bool OfTaps>
__global__ void __launch_bounds__(ColumnShape<Real, N>::threads,
                                  ColumnShape<Real, N>::blocks_per_unit)
    column_cuda_kernel(const __grid_constant__ ColumnJob<Real> job) {
    CONVOLUME_PASS((column_pass<Real, N, OfTaps>(DeviceBlock{}, job)));
}

template <class Real, int N>
__global__ void __launch_bounds__(ColumnShape<Real, N>::threads)
    varying_column_cuda_kernel(const __grid_constant__ VaryingColumnJob<Real> job) {
    CONVOLUME_PASS((varying_column_pass<Real, N>(DeviceBlock{}, job)));
}

template <class Real, int N>
__global__ void __launch_bounds__(RowShape<Real, N>::threads, RowShape<Real, N>::blocks_per_unit)
    row_cuda_kernel(const __grid_constant__ RowJob<Real> job) {
    CONVOLUME_PASS((row_pass<Real, N>(DeviceBlock{}, job)));
}

template <class Real, int N>
Passes<Real> passes_of() {
    using Column = ColumnShape<Real, N>;
    using Row = RowShape<Real, N>;
    void (*taps_cuda_kernel)(ColumnJob<Real>) = nullptr;
    void (*varying_cuda_kernel)(VaryingColumnJob<Real>) = nullptr;
    if constexpr (transforms_kernels<Real>) {
        taps_cuda_kernel = column_cuda_kernel<Real, N, true>;
        varying_cuda_kernel = varying_column_cuda_kernel<Real, N>;
    }
    return {
        N,
        {column_cuda_kernel<Real, N, false>, taps_cuda_kernel, varying_cuda_kernel, Column::plan,
         Column::threads, Column::columns, Column::fixed_bytes, Column::prefetch_bytes},
        {row_cuda_kernel<Real, N>, Row::plan, Row::threads, Row::rows, Row::shared_bytes}};
}

template <class Real, int Group, int Groups, std::size_t... I>
std::vector<Passes<Real>> passes_of_group(std::index_sequence<I...>) {
    return {passes_of<Real, lengths<Real>[I * Groups + Group]>()...};
}

template <class Real, int Group, int Groups>
std::vector<Passes<Real>> compiled_passes() {
    constexpr std::size_t count = (lengths<Real>.size() + Groups - 1 - Group) / Groups;
    return passes_of_group<Real, Group, Groups>(std::make_index_sequence<count>{});
}

}  // namespace convolume::gpu
