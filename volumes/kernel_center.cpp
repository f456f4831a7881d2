// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "convolume/convolver.hpp"
#include "convolume/error.hpp"
#include "core/check_memory.hpp"

namespace convolume {

namespace {

index_t distance_squared(const Index3& a, const Index3& b) {
    index_t sum = 0;
    for (int axis = 0; axis < 3; ++axis) sum += (a[axis] - b[axis]) * (a[axis] - b[axis]);
    return sum;
}

Index3 middle_of(const Shape3& shape) {
    return {shape.z / 2, shape.y / 2, shape.x / 2};
}

// Half-way goes up, as k/2 does, and rounding of the sums does not change that.
Index3 rounded(const std::array<double, 3>& position) {
    Index3 index;
    for (int a = 0; a < 3; ++a)
        index[a] = static_cast<index_t>(position[static_cast<std::size_t>(a)] + 0.5 + 1e-6);
    return index;
}

}  // namespace

Index3 kernel_peak(const ConstImageView& kernel) {
    check_memory(kernel, "the kernel");
    const Index3 middle = middle_of(kernel.shape);
    double highest = -1;
    Index3 peak;
    for_each_magnitude(kernel, [&](double magnitude, const Index3& at) {
        const bool nearer =
            magnitude == highest && distance_squared(at, middle) < distance_squared(peak, middle);
        if (magnitude > highest || nearer) {
            highest = magnitude;
            peak = at;
        }
    });
    return peak;
}

std::array<double, 3> kernel_centroid(const ConstImageView& kernel) {
    check_memory(kernel, "the kernel");
    double sum = 0;
    std::array<double, 3> moment{};
    for_each_magnitude(kernel, [&](double magnitude, const Index3& at) {
        sum += magnitude;
        for (int a = 0; a < 3; ++a)
            moment[static_cast<std::size_t>(a)] += magnitude * static_cast<double>(at[a]);
    });
    if (!(sum > 0) || !std::isfinite(sum))
        throw BadData(
            "a kernel that is zero everywhere, or not finite, has no centroid: check "
            "that the right file was given, or choose another center");
    for (double& value : moment) value /= sum;
    return moment;
}

Volume unwrapped_kernel(const ConstImageView& kernel) {
    check_memory(kernel, "the kernel");
    Volume unwrapped(kernel.shape, kernel.type);
    const Shape3& shape = kernel.shape;
    const Index3 middle = middle_of(shape);
    // Along each axis, what follows the middle and what goes before it change places.
    for (int corner = 0; corner < 8; ++corner) {
        Box3 from, to;
        for (int a = 0; a < 3; ++a) {
            const bool upper = (corner >> a & 1) != 0;
            const index_t first = shape[a] - middle[a];  // of the wrapped half
            from.begin[a] = upper ? first : 0;
            from.end[a] = upper ? shape[a] : first;
            to.begin[a] = upper ? 0 : middle[a];
            to.end[a] = upper ? middle[a] : shape[a];
        }
        const ConstImageView part = subview(kernel, from);
        if (element_count(part.shape) > 0) convert_pixels(part, subview(unwrapped.view(), to));
    }
    return unwrapped;
}

Index3 center_index(const KernelCenter& center, const ConstImageView& kernel) {
    using Kind = KernelCenter::Kind;
    Index3 index = center.index;
    if (center.kind == Kind::peak) index = kernel_peak(kernel);
    if (center.kind == Kind::centroid) index = rounded(kernel_centroid(kernel));
    for (int a = 0; a < 3; ++a) {
        if (center.kind == Kind::middle) index[a] = kernel.shape[a] / 2;
        if (center.kind == Kind::scipy) index[a] = (kernel.shape[a] - 1) / 2;
        if (center.kind == Kind::corner) index[a] = 0;
        if (index[a] < 0 || index[a] >= kernel.shape[a])
            throw InvalidArgument(message(
                "the kernel's center ", index[a], " along ", axis_name(a), " lies outside its ",
                kernel.shape[a], " samples: give an index from 0 to ", kernel.shape[a] - 1));
    }
    return index;
}

}  // namespace convolume
