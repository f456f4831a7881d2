// SPDX-License-Identifier: Apache-2.0
#pragma once
// Compiles the passes with a stage of one chunk of lengths.

#include <utility>

#include "convolume/cuda/detail/device_block.cuh"
#include "gpu/fft/stage_table.hpp"

namespace convolume::gpu {

template <int N, StageWork Work>
__global__ void __launch_bounds__(StageShape<N, Work>::threads,
                                  StageShape<N, Work>::blocks_per_unit)
    stage_kernel(const __grid_constant__ StageJob job) {
    CONVOLUME_PASS((stage_pass<N, Work>(DeviceBlock{}, job)));
}

template <int N, StageWork Work>
StagePass::Shared shared_of() {
    using Shape = StageShape<N, Work>;
    return {Shape::least_shared_bytes, Shape::array_bytes, Shape::arrays};
}

template <int N>
StagePass stage_pass_of() {
    using Shape = StageShape<N, StageWork::load>::Rows;
    return {N,
            {stage_kernel<N, StageWork::load>, stage_kernel<N, StageWork::compare>,
             stage_kernel<N, StageWork::step>, stage_kernel<N, StageWork::advance>},
            Shape::value,
            Shape::threads,
            Shape::rows,
            {shared_of<N, StageWork::load>(), shared_of<N, StageWork::compare>(),
             shared_of<N, StageWork::step>(), shared_of<N, StageWork::advance>()}};
}

template <int Chunk, int Chunks, std::size_t... I>
std::vector<StagePass> stage_passes_of_chunk(std::index_sequence<I...>) {
    return {stage_pass_of<staged_lengths[I * Chunks + Chunk]>()...};
}

template <int Chunk, int Chunks>
std::vector<StagePass> compiled_stage_passes() {
    constexpr std::size_t count = (staged_lengths.size() + Chunks - 1 - Chunk) / Chunks;
    return stage_passes_of_chunk<Chunk, Chunks>(std::make_index_sequence<count>{});
}

}  // namespace convolume::gpu
