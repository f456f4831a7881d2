#pragma once
// Many transforms of one length by cuFFT, with a work area of the caller's.

#include <cufftXt.h>

#include <type_traits>

#include "convolume/cuda/detail/complex.hpp"
#include "convolume/shape.hpp"
#include "gpu/runtime/check.hpp"

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

    RowPlan(RowPlan&& other) noexcept
        : handle_(std::exchange(other.handle_, 0)),
          direction_(other.direction_),
          work_bytes_(other.work_bytes_) {}
    RowPlan& operator=(RowPlan&&) = delete;
    ~RowPlan() {
        if (handle_) static_cast<void>(cufftDestroy(handle_));
    }

    index_t work_bytes() const { return work_bytes_; }

    /// Not from two threads at once. `from` and `to` may be the same where pitches allow.
    void execute(void* from, void* to, char* work, cudaStream_t stream) const {
        check(cufftSetStream(handle_, stream), "a cuFFT plan");
        check(cufftSetWorkArea(handle_, work), "a cuFFT plan");
        check(cufftXtExec(handle_, from, to,
                          direction_ == RowDirection::forward ? CUFFT_FORWARD : CUFFT_INVERSE),
              "a transform by cuFFT");
    }

  private:
    RowPlan(RowDirection direction, cufftType type, index_t n, index_t rows, index_t from_pitch,
            index_t to_pitch)
        : direction_(direction) {
        long long length = n, from[1] = {from_pitch}, to[1] = {to_pitch};
        std::size_t bytes = 0;
        check(cufftCreate(&handle_), "a cuFFT plan");
        try {
            check(cufftSetAutoAllocation(handle_, 0), "a cuFFT plan");
            check(cufftMakePlanMany64(handle_, 1, &length, from, 1, from_pitch, to, 1, to_pitch,
                                      type, rows, &bytes),
                  "a cuFFT plan");
        } catch (...) {
            static_cast<void>(cufftDestroy(handle_));
            throw;
        }
        work_bytes_ = static_cast<index_t>(bytes);
    }

    cufftHandle handle_ = 0;
    RowDirection direction_;
    index_t work_bytes_ = 0;
};

}  // namespace convolume::gpu
