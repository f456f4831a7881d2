// SPDX-License-Identifier: Apache-2.0
#pragma once
// Memory that vectors are loaded from: tables of transforms, and scratch memory of threads.

#include <cstddef>
#include <mutex>
#include <new>
#include <vector>

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

/// Memory that outlives transforms: blocks that any thread may take, as many as threads transform
/// at once. Long transforms therefore do not ask the system for memory again, whose heaps would
/// grow.
class ScratchKeeper {
  public:
    ScratchKeeper() = default;
    ~ScratchKeeper();
    ScratchKeeper(const ScratchKeeper&) = delete;
    ScratchKeeper& operator=(const ScratchKeeper&) = delete;

    void* take(std::size_t bytes);  ///< always of the same number of bytes
    void give_back(void* block) noexcept;

  private:
    std::mutex mutex_;
    void* kept_ = nullptr;  ///< the last block given back
};

/// Scratch memory of one transform. A thread keeps up to 4 MiB until it ends; a larger block is the
/// keeper's. Throws std::bad_alloc if there is no memory.
class FftScratch {
  public:
    FftScratch(std::size_t bytes, ScratchKeeper& keeper);
    ~FftScratch();
    FftScratch(const FftScratch&) = delete;
    FftScratch& operator=(const FftScratch&) = delete;

    template <class Real>
    Real* as() const {
        return static_cast<Real*>(data_);
    }

  private:
    ScratchKeeper& keeper_;
    void* data_;
    bool of_thread_;
};

}  // namespace convolume::cpu
