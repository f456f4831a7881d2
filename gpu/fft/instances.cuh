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
    return {N,
            {column_kernel<Real, N>, Column::value, Column::threads, Column::columns,
             Column::fixed_bytes, Column::staging_bytes},
            {row_kernel<Real, N>, Row::value, Row::threads, Row::rows, Row::shared_bytes}};
}

template <class Real, int Chunk, std::size_t... I>
std::vector<Passes<Real>> passes_of_chunk(std::index_sequence<I...>) {
    return {passes_of<Real, lengths<Real>[I * chunks<Real> + Chunk]>()...};
}

template <class Real, int Chunk>
std::vector<Passes<Real>> compiled_passes() {
    return passes_of_chunk<Real, Chunk>(std::make_index_sequence<chunk_size<Real>(Chunk)>{});
}

}  // namespace convolume::gpu
