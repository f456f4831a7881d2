// SPDX-License-Identifier: Apache-2.0
#include "cpu/fft/aligned_memory.hpp"

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

thread_local KeptScratch kept;

}  // namespace

FftScratch::FftScratch(std::size_t bytes) : kept_(bytes <= most_kept && !kept.in_use) {
    if (kept_) {
        kept.grow(bytes);
        kept.in_use = true;
        data_ = kept.data;
    } else {
        data_ = ::operator new(bytes, AlignedAllocator<char>::alignment);
    }
}

FftScratch::~FftScratch() {
    if (kept_)
        kept.in_use = false;
    else
        ::operator delete(data_, AlignedAllocator<char>::alignment);
}

}  // namespace convolume::cpu
