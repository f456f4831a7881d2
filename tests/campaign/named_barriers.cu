// SPDX-License-Identifier: Apache-2.0
// Shows what racecheck reports of threads that wait at several named barriers, although no access
// is unordered. The threads meet as in gpu/signals/channel_walk.hpp: some write rows of one half of
// shared memory, while two groups of others read the rows of the other half, and exchange samples
// within a row. All meet once a step, so that a half is written again only after all have read it.
//
//     nvcc -arch=native tests/campaign/named_barriers.cu -o named_barriers
//     compute-sanitizer --tool racecheck ./named_barriers
//
// Without the barriers of the groups there is no report.

#include <cstdio>

namespace {

constexpr int group = 64, groups = 2, readers = group * groups, writers = 512;
constexpr int threads = readers + writers;
constexpr int width = 1024, rows = 4, samples = width / group;

__device__ void meet(int barrier, int count) {
    asm volatile("bar.sync %0, %1;" ::"r"(barrier), "r"(count) : "memory");
}

template <bool exchanges>
__global__ void walk(float* results, int steps) {
    extern __shared__ float memory[];
    const int thread = static_cast<int>(threadIdx.x);
    const auto row_of = [&](int step, int row) { return memory + (step % 2 * rows + row) * width; };
    if (thread >= readers) {
        for (int step = 0; step < steps; ++step) {
            for (int row = 0; row < rows; ++row)
                for (int x = thread - readers; x < width; x += writers)
                    row_of(step, row)[x] = static_cast<float>(step + row + x);
            meet(1, threads);
        }
        return;
    }
    const int which = thread / group, own = thread % group;
    float sum = 0;
    for (int step = 0; step < steps; ++step) {
        meet(1, threads);
        for (int row = which; row < rows; row += groups) {
            float* const memory_of_row = row_of(step, row);
            float values[samples];
            for (int i = 0; i < samples; ++i) values[i] = memory_of_row[own + i * group];
            if (exchanges) {
                meet(2 + which, group);
                for (int i = 0; i < samples; ++i) memory_of_row[own * samples + i] = values[i];
                meet(2 + which, group);
                for (int i = 0; i < samples; ++i) values[i] = memory_of_row[own + i * group];
            }
            for (int i = 0; i < samples; ++i) sum += values[i];
        }
    }
    results[blockIdx.x * readers + threadIdx.x] = sum;
}

}  // namespace

int main() {
    constexpr int blocks = 132, steps = 64,
                  bytes = 2 * rows * width * static_cast<int>(sizeof(float));
    float* results = nullptr;
    cudaMalloc(&results, blocks * readers * sizeof(float));
    walk<false><<<blocks, threads, bytes>>>(results, steps);
    walk<true><<<blocks, threads, bytes>>>(results, steps);
    const cudaError_t status = cudaDeviceSynchronize();
    std::puts(cudaGetErrorString(status));
    return status == cudaSuccess ? 0 : 1;
}
