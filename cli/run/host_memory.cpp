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

}  // namespace convolume::cli
