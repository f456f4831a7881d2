// SPDX-License-Identifier: Apache-2.0
#pragma once
// Checks of the extents and the memory of callers' arrays, and loops over rows of any type.

#include <algorithm>
#include <type_traits>

#include "convolume/image_view.hpp"
#include "core/threads.hpp"

namespace convolume {

/// Throws InvalidArgument if an array has no samples. `what` names it, for example "the kernel".
inline void check_not_empty(const Shape3& shape, const char* what) {
    for (int a = 0; a < 3; ++a)
        if (shape[a] < 1)
            throw InvalidArgument(message(what, "'s extent along ", axis_name(a), " is ", shape[a],
                                          ": it needs at least 1 sample on every axis"));
}

/// Throws InvalidArgument if `view` has elements but no memory. `what` names it, for example "the
/// kernel".
inline void check_memory(const ConstImageView& view, const std::string& what) {
    if (view.data == nullptr && element_count(view.shape) > 0)
        throw InvalidArgument(
            message(what, " points to no memory (null): give the address of its first element"));
}

/// Throws InvalidArgument if `from` or `to` is null. Their names are, for example, "input" and
/// "output".
inline void check_memory(const void* from, const char* from_name, const void* to,
                         const char* to_name) {
    if (from == nullptr || to == nullptr)
        throw InvalidArgument(message("the ", from == nullptr ? from_name : to_name,
                                      " points to no memory (null): allocate it first"));
}

/// Returns the number of groups of rows, of about 64 Ki samples each, that threads share. It
/// depends on the shape alone, so that sums over groups do not depend on the number of threads.
inline index_t row_groups(const Shape3& shape) {
    constexpr index_t group_samples = index_t{1} << 16;
    const index_t rows = shape.z * shape.y;
    return std::clamp(rows * shape.x / group_samples, std::min<index_t>(rows, 1), rows);
}

/// Calls f(row, stride, z, y, group) for every row of the view. `row` points to its first sample,
/// of the view's pixel type, and further ones are `stride` apart. The type of `stride` is
/// std::integral_constant if that is 1, so that loops over adjacent samples are vectorized.
///
/// `groups` is at most the number of rows. The rows of a group are consecutive, and visited in
/// order by one thread. Up to `threads` threads share the groups. Throws Cancelled.
template <class F>
void for_each_row(const ConstImageView& view, index_t groups, int threads, const F& f) {
    const index_t height = view.shape.y, rows = view.shape.z * height;
    visit_pixel_type(view.type, [&](auto tag) {
        using T = typename decltype(tag)::type;
        const auto run = [&](auto stride) {
            parallel_for(groups, threads, [&](index_t group, int) {
                for (index_t row = group * rows / groups; row < (group + 1) * rows / groups;
                     ++row) {
                    const index_t z = row / height, y = row % height;
                    f(static_cast<const T*>(view.at(z, y, 0)), stride, z, y, group);
                }
            });
        };
        if (view.strides.x == 1)
            run(std::integral_constant<index_t, 1>());
        else
            run(view.strides.x);
    });
}

}  // namespace convolume
