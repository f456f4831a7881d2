// SPDX-License-Identifier: Apache-2.0
#pragma once
// Memory of one thread, handed out as aligned arrays.

#include "convolume/volume.hpp"

namespace convolume::cpu {

class Scratch {
  public:
    explicit Scratch(void* memory) : next_(static_cast<char*>(memory)) {}

    /// Room for `count` elements.
    template <class T>
    T* take(index_t count) {
        T* const array = reinterpret_cast<T*>(next_);
        next_ += bytes_of<T>(count);
        return array;
    }
    template <class T>
    static index_t bytes_of(index_t count) {
        return round_up(checked_multiply(count, static_cast<index_t>(sizeof(T))),
                        static_cast<index_t>(Buffer::alignment)) +
               stagger_bytes;
    }

  private:
    // Arrays a power of two apart would share cache sets.
    static constexpr index_t stagger_bytes = 5 * static_cast<index_t>(Buffer::alignment);

    char* next_;
};

}  // namespace convolume::cpu
