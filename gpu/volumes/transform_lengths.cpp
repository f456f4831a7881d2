// SPDX-License-Identifier: Apache-2.0
#include "gpu/volumes/transform_lengths.hpp"

#include "core/engine.hpp"
#include "gpu/fft/passes.hpp"

namespace convolume::gpu {

namespace {

bool has_pass(int device, int axis, index_t length, bool complex_data, Precision precision) {
    const bool single = precision == Precision::float32;
    if (axis == 2)
        return single ? has_row_pass<float>(length, complex_data, device)
                      : has_row_pass<double>(length, complex_data, device);
    return single ? has_column_pass<float>(length, device)
                  : has_column_pass<double>(length, device);
}

}  // namespace

index_t own_length(int device, int axis, index_t least, int parts, bool complex_data,
                   Precision precision) {
    // Of a split every part needs a length of its own: real data's first part twice the others'.
    const bool splits = axis == 0 && parts > 1;
    const index_t step = splits ? length_multiple(axis, parts, complex_data) : 1;
    const auto next = [&](index_t length) {
        const bool twice = precision == Precision::float64;
        return axis == 2 ? good_row_length(length, complex_data, twice)
                         : good_column_length(length, 1, twice);
    };
    for (index_t length = next(ceil_div(least, step)); length > 0; length = next(length + 1))
        if (has_pass(device, axis, length, complex_data, precision) &&
            (!splits || complex_data ||
             has_pass(device, axis, 2 * length, complex_data, precision)))
            return length * step;
    return 0;
}

}  // namespace convolume::gpu
