// SPDX-License-Identifier: Apache-2.0
#include "cpu/fft/aligned_memory.hpp"

#include <cstring>

namespace convolume::cpu {

namespace {

constexpr std::size_t most_kept = std::size_t{4} << 20;

/// The scratch memory that a thread keeps.
struct KeptScratch {
    void* data = nullptr;
    std::size_t bytes = 0;
    bool in_use = false;

    KeptScratch() = default;
    ~KeptScratch() { release(); }
    KeptScratch(const KeptScratch&) = delete;
    KeptScratch& operator=(const KeptScratch&) = delete;

    void release() {
        if (data != nullptr) ::operator delete(data, AlignedAllocator<char>::alignment);
        data = nullptr;
        bytes = 0;
    }
    void grow(std::size_t least) {
        if (bytes >= least) return;
        release();
        data = ::operator new(least, AlignedAllocator<char>::alignment);
        bytes = least;
    }
};

thread_local KeptScratch kept_scratch;

}  // namespace

// A kept block begins with the address of the next one.
ScratchKeeper::~ScratchKeeper() {
    while (void* const block = kept_) {
        std::memcpy(&kept_, block, sizeof kept_);
        ::operator delete(block, AlignedAllocator<char>::alignment);
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
