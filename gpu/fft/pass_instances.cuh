// SPDX-License-Identifier: Apache-2.0
#pragma once
// The CUDA kernels of the passes, and their table for one group of lengths.

#include <utility>

#include "convolume/cuda/detail/device_block.cuh"
#include "gpu/fft/column_kernel.hpp"
#include "gpu/fft/pass_table.hpp"
#include "gpu/fft/row_kernel.hpp"
#include "gpu/fft/taps_kernel.hpp"
#include "gpu/fft/varying_kernel.hpp"

namespace convolume::gpu {

template <class Shape>
__global__ void __launch_bounds__(Shape::threads, Shape::blocks_per_unit)
    column_cuda_kernel(const __grid_constant__ ColumnJob<typename Shape::Real> job) {
    CONVOLUME_PASS((column_pass<Shape>(DeviceBlock{}, job)));
}

template <class Shape>
__global__ void __launch_bounds__(Shape::threads, Shape::blocks_per_unit)
    taps_cuda_kernel(const __grid_constant__ ColumnJob<typename Shape::Real> job) {
    CONVOLUME_PASS((taps_pass<Shape>(DeviceBlock{}, job)));
}

template <class Shape>
__global__ void __launch_bounds__(Shape::threads)
    varying_column_cuda_kernel(const __grid_constant__ VaryingColumnJob<typename Shape::Real> job) {
    CONVOLUME_PASS((varying_column_pass<Shape>(DeviceBlock{}, job)));
}

template <class Real, int N>
__global__ void __launch_bounds__(RowShape<Real, N>::threads, RowShape<Real, N>::blocks_per_unit)
    row_cuda_kernel(const __grid_constant__ RowJob<Real> job) {
    CONVOLUME_PASS((row_pass<Real, N>(DeviceBlock{}, job)));
}

template <class Shape>
ColumnPass<typename Shape::Real> column_pass_of(
    void (*cuda_kernel)(ColumnJob<typename Shape::Real>)) {
    return {cuda_kernel,
            Shape::plan,
            Shape::threads,
            Shape::columns,
            Shape::fixed_bytes,
            Shape::prefetch_bytes,
            Shape::spectrum_in_shared_memory};
}

template <class Real, int N>
Passes<Real> passes_of() {
    using Plain = PlainColumnShape<Real, N>;
    using Row = RowShape<Real, N>;
    Passes<Real> passes;
    passes.n = N;
    passes.columns = column_pass_of<Plain>(column_cuda_kernel<Plain>);
    passes.rows = {row_cuda_kernel<Real, N>, Row::plan, Row::threads, Row::rows, Row::shared_bytes};
    if constexpr (transforms_kernels<Real>) {
        using Taps = TapsColumnShape<N>;
        passes.taps = column_pass_of<Taps>(taps_cuda_kernel<Taps>);
        if constexpr (Taps::spectrum_in_shared_memory)
            passes.taps_in_registers = column_pass_of<Plain>(taps_cuda_kernel<Plain>);
        passes.varying_columns = varying_column_cuda_kernel<Plain>;
    }
    return passes;
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
