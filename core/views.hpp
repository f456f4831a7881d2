// SPDX-License-Identifier: Apache-2.0
#pragma once
// Checks of callers' arrays for null pointers, and loops over samples of any type.

#include "convolume/image_view.hpp"
#include "core/stop_scope.hpp"

namespace convolume {

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

/// Calls f(sample, {z, y, x}) for every sample; `sample` has the view's pixel type. Throws
/// Cancelled.
template <class F>
void for_each_sample(const ConstImageView& view, const F& f) {
    visit_pixel_type(view.type, [&](auto tag) {
        using T = typename decltype(tag)::type;
        for (index_t z = 0; z < view.shape.z; ++z) {
            throw_if_stopped();
            for (index_t y = 0; y < view.shape.y; ++y) {
                const T* const row = static_cast<const T*>(view.at(z, y, 0));
                for (index_t x = 0; x < view.shape.x; ++x)
                    f(row[x * view.strides.x], Index3{z, y, x});
            }
        }
    });
}

}  // namespace convolume
