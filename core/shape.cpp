// SPDX-License-Identifier: Apache-2.0
#include "convolume/shape.hpp"

#include <algorithm>
#include <ostream>

#include "convolume/error.hpp"

namespace convolume {

index_t checked_multiply(index_t a, index_t b) {
    index_t product = 0;
    if (a < 0 || b < 0 || __builtin_mul_overflow(a, b, &product))
        throw InvalidArgument(message("the product of the sizes ", a, " and ", b,
                                      " does not fit 64 bits: give non-negative, smaller sizes"));
    return product;
}

index_t checked_add(index_t a, index_t b) {
    index_t sum = 0;
    if (__builtin_add_overflow(a, b, &sum))
        throw InvalidArgument(message("the sum of the sizes ", a, " and ", b,
                                      " does not fit 64 bits: give smaller sizes"));
    return sum;
}

index_t element_count(const Shape3& shape) {
    return checked_multiply(checked_multiply(shape.z, shape.y), shape.x);
}

Index3 contiguous_strides(const Shape3& shape) {
    return {checked_multiply(shape.y, shape.x), shape.x, 1};
}

std::string to_string(const Shape3& shape, const char* separator) {
    return message(shape.z, separator, shape.y, separator, shape.x);
}

std::ostream& operator<<(std::ostream& stream, const Shape3& shape) {
    return stream << to_string(shape);
}

Box3 intersection(const Box3& a, const Box3& b) {
    Box3 common;
    for (int axis = 0; axis < 3; ++axis) {
        common.begin[axis] = std::max(a.begin[axis], b.begin[axis]);
        common.end[axis] = std::min(a.end[axis], b.end[axis]);
    }
    return common;
}

}  // namespace convolume
