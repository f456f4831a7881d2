// SPDX-License-Identifier: Apache-2.0
#include "deskew/turn.hpp"

#include <algorithm>

#include "core/threads.hpp"

namespace convolume::deskewing {

namespace {

// Edge of the squares that are copied one after the other: their rows in both images stay in cache.
constexpr index_t square = 32;

template <class T>
void turn_rows(const ConstImageView& from, const ImageView& to, index_t z, index_t first_row) {
    const index_t end_row = std::min(first_row + square, from.shape.y);
    const T* const source = static_cast<const T*>(from.at(z, 0, 0));
    T* const target = static_cast<T*>(to.at(z, 0, 0));
    for (index_t first = 0; first < from.shape.x; first += square) {
        const index_t end = std::min(first + square, from.shape.x);
        for (index_t x = first; x < end; ++x)
            for (index_t y = first_row; y < end_row; ++y)
                target[x * from.shape.y + y] = source[y * from.shape.x + x];
    }
}

}  // namespace

void turn_planes(const ConstImageView& from, const ImageView& to, int threads) {
    const index_t strips = ceil_div(from.shape.y, square);
    visit_pixel_type(from.type, [&](auto tag) {
        using T = typename decltype(tag)::type;
        parallel_for(from.shape.z * strips, threads, [&](index_t i, int) {
            turn_rows<T>(from, to, i / strips, i % strips * square);
        });
    });
}

}  // namespace convolume::deskewing
