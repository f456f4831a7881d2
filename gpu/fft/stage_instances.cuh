// SPDX-License-Identifier: Apache-2.0
#pragma once
// Compiles the passes with a stage of one chunk of lengths.

#include <algorithm>
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
void set_shared_bytes(StagePass& pass) {
    using Shape = StageShape<N, Work>;
    for (int count = 0; count <= most_stage_arrays; ++count)
        pass.shared_bytes[static_cast<int>(Work)][count] =
            Shape::least_shared_bytes + Shape::bytes_of_arrays(std::min(count, Shape::arrays));
}

template <int N>
StagePass stage_pass_of() {
    using Shape = StageShape<N, StageWork::load>;
    StagePass pass{N,
                   {stage_kernel<N, StageWork::load>, stage_kernel<N, StageWork::compare>,
                    stage_kernel<N, StageWork::step>, stage_kernel<N, StageWork::advance>},
                   Shape::value,
                   Shape::threads,
                   Shape::rows,
                   {}};
    set_shared_bytes<N, StageWork::load>(pass);
    set_shared_bytes<N, StageWork::compare>(pass);
    set_shared_bytes<N, StageWork::step>(pass);
    set_shared_bytes<N, StageWork::advance>(pass);
    return pass;
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
