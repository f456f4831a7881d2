// SPDX-License-Identifier: Apache-2.0
#pragma once
// Many transforms of one length by cuFFT, with a work area of the caller's.

#include <type_traits>

#include "gpu/runtime/cufft_plan.hpp"

namespace convolume::gpu {

enum class RowDirection { forward, inverse };

class RowPlan {
  public:
    /// `rows` transforms of n samples, `from_pitch` elements apart before and `to_pitch` after.
    /// Sample is Real, for real data on the side of samples, or Complex<Real>.
    template <class Real, class Sample>
    static RowPlan make(RowDirection direction, index_t n, index_t rows, index_t from_pitch,
                        index_t to_pitch) {
        constexpr bool single = std::is_same_v<Real, float>;
        cufftType type = single ? CUFFT_C2C : CUFFT_Z2Z;
        if (std::is_same_v<Sample, Real>)
            type = direction == RowDirection::forward ? (single ? CUFFT_R2C : CUFFT_D2Z)
                                                      : (single ? CUFFT_C2R : CUFFT_Z2D);
        return RowPlan(direction, type, n, rows, from_pitch, to_pitch);
    }

    index_t work_bytes() const { return plan_.work_bytes(); }

    /// Not from two threads at once. `from` and `to` may be the same where pitches allow.
    void execute(void* from, void* to, char* work, cudaStream_t stream) const {
        plan_.execute(from, to, work,
                      direction_ == RowDirection::forward ? CUFFT_FORWARD : CUFFT_INVERSE, stream);
    }

  private:
    RowPlan(RowDirection direction, cufftType type, long long n, long long rows,
            long long from_pitch, long long to_pitch)
        : plan_(1, &n, {&from_pitch, from_pitch}, {&to_pitch, to_pitch}, type, rows),
          direction_(direction) {}

    CufftPlan plan_;
    RowDirection direction_;
};

}  // namespace convolume::gpu
