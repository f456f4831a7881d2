// SPDX-License-Identifier: Apache-2.0
#pragma once
// Replaces the CUDA kernels of the file of this name by loops on the host, queued in a CUDA stream.

#include "convolume/volume.hpp"
#include "deconvolve/functors.hpp"
#include "gpu/runtime/check.hpp"
#include "gpu/runtime/device_memory.hpp"
#include "gpu/runtime/stream.hpp"

namespace convolume::deconvolve {

constexpr unsigned most_blocks = 1;

template <class Visit>
void visit_all(index_t count, const Visit& visit) {
    for (index_t i = 0; i < count; ++i) visit(i);
}
template <class Visit>
void visit_all(const VoxelRows& grid, const Visit& visit) {
    for (index_t row = grid.own.begin; row < grid.own.end; ++row)
        for (index_t x = 0; x < grid.extent[2]; ++x)
            visit(row * grid.extent[2] + x, grid.around(row, x));
}

template <class Extent, class Functor>
void start_loop(const Extent& extent, const Functor& functor, cudaStream_t stream) {
    enqueue(stream, [=] {
        visit_all(extent, [&](index_t i, const auto&... near) { functor(i, near...); });
    });
}
template <class Sum, class Extent, class Functor>
unsigned start_sums(const Extent& extent, const Functor& functor, Sum* sums, cudaStream_t stream) {
    enqueue(stream, [=] {
        Sum sum{};
        visit_all(extent, [&](index_t i, const auto&... near) { sum += functor(i, near...); });
        *sums = sum;
    });
    return 1;
}
inline void add_up(const SumPair* sums, index_t count, SumPair* target, cudaStream_t stream) {
    enqueue(stream, [=] {
        SumPair sum;
        for (index_t i = 0; i < count; ++i) sum += sums[i];
        *target = sum;
    });
}

}  // namespace convolume::deconvolve
