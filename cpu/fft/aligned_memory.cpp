// SPDX-License-Identifier: Apache-2.0
#include "cpu/fft/aligned_memory.hpp"

#include <cstring>

#include "core/system/system.hpp"

namespace convolume::cpu {

namespace {

constexpr std::size_t most_kept = std::size_t{4} << 20;

void release(void* data) {
    ::operator delete(data, AlignedAllocator<char>::alignment);
}

/// The scratch memory that a thread keeps, which `ended` releases.
struct KeptScratch {
    void* data = nullptr;
    std::size_t bytes = 0;
    bool in_use = false;

    void grow(std::size_t least) {
        if (bytes >= least) return;
        static system::ThreadPointer ended(release);
        if (!ended.set(nullptr)) throw std::bad_alloc();
        release(data);
        data = nullptr;
        bytes = 0;
        data = ::operator new(least, AlignedAllocator<char>::alignment);
        bytes = least;
        ended.set(data);  // succeeds, as the first call did
    }
};

thread_local KeptScratch kept_scratch;

}  // namespace

// A kept block begins with the address of the next one.
ScratchKeeper::~ScratchKeeper() {
    while (void* const block = kept_) {
        std::memcpy(&kept_, block, sizeof kept_);
        release(block);
    }
}

void* ScratchKeeper::take(std::size_t bytes) {
    {
        const std::lock_guard lock(mutex_);
        if (void* const block = kept_) {
            std::memcpy(&kept_, block, sizeof kept_);
            return block;
        }
    }
    return ::operator new(bytes, AlignedAllocator<char>::alignment);
}

void ScratchKeeper::give_back(void* block) noexcept {
    const std::lock_guard lock(mutex_);
    std::memcpy(block, &kept_, sizeof kept_);
    kept_ = block;
}

FftScratch::FftScratch(std::size_t bytes, ScratchKeeper& keeper)
    : keeper_(keeper), of_thread_(bytes <= most_kept && !kept_scratch.in_use) {
    if (of_thread_) {
        kept_scratch.grow(bytes);
        kept_scratch.in_use = true;
        data_ = kept_scratch.data;
    } else {
        data_ = keeper.take(bytes);
    }
}

FftScratch::~FftScratch() {
    if (of_thread_)
        kept_scratch.in_use = false;
    else
        keeper_.give_back(data_);
}

}  // namespace convolume::cpu
