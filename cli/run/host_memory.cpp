// SPDX-License-Identifier: Apache-2.0
#include "cli/run/host_memory.hpp"

#include "convolume/engines.hpp"

namespace convolume::cli {

index_t host_limit_bytes(const std::optional<index_t>& asked) {
    return asked ? *asked : host_resources().available_bytes / 4 * 3;
}

index_t bytes_of(const StackFormat& format) {
    return checked_multiply(checked_multiply(element_count(format.shape), format.volumes()),
                            static_cast<index_t>(size_of(format.type)));
}

ScratchImage::Place place_of_image(index_t bytes, index_t limit, bool quarter_left) {
    return quarter_left && bytes <= limit / 4 ? ScratchImage::Place::memory
                                              : ScratchImage::Place::file;
}

}  // namespace convolume::cli
