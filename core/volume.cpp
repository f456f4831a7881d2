// SPDX-License-Identifier: Apache-2.0
#include "convolume/volume.hpp"

#include "core/threads.hpp"

namespace convolume {

Volume::Volume(const Shape3& shape, PixelType type, HostMemory memory)
    : buffer_(checked_multiply(element_count(shape), static_cast<index_t>(size_of(type))),
              "a volume"),
      shape_(shape),
      type_(type) {
    buffer_.touch(thread_count(0));
    if (memory == HostMemory::page_locked) buffer_.lock_pages();
}

void Volume::check_type(PixelType asked) const {
    if (asked != type_)
        throw InvalidArgument(
            message("a volume of ", to_string(type_), " was read as ", to_string(asked)));
}

}  // namespace convolume
