// SPDX-License-Identifier: Apache-2.0
#pragma once
// Division of a kernel's taps into tap groups, and the taps in that order.

#include <array>
#include <type_traits>
#include <utility>
#include <vector>

#include "convolume/error.hpp"
#include "core/engine.hpp"
#include "gpu/volumes/direct/direct_job.hpp"

namespace convolume::gpu {

/// Widths and heights of tap groups for which CUDA kernels are compiled: exact for common cubes in
/// microscopy, and close for all others. More than one group along x needs whole packs.
template <class T>
constexpr auto group_widths() {
    if constexpr (std::is_same_v<T, float>)
        return std::array{1, 3, 4, 5, 7, 8, 9};
    else if constexpr (std::is_same_v<T, double>)
        return std::array{1, 3, 4, 5, 7};
    else
        return std::array{1, 3, 4};
}
template <class T>
constexpr auto group_heights() {
    if constexpr (std::is_same_v<T, float>)
        return std::array{1, 3, 4, 5, 7};
    else if constexpr (std::is_same_v<T, double>)
        return std::array{1, 3, 5};
    else
        return std::array{1, 3};
}

/// Calls f(T{}) with the type of a block's samples.
template <class F>
decltype(auto) with_sample(const Block& block, const F& f) {
    const bool single = block.precision == Precision::float32;
    if (block.complex_data) return single ? f(Complex<float>{}) : f(Complex<double>{});
    return single ? f(float{}) : f(double{});
}

/// Calls f(w, h) with the width and height as constants.
template <class T, class F>
void with_tap_group(const TapLayout& layout, const F& f) {
    constexpr auto widths = group_widths<T>();
    constexpr auto heights = group_heights<T>();
    bool found = false;
    const auto consider = [&]<std::size_t i>(std::integral_constant<std::size_t, i>) {
        constexpr int width = widths[i % widths.size()], height = heights[i / widths.size()];
        if (width != layout.width || height != layout.height) return;
        found = true;
        f(std::integral_constant<int, width>{}, std::integral_constant<int, height>{});
    };
    [&]<std::size_t... i>(std::index_sequence<i...>) {
        (consider(std::integral_constant<std::size_t, i>{}), ...);
    }
    (std::make_index_sequence<widths.size() * heights.size()>{});
    if (!found)
        throw InternalError(
            message("no CUDA kernel for tap groups of ", layout.height, " × ", layout.width));
}

/// Returns the layout with the fewest cycles for a kernel of that shape.
template <class T>
TapLayout tap_layout(const Shape3& kernel);

/// Returns the cycles of a multiprocessor that a warp takes for the products of one of its planes
/// of outputs with one plane of taps. On an H200 this is within 15 % of measurements for cubes of 3
/// to 7 taps, apart from memory.
template <class T>
double tap_plane_cycles(const TapLayout& layout);

/// Returns `taps` (contiguous samples of type T), flipped and in the layout's order.
template <class T>
std::vector<Pack<T>> arrange_taps(const TapLayout& layout, const void* taps, const Shape3& shape);

}  // namespace convolume::gpu
