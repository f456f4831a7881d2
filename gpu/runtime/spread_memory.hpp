// SPDX-License-Identifier: Apache-2.0
#pragma once
// Memory of one address whose parts lie on several devices, each of which reads and writes all of
// it.

#include <vector>

#include "convolume/shape.hpp"

namespace convolume::gpu {

/// Move-only.
class SpreadMemory {
  public:
    struct Part {
        int device = 0;
        index_t bytes = 0;
    };

    /// Whether these devices share addresses.
    static bool possible(const std::vector<int>& devices);

    SpreadMemory() = default;
    /// Parts one after another. Throws OutOfMemory, with `purpose`, where memory is refused.
    SpreadMemory(const std::vector<Part>& parts, const char* purpose);
    ~SpreadMemory();
    SpreadMemory(SpreadMemory&& other) noexcept;
    SpreadMemory& operator=(SpreadMemory&& other) noexcept;

    template <class T>
    T* as() const {
        return static_cast<T*>(data_);
    }

  private:
    void* data_ = nullptr;
};

}  // namespace convolume::gpu
