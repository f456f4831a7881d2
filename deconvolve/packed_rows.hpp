// SPDX-License-Identifier: Apache-2.0
#pragma once
// Rows of float32 samples in 16 bits each: whole multiples of a step, which is the row's largest
// sample / 32767. For what enters sums of products only: these owe most to large samples, which
// have 16 bits here, where float16 has 11. What is less than 1 / 65534 of the row's largest becomes
// 0.

#include <cstdint>
#include <type_traits>

#include "convolume/cuda/detail/complex.hpp"
#include "convolume/shape.hpp"

namespace convolume::deconvolve {

struct PackedRows {
    index_t count;  ///< samples of a row

    /// Of a row: its step, then its samples.
    CONVOLUME_DEVICE index_t row_bytes() const {
        return index_t{sizeof(float)} + (count + 1) / 2 * index_t{2 * sizeof(std::int16_t)};
    }
    /// Where the step and the samples of row `y` are.
    template <class Byte>
    CONVOLUME_DEVICE auto* step(Byte* rows, index_t y) const {
        return reinterpret_cast<Like<Byte, float>*>(rows + y * row_bytes());
    }
    template <class Byte>
    CONVOLUME_DEVICE auto* samples(Byte* rows, index_t y) const {
        return reinterpret_cast<Like<Byte, std::int16_t>*>(rows + y * row_bytes() + sizeof(float));
    }

    /// Of rows without samples above `largest` in size. 0: all are 0.
    CONVOLUME_DEVICE static float step_of(float largest) {
        return largest > 1e-30F ? largest / most : 0;
    }
    CONVOLUME_DEVICE static float steps_of(float largest) {
        return largest > 1e-30F ? most / largest : 0;
    }
    /// A sample in steps, `steps` to 1, to the nearest.
    CONVOLUME_DEVICE static std::int16_t packed(float sample, float steps) {
        const float scaled = sample * steps;
        return static_cast<std::int16_t>(scaled + (scaled < 0 ? -0.5F : 0.5F));
    }

  private:
    static constexpr float most = 32767;
    template <class Byte, class T>
    using Like = std::conditional_t<std::is_const_v<Byte>, const T, T>;
};

}  // namespace convolume::deconvolve
