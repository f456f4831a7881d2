// SPDX-License-Identifier: Apache-2.0
#include "core/filter_engine.hpp"

namespace convolume {

PixelType FilterWork::result_type() const {
    if (function) return function->result_type;
    if (power) return convolume::sample_type(precision, false);
    return sample_type();
}

}  // namespace convolume
