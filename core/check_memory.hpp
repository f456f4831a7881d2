// SPDX-License-Identifier: Apache-2.0
#pragma once
// Arrays of callers that must have memory.

#include "convolume/image_view.hpp"

namespace convolume {

/// Throws InvalidArgument where `view` has elements but no memory; `what` is "the kernel", say.
inline void check_memory(const ConstImageView& view, const std::string& what) {
    if (view.data == nullptr && element_count(view.shape) > 0)
        throw InvalidArgument(
            message(what, " points to no memory (null): give the address of its first element"));
}

}  // namespace convolume
