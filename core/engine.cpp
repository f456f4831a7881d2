// SPDX-License-Identifier: Apache-2.0
#include "core/engine.hpp"

#include <numeric>

#include "core/fft_size.hpp"

namespace convolume {

index_t Engine::good_length(int axis, index_t least, int parts, bool complex_data,
                            Precision) const {
    return good_fft_size(least, length_multiple(axis, parts, complex_data), axis, complex_data);
}

bool Engine::is_good_length(int axis, index_t length, int parts, bool complex_data,
                            Precision) const {
    return is_7_smooth(length) && length % length_multiple(axis, parts, complex_data) == 0;
}

index_t length_multiple(int axis, int parts, bool complex_data) {
    if (axis == 0 && parts > 1) return parts * (complex_data ? 1 : 2);
    return axis == 2 && !complex_data ? 2 : 1;
}

std::vector<index_t> identity_indices(index_t count) {
    std::vector<index_t> indices(static_cast<std::size_t>(count));
    std::iota(indices.begin(), indices.end(), index_t{0});
    return indices;
}

}  // namespace convolume
