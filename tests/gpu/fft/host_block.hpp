// SPDX-License-Identifier: Apache-2.0
#pragma once
// Runs the body of a CUDA kernel on the host. The threads of a thread block are fibers, which run
// one after another between barriers.

#include <cstddef>
#include <functional>
#include <memory>
#include <vector>

#include "convolume/cuda/detail/complex.hpp"
#include "convolume/shape.hpp"

namespace convolume::gpu {

class HostScheduler;

/// A thread's view of its thread block: CUDA kernels take it as their context.
class HostBlock {
  public:
    HostBlock(HostScheduler& scheduler, int thread) : scheduler_(&scheduler), thread_(thread) {}

    int thread() const { return thread_; }
    index_t block() const;
    index_t blocks() const;
    char* shared() const;
    void sync() const;
    /// Waits for the 32 threads of this thread's warp, at a barrier beyond those of CUDA.
    void sync_warp() const { sync_at(16 + thread_ / 32, 32); }
    /// Waits for `threads` threads at barrier `id`, which is at least 1.
    void sync_at(int id, int threads) const;
    int forget(int value) const { return value; }

    template <class T>
    T load(const T* p) const {
        return *p;
    }
    /// Copies 16 bytes, which arrive at wait_copies(), not before.
    void copy_async(void* to, const void* from) const { copy(to, from, 16); }
    void copy_or_zeros_async(void* to, const void* from, bool is_inside) const {
        static constexpr char zeros[16] = {};
        copy(to, is_inside ? from : zeros, sizeof zeros);
    }
    template <int Bytes>
    void copy_few_async(void* to, const void* from) const {
        copy(to, from, Bytes);
    }
    template <int Bytes>
    void copy_few_or_zeros_async(void* to, const void* from, bool is_inside) const {
        static constexpr char zeros[8] = {};
        static_assert(Bytes <= 8);
        copy(to, is_inside ? from : zeros, Bytes);
    }
    void wait_copies() const;
    void end_copy_group() const;
    void wait_copies_but_last_group() const;
    void add(unsigned long long* counter, unsigned long long value) const { *counter += value; }

  private:
    void copy(void* to, const void* from, std::size_t bytes) const;

    HostScheduler* scheduler_;
    int thread_;
};

/// Runs `body` for every thread of `blocks` thread blocks, whose shared memory starts as NaN.
/// Throws std::logic_error if only some threads of a thread block come to a barrier.
void run_on_host(index_t blocks, int threads, index_t shared_bytes,
                 const std::function<void(const HostBlock&)>& body);

}  // namespace convolume::gpu
