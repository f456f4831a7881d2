// SPDX-License-Identifier: Apache-2.0
#pragma once
// Memory that vectors are loaded from: tables of transforms, and scratch memory of threads.

#include <cstddef>
#include <memory>
#include <new>
#include <vector>

#include "convolume/shape.hpp"

namespace convolume::cpu {

/// Allocates arrays aligned to cache lines, and so for all vectors.
template <class T>
struct AlignedAllocator {
    using value_type = T;
    static constexpr std::align_val_t alignment{64};

    AlignedAllocator() = default;
    template <class U>
    AlignedAllocator(const AlignedAllocator<U>&) {}
    T* allocate(std::size_t count) {
        return static_cast<T*>(::operator new(count * sizeof(T), alignment));
    }
    void deallocate(T* data, std::size_t) { ::operator delete(data, alignment); }
    template <class U>
    bool operator==(const AlignedAllocator<U>&) const {
        return true;
    }
};

template <class Real>
using AlignedTable = std::vector<Real, AlignedAllocator<Real>>;

/// Scratch memory of one transform. A thread keeps up to a few MiB between transforms, until it
/// ends; more is allocated for the transform alone. Throws std::bad_alloc if there is no memory.
class FftScratch {
  public:
    explicit FftScratch(std::size_t bytes);
    ~FftScratch();
    FftScratch(const FftScratch&) = delete;
    FftScratch& operator=(const FftScratch&) = delete;

    template <class Real>
    Real* as() const {
        return static_cast<Real*>(data_);
    }

  private:
    void* data_;
    bool kept_;
};

}  // namespace convolume::cpu
