// SPDX-License-Identifier: Apache-2.0
#pragma once
// Functions of a thread block that only the CUDA kernels of filter banks need, beside HostBlock's.

#include <utility>

#include "tests/gpu/fft/host_block.hpp"

namespace convolume::gpu {

struct HostSegmentBlock : HostBlock {
    explicit HostSegmentBlock(const HostBlock& block) : HostBlock(block) {}

    template <int threads>
    void sync_some() const {
        sync();
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
};

}  // namespace convolume::gpu
