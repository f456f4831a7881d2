// SPDX-License-Identifier: Apache-2.0
#pragma once
// Sizes and positions in 3D. Axes are always z, y, x; x varies fastest in memory.

#include <array>
#include <cstdint>
#include <string>

#include "convolume/export.hpp"

namespace convolume {

/// Every size, offset and count: 64 bits, signed.
using index_t = std::int64_t;

/// a * b; throws InvalidArgument when the product does not fit 64 bits or a factor is negative.
CONVOLUME_API index_t checked_multiply(index_t a, index_t b);
/// a + b; throws InvalidArgument when the sum does not fit 64 bits.
CONVOLUME_API index_t checked_add(index_t a, index_t b);

/// Stands for the samples of a signal that comes through a pipe, whose length is known only when it
/// ends. More than any signal has, and small enough to be computed with.
inline constexpr index_t unknown_samples = index_t{1} << 52;

/// One value per axis: a position, an offset, a stride.
struct Index3 {
    index_t z = 0;
    index_t y = 0;
    index_t x = 0;

    /// axis 0, 1, 2 = z, y, x.
    constexpr index_t& operator[](int axis) { return axis == 0 ? z : axis == 1 ? y : x; }
    constexpr index_t operator[](int axis) const { return axis == 0 ? z : axis == 1 ? y : x; }
    friend constexpr bool operator==(const Index3&, const Index3&) = default;
};

/// The extents of a 3D array; a 2D image has z = 1.
using Shape3 = Index3;

/// Number of elements; throws InvalidArgument for negative extents or a product beyond 64 bits.
CONVOLUME_API index_t element_count(const Shape3& shape);

/// Strides (in elements) of a contiguous array in C order.
CONVOLUME_API Index3 contiguous_strides(const Shape3& shape);

/// "240×480×480", or with `separator`.
CONVOLUME_API std::string to_string(const Shape3& shape, const char* separator = "×");

/// Half-open box [begin, end) on every axis.
struct Box3 {
    Index3 begin;
    Index3 end;

    Shape3 shape() const { return {end.z - begin.z, end.y - begin.y, end.x - begin.x}; }
    bool empty() const { return end.z <= begin.z || end.y <= begin.y || end.x <= begin.x; }
    friend constexpr bool operator==(const Box3&, const Box3&) = default;
};

/// The box common to both; empty() when they do not meet.
CONVOLUME_API Box3 intersection(const Box3& a, const Box3& b);

constexpr const char* axis_name(int axis) {
    return axis == 0 ? "z" : axis == 1 ? "y" : "x";
}

/// ceil(a / b) for a >= 0, b > 0.
constexpr index_t ceil_div(index_t a, index_t b) {
    return a / b + (a % b != 0);
}
/// The smallest multiple of `step` that is at least `a`, for a >= 0, step > 0.
constexpr index_t round_up(index_t a, index_t step) {
    return ceil_div(a, step) * step;
}

/// Edge lengths of a voxel.
struct VoxelSize {
    double z_um = 0.2;
    double y_um = 0.065;
    double x_um = 0.065;

    /// axis 0, 1, 2 = z, y, x.
    constexpr double operator[](int axis) const {
        return axis == 0 ? z_um : axis == 1 ? y_um : x_um;
    }
    friend constexpr bool operator==(const VoxelSize&, const VoxelSize&) = default;
};

}  // namespace convolume
