// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <vector>

#include "convolume/volume.hpp"
#include "deconvolve/functors.hpp"
#include "gpu/runtime/check.hpp"
#include "gpu/runtime/device_memory.hpp"
#include "gpu/runtime/stream.hpp"

// Loops and sums over arrays in the memory of one GPU. All work is enqueued on one CUDA stream; the
// host waits for sums and transfers only.
namespace convolume::deconvolve {

constexpr int loop_threads = 256;
constexpr int warp = 32;
constexpr unsigned most_blocks = 1024;

// Visits the elements of one thread: every N-th element in a grid of N threads, or every 32nd
// sample of a warp's rows.
template <class Visit>
__device__ void visit_own(const IndexRange& range, const Visit& visit) {
    for (index_t i = range.begin + blockIdx.x * index_t{loop_threads} + threadIdx.x; i < range.end;
         i += index_t{gridDim.x} * loop_threads)
        visit(i);
}
template <class Visit>
__device__ void visit_own(index_t count, const Visit& visit) {
    visit_own(IndexRange{0, count}, visit);
}
template <class Visit>
__device__ void visit_own(const VoxelRows& grid, const Visit& visit) {
    constexpr int warps = loop_threads / warp;
    for (index_t row = grid.own.begin + blockIdx.x * index_t{warps} + threadIdx.x / warp;
         row < grid.own.end; row += index_t{gridDim.x} * warps)
        for (index_t x = threadIdx.x % warp; x < grid.extent[2]; x += warp)
            visit(row * grid.extent[2] + x, grid.around(row, x));
}
template <class Visit>
__device__ void visit_own(const VoxelGrid& grid, const Visit& visit) {
    visit_own(VoxelRows{grid, {0, grid.rows()}}, visit);
}

template <class Extent, class Functor>
__global__ void loop_cuda_kernel(Extent extent, Functor functor) {
    visit_own(extent, [&](index_t i, const auto&... near) { functor(i, near...); });
}

// Sums the elements of each thread block, always in the same order.
template <class Sum, class Extent, class Functor>
__global__ void sum_cuda_kernel(Extent extent, Functor functor, Sum* sums) {
    alignas(16) __shared__ char bytes[loop_threads * sizeof(Sum)];
    Sum* const of_threads = reinterpret_cast<Sum*>(bytes);
    Sum sum{};
    visit_own(extent, [&](index_t i, const auto&... near) { sum += functor(i, near...); });
    of_threads[threadIdx.x] = sum;
    for (unsigned half = loop_threads / 2; half > 0; half /= 2) {
        __syncthreads();
        if (threadIdx.x < half) of_threads[threadIdx.x] += of_threads[threadIdx.x + half];
    }
    if (threadIdx.x == 0) sums[blockIdx.x] = of_threads[0];
}

// Returns the number of thread blocks for an extent.
inline unsigned loop_blocks(index_t count) {
    return static_cast<unsigned>(
        std::clamp<index_t>(ceil_div(count, loop_threads), 1, most_blocks));
}
inline unsigned loop_blocks(const IndexRange& range) {
    return loop_blocks(range.count());
}
inline unsigned loop_blocks(const VoxelGrid& grid) {
    return loop_blocks(checked_multiply(grid.rows(), index_t{warp}));
}
inline unsigned loop_blocks(const VoxelRows& grid) {
    return loop_blocks(checked_multiply(grid.row_count(), index_t{warp}));
}

/// Enqueues a functor without a sum.
template <class Extent, class Functor>
void start_loop(const Extent& extent, const Functor& functor, cudaStream_t stream) {
    loop_cuda_kernel<<<loop_blocks(extent), loop_threads, 0, stream>>>(extent, functor);
    gpu::check(cudaGetLastError(), "starting a functor of the deconvolution");
}

/// Enqueues the sums of all thread blocks, and returns the number of thread blocks.
template <class Sum, class Extent, class Functor>
unsigned start_sums(const Extent& extent, const Functor& functor, Sum* sums, cudaStream_t stream) {
    const unsigned used = loop_blocks(extent);
    sum_cuda_kernel<<<used, loop_threads, 0, stream>>>(extent, functor, sums);
    gpu::check(cudaGetLastError(), "starting a sum of the deconvolution");
    return used;
}

struct StoredSum {
    const SumPair* values;
    CONVOLUME_DEVICE SumPair operator()(index_t i) const { return values[i]; }
};
/// Enqueues the addition of the sums of all thread blocks.
inline void add_up(const SumPair* sums, index_t count, SumPair* target, cudaStream_t stream) {
    sum_cuda_kernel<<<1, loop_threads, 0, stream>>>(count, StoredSum{sums}, target);
    gpu::check(cudaGetLastError(), "starting a sum of the deconvolution");
}

class DeviceLoops {
  public:
    static constexpr HostMemory staging = HostMemory::page_locked;

    /// Makes the loops and the memory for sums on `device`, which must be current.
    DeviceLoops(int device, int threads)
        : threads_(threads),
          sums_(device, most_blocks * most_sum_bytes, "sums of a deconvolution") {}

    int threads() const { return threads_; }

    template <class Extent, class Functor>
    void for_each(const Extent& extent, const Functor& functor) const {
        start_loop(extent, functor, stream_);
    }

    template <class Extent, class Functor>
    auto sum(const Extent& extent, const Functor& functor) const {
        using Sum = decltype(result_of(functor, extent));
        return finish_sum<Sum>(start_sum(extent, functor));
    }

    /// Enqueues a sum, so that other work can go on before finish_sum() waits for it. Returns the
    /// number of thread blocks, which finish_sum() needs.
    template <class Extent, class Functor>
    unsigned start_sum(const Extent& extent, const Functor& functor) const {
        using Sum = decltype(result_of(functor, extent));
        static_assert(sizeof(Sum) <= most_sum_bytes);
        return start_sums(extent, functor, sums_.as<Sum>(), stream_);
    }
    template <class Sum>
    Sum finish_sum(unsigned used) const {
        std::vector<Sum> of_blocks(used);
        gpu::check(cudaMemcpyAsync(of_blocks.data(), sums_.as<Sum>(), used * sizeof(Sum),
                                   cudaMemcpyDeviceToHost, stream_),
                   "fetching a sum");
        stream_.wait();
        Sum total{};
        for (const Sum& of_block : of_blocks) total += of_block;
        return total;
    }

    // Copy between an array and memory of the host or of the device.
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

    int threads_;
    gpu::DeviceMemory sums_;
    gpu::CudaStream stream_;
};

}  // namespace convolume::deconvolve
