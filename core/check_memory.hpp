// SPDX-License-Identifier: Apache-2.0
#pragma once
// Rejects null arrays of callers.

#include "convolume/image_view.hpp"

namespace convolume {

/// Throws InvalidArgument where `view` has elements but no memory; `what` is "the kernel", say.
inline void check_memory(const ConstImageView& view, const std::string& what) {
    if (view.data == nullptr && element_count(view.shape) > 0)
        throw InvalidArgument(
            message(what, " points to no memory (null): give the address of its first element"));
}

/// Throws InvalidArgument where one of the two is null; names are "input" and "output", say.
inline void check_memory(const void* from, const char* from_name, const void* to,
                         const char* to_name) {
    if (from == nullptr || to == nullptr)
        throw InvalidArgument(message("the ", from == nullptr ? from_name : to_name,
                                      " points to no memory (null): allocate it first"));
}

}  // namespace convolume
