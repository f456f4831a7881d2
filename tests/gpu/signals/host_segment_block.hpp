// SPDX-License-Identifier: Apache-2.0
#pragma once
// Functions of a thread block that only the CUDA kernels of filter banks need, beside HostBlock's.

#include <cstdint>
#include <utility>

#include "tests/gpu/fft/host_block.hpp"

namespace convolume::gpu {

struct HostSegmentBlock : HostBlock {
    explicit HostSegmentBlock(const HostBlock& block) : HostBlock(block) {}

    template <int threads>
    void sync_some() const {
        constexpr int other_barriers = 16;
        if constexpr (threads <= 32)
            sync_at(other_barriers + thread() / threads, threads);
        else
            sync();  // as on a device, where only the threads of a warp wait for each other
    }
    using HostBlock::forget;
    template <class Real>
    void forget(Complex<Real>&) const {}
    template <class T>
    void forget(const T*&) const {}
    template <class Real>
    std::pair<Complex<Real>, Complex<Real>> load_pair(const Complex<Real>* p) const {
        return {p[0], p[1]};
    }
    template <class T>
    T load_once(const T* p) const {
        return *p;
    }
    template <class T>
    void store(T* p, T value) const {
        *p = value;
    }
    /// Returns the value of the thread whose number differs in the lowest bit. All threads of the
    /// thread block take part.
    std::uint32_t exchange_with_neighbor(std::uint32_t value) const {
        static std::uint32_t values[1024];
        values[thread()] = value;
        sync();
        const std::uint32_t other = values[thread() ^ 1];
        sync();
        return other;
    }
};

}  // namespace convolume::gpu
