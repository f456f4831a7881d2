// SPDX-License-Identifier: Apache-2.0
#pragma once
// Stages over arrays in the memory of one GPU. Everything is enqueued on one stream; the host waits
// for sums and transfers only.

#include <algorithm>
#include <vector>

#include "convolume/volume.hpp"
#include "deconvolve/neighbors.hpp"
#include "gpu/runtime/check.hpp"
#include "gpu/runtime/device_memory.hpp"
#include "gpu/runtime/stream.hpp"

namespace convolume::deconvolve {

constexpr int stage_threads = 256;
constexpr int warp = 32;
constexpr unsigned most_blocks = 1024;

// What one thread does: elements a grid of threads apart, or a warp's share of rows.
template <class Visit>
__device__ void visit_own(index_t count, const Visit& visit) {
    for (index_t i = blockIdx.x * index_t{stage_threads} + threadIdx.x; i < count;
         i += index_t{gridDim.x} * stage_threads)
        visit(i);
}
template <class Visit>
__device__ void visit_own(const Grid& grid, const Visit& visit) {
    constexpr int warps = stage_threads / warp;
    const index_t rows = grid.rows();
    for (index_t row = blockIdx.x * index_t{warps} + threadIdx.x / warp; row < rows;
         row += index_t{gridDim.x} * warps)
        for (index_t x = threadIdx.x % warp; x < grid.extent[2]; x += warp)
            visit(row * grid.extent[2] + x, grid.around(row, x));
}

template <class Extent, class Stage>
__global__ void stage_kernel(Extent extent, Stage stage) {
    visit_own(extent, [&](index_t i, const auto&... near) { stage(i, near...); });
}

// The sum of each block's elements, always in the same order.
template <class Sum, class Extent, class Stage>
__global__ void sum_kernel(Extent extent, Stage stage, Sum* sums) {
    alignas(16) __shared__ char bytes[stage_threads * sizeof(Sum)];
    Sum* const of_threads = reinterpret_cast<Sum*>(bytes);
    Sum sum{};
    visit_own(extent, [&](index_t i, const auto&... near) { sum += stage(i, near...); });
    of_threads[threadIdx.x] = sum;
    for (unsigned half = stage_threads / 2; half > 0; half /= 2) {
        __syncthreads();
        if (threadIdx.x < half) of_threads[threadIdx.x] += of_threads[threadIdx.x + half];
    }
    if (threadIdx.x == 0) sums[blockIdx.x] = of_threads[0];
}

class DeviceStages {
  public:
    static constexpr HostMemory staging = HostMemory::page_locked;

    /// On `device`, which is current.
    DeviceStages(int device, int threads)
        : threads_(threads),
          sums_(device, most_blocks * most_sum_bytes, "sums of a deconvolution") {}

    int threads() const { return threads_; }

    template <class Extent, class Stage>
    void for_each(const Extent& extent, const Stage& stage) const {
        stage_kernel<<<blocks(extent), stage_threads, 0, stream_>>>(extent, stage);
        gpu::check(cudaGetLastError(), "starting a stage of the deconvolution");
    }

    template <class Extent, class Stage>
    auto sum(const Extent& extent, const Stage& stage) const {
        using Sum = decltype(result_of(stage, extent));
        static_assert(sizeof(Sum) <= most_sum_bytes);
        const unsigned used = blocks(extent);
        sum_kernel<<<used, stage_threads, 0, stream_>>>(extent, stage, sums_.as<Sum>());
        gpu::check(cudaGetLastError(), "starting a sum of the deconvolution");
        std::vector<Sum> of_blocks(used);
        gpu::check(cudaMemcpyAsync(of_blocks.data(), sums_.as<Sum>(), used * sizeof(Sum),
                                   cudaMemcpyDeviceToHost, stream_),
                   "fetching a sum");
        stream_.wait();
        Sum total{};
        for (const Sum& of_block : of_blocks) total += of_block;
        return total;
    }

    // Between an array and the host's or the device's memory.
    void write(const float* values, float* array, index_t first, index_t count) const {
        gpu::check(
            cudaMemcpyAsync(array + first, values, static_cast<std::size_t>(count) * sizeof(float),
                            cudaMemcpyDefault, stream_),
            "copying to the GPU");
        stream_.wait();
    }
    void read(float* values, const float* array, index_t first, index_t count) const {
        gpu::check(
            cudaMemcpyAsync(values, array + first, static_cast<std::size_t>(count) * sizeof(float),
                            cudaMemcpyDefault, stream_),
            "copying from the GPU");
        stream_.wait();
    }

  protected:
    cudaStream_t stream() const { return stream_; }

  private:
    static constexpr index_t most_sum_bytes = 16;

    static unsigned blocks(index_t count) {
        return static_cast<unsigned>(
            std::clamp<index_t>(ceil_div(count, stage_threads), 1, most_blocks));
    }
    static unsigned blocks(const Grid& grid) {
        return blocks(checked_multiply(grid.rows(), index_t{warp}));
    }

    int threads_;
    gpu::DeviceMemory sums_;
    gpu::Stream stream_;
};

}  // namespace convolume::deconvolve
