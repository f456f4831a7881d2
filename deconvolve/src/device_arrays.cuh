#pragma once
// The loop's arrays in the memory of one GPU. Everything is enqueued on one stream; the host waits
// for sums and transfers only.

#include <algorithm>
#include <type_traits>
#include <vector>

#include "convolume/device_convolver.hpp"
#include "device_memory.hpp"
#include "problem.hpp"

namespace convolume::deconvolve {

constexpr int stage_threads = 256;
constexpr unsigned most_blocks = 1024;

template <class Stage>
__global__ void stage_kernel(index_t count, Stage stage) {
    for (index_t i = blockIdx.x * index_t{stage_threads} + threadIdx.x; i < count;
         i += index_t{gridDim.x} * stage_threads)
        stage(i);
}

// The sum of each block's elements, always in the same order.
template <class Sum, class Stage>
__global__ void sum_kernel(index_t count, Stage stage, Sum* sums) {
    alignas(16) __shared__ char bytes[stage_threads * sizeof(Sum)];
    Sum* const of_threads = reinterpret_cast<Sum*>(bytes);
    Sum sum{};
    for (index_t i = blockIdx.x * index_t{stage_threads} + threadIdx.x; i < count;
         i += index_t{gridDim.x} * stage_threads)
        sum += stage(i);
    of_threads[threadIdx.x] = sum;
    for (unsigned half = stage_threads / 2; half > 0; half /= 2) {
        __syncthreads();
        if (threadIdx.x < half) of_threads[threadIdx.x] += of_threads[threadIdx.x + half];
    }
    if (threadIdx.x == 0) sums[blockIdx.x] = of_threads[0];
}

class DeviceArrays {
  public:
    static constexpr HostMemory staging = HostMemory::page_locked;

    /// On the current device. The convolvers are kept by reference.
    DeviceArrays(const Problem& problem, DeviceConvolver& blur, DeviceConvolver& back, int threads)
        : blur_(blur), back_(back), threads_(threads) {
        const auto bytes = [](const Shape3& shape) {
            return checked_multiply(element_count(shape), static_cast<index_t>(sizeof(float)));
        };
        const ArrayCounts counts = array_counts(problem.options);
        for (int i = 0; i < counts.object; ++i)
            objects_.emplace_back(bytes(problem.object), "the arrays of a deconvolution");
        for (int i = 0; i < counts.image; ++i)
            images_.emplace_back(bytes(problem.image), "the arrays of a deconvolution");
    }

    int threads() const { return threads_; }
    float* object(int i) const { return objects_[static_cast<std::size_t>(i)].as<float>(); }
    float* image(int i) const { return images_[static_cast<std::size_t>(i)].as<float>(); }

    void blur(const float* object, float* image) {
        blur_.execute(object, image, static_cast<cudaStream_t>(queue_));
    }
    void blur_back(const float* image, float* object) {
        back_.execute(image, object, static_cast<cudaStream_t>(queue_));
    }

    template <class Stage>
    void for_each(index_t count, const Stage& stage) const {
        stage_kernel<<<blocks(count), stage_threads, 0, queue_>>>(count, stage);
        check(cudaGetLastError(), "starting a stage of the deconvolution");
    }

    template <class Stage>
    auto sum(index_t count, const Stage& stage) const {
        using Sum = std::invoke_result_t<Stage, index_t>;
        static_assert(sizeof(Sum) <= most_sum_bytes);
        const unsigned used = blocks(count);
        sum_kernel<<<used, stage_threads, 0, queue_>>>(count, stage, sums_.as<Sum>());
        check(cudaGetLastError(), "starting a sum of the deconvolution");
        std::vector<Sum> of_blocks(used);
        check(cudaMemcpyAsync(of_blocks.data(), sums_.as<Sum>(), used * sizeof(Sum),
                              cudaMemcpyDeviceToHost, queue_),
              "fetching a sum");
        queue_.wait();
        Sum total{};
        for (const Sum& of_block : of_blocks) total += of_block;
        return total;
    }

    void write(const float* values, float* array, index_t first, index_t count) const {
        check(
            cudaMemcpyAsync(array + first, values, static_cast<std::size_t>(count) * sizeof(float),
                            cudaMemcpyHostToDevice, queue_),
            "copying to the GPU");
        queue_.wait();
    }
    void read(float* values, const float* array, index_t first, index_t count) const {
        check(
            cudaMemcpyAsync(values, array + first, static_cast<std::size_t>(count) * sizeof(float),
                            cudaMemcpyDeviceToHost, queue_),
            "copying from the GPU");
        queue_.wait();
    }

  private:
    static constexpr index_t most_sum_bytes = 16;

    static unsigned blocks(index_t count) {
        return static_cast<unsigned>(
            std::clamp<index_t>(ceil_div(count, stage_threads), 1, most_blocks));
    }

    DeviceConvolver& blur_;
    DeviceConvolver& back_;
    int threads_;
    std::vector<DeviceMemory> objects_;
    std::vector<DeviceMemory> images_;
    DeviceMemory sums_{most_blocks * most_sum_bytes, "sums of a deconvolution"};
    DeviceQueue queue_;
};

}  // namespace convolume::deconvolve
