// SPDX-License-Identifier: Apache-2.0
#include "core/filter_engine.hpp"

namespace convolume {

PixelType FilterWork::sample_type() const {
    if (precision == Precision::float32)
        return complex_data ? PixelType::complex64 : PixelType::float32;
    return complex_data ? PixelType::complex128 : PixelType::float64;
}

PixelType FilterWork::result_type() const {
    if (function) return function->result_type;
    if (power) return precision == Precision::float32 ? PixelType::float32 : PixelType::float64;
    return sample_type();
}

}  // namespace convolume
