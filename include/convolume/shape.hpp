// SPDX-License-Identifier: Apache-2.0
#pragma once
// Sizes and positions in 3D. Axes are always z, y, x; x varies fastest in memory.

#include <array>
#include <cstdint>
#include <iosfwd>
#include <string>

#include "convolume/export.hpp"

namespace convolume {

/// The integer type of every size, offset and count: 64 bits, signed.
using index_t = std::int64_t;

/// Returns a * b. Throws InvalidArgument if the product does not fit 64 bits or a factor is
/// negative.
CONVOLUME_API index_t checked_multiply(index_t a, index_t b);
/// Returns a + b. Throws InvalidArgument if the sum does not fit 64 bits.
CONVOLUME_API index_t checked_add(index_t a, index_t b);

/// Number of samples of a signal from a pipe, whose length is known only when the pipe ends. It is
/// larger than any real length, and small enough that sums with it do not overflow.
inline constexpr index_t unknown_samples = index_t{1} << 52;

/// One integer for each axis: a position, an offset, or strides.
/// @code{.cpp}
/// Index3 position{2, 10, 20};  // z, y, x
/// position[1] += 5;            // axis 1 is y
/// assert(position == (Index3{2, 15, 20}));
/// @endcode
struct Index3 {
    index_t z = 0;
    index_t y = 0;
    index_t x = 0;

    /// Returns the value of axis 0, 1 or 2, which are z, y and x.
    constexpr index_t& operator[](int axis) { return axis == 0 ? z : axis == 1 ? y : x; }
    constexpr index_t operator[](int axis) const { return axis == 0 ? z : axis == 1 ? y : x; }
    friend constexpr bool operator==(const Index3&, const Index3&) = default;
};

/// The extents of a 3D array; a 2D image has z = 1.
using Shape3 = Index3;

/// Returns the number of elements. Throws InvalidArgument for negative extents or a product beyond
/// 64 bits.
CONVOLUME_API index_t element_count(const Shape3& shape);

/// Returns the strides, in elements, of a contiguous array in C order.
/// @code{.cpp}
/// const Shape3 shape{64, 256, 512};  // z, y, x
/// assert(element_count(shape) == 64 * 256 * 512);
/// assert(contiguous_strides(shape) == (Index3{256 * 512, 512, 1}));
/// @endcode
CONVOLUME_API Index3 contiguous_strides(const Shape3& shape);

/// Returns a text such as "240×480×480", with `separator` between the extents.
CONVOLUME_API std::string to_string(const Shape3& shape, const char* separator = "×");
/// Prints a shape as to_string() does, or an Index3 in the same form.
/// @code{.cpp}
/// std::ostringstream text;
/// text << Shape3{240, 480, 480};
/// assert(text.str() == "240×480×480");
/// @endcode
CONVOLUME_API std::ostream& operator<<(std::ostream& stream, const Shape3& shape);

/// A box of positions: half-open, [begin, end), on every axis.
/// @code{.cpp}
/// const Box3 whole{{0, 0, 0}, {64, 256, 256}}, tile{{32, 128, 0}, {96, 384, 256}};
/// const Box3 common = intersection(whole, tile);
/// assert(!common.empty() && common.shape() == (Shape3{32, 128, 256}));
/// @endcode
struct Box3 {
    Index3 begin;
    Index3 end;

    Shape3 shape() const { return {end.z - begin.z, end.y - begin.y, end.x - begin.x}; }
    bool empty() const { return end.z <= begin.z || end.y <= begin.y || end.x <= begin.x; }
    friend constexpr bool operator==(const Box3&, const Box3&) = default;
};

/// Returns the box common to `a` and `b`. It is empty() if they do not meet.
CONVOLUME_API Box3 intersection(const Box3& a, const Box3& b);

/// Returns "z", "y" or "x" for axis 0, 1 or 2.
constexpr const char* axis_name(int axis) {
    return axis == 0 ? "z" : axis == 1 ? "y" : "x";
}

/// Returns a / b, rounded up, for a >= 0 and b > 0.
constexpr index_t ceil_div(index_t a, index_t b) {
    return a / b + (a % b != 0);
}
/// Returns the smallest multiple of `step` that is at least `a`, for a >= 0 and step > 0.
constexpr index_t round_up(index_t a, index_t step) {
    return ceil_div(a, step) * step;
}

/// Edge lengths of a voxel in µm.
/// @code{.cpp}
/// const VoxelSize voxel{0.2, 0.065, 0.065};  // z, y, x
/// assert(voxel[0] == voxel.z_um);
/// @endcode
struct VoxelSize {
    double z_um = 0.2;
    double y_um = 0.065;
    double x_um = 0.065;

    /// Returns the voxel's edge length in µm along axis 0, 1 or 2, which are z, y and x.
    constexpr double operator[](int axis) const {
        return axis == 0 ? z_um : axis == 1 ? y_um : x_um;
    }
    friend constexpr bool operator==(const VoxelSize&, const VoxelSize&) = default;
};

}  // namespace convolume
