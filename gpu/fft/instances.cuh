// SPDX-License-Identifier: Apache-2.0
#pragma once
// Compiles the passes of one chunk of lengths.

#include <utility>

#include "gpu/fft/device.cuh"
#include "gpu/fft/pass_table.hpp"

namespace convolume::gpu {

template <class Real, int N>
Passes<Real> passes_of() {
    using Column = ColumnShape<Real, N>;
    using Row = RowShape<Real, N>;
    void (*of_taps)(ColumnJob<Real>) = nullptr;
    if constexpr (transforms_kernels<Real>) of_taps = column_kernel<Real, N, true>;
    return {N,
            {column_kernel<Real, N, false>, of_taps, Column::value, Column::threads,
             Column::columns, Column::fixed_bytes, Column::staging_bytes},
            {row_kernel<Real, N>, Row::value, Row::threads, Row::rows, Row::shared_bytes}};
}

template <class Real, int Chunk, int Chunks, std::size_t... I>
std::vector<Passes<Real>> passes_of_chunk(std::index_sequence<I...>) {
    return {passes_of<Real, lengths<Real>[I * Chunks + Chunk]>()...};
}

template <class Real, int Chunk, int Chunks>
std::vector<Passes<Real>> compiled_passes() {
    constexpr std::size_t count = (lengths<Real>.size() + Chunks - 1 - Chunk) / Chunks;
    return passes_of_chunk<Real, Chunk, Chunks>(std::make_index_sequence<count>{});
}

}  // namespace convolume::gpu
