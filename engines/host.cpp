// SPDX-License-Identifier: Apache-2.0
#include "convolume/engines.hpp"
#include "core/host_memory.hpp"
#include "core/machine_rates.hpp"
#include "core/threads.hpp"

namespace convolume {

HostResources host_resources() {
    const HostMemoryLimit memory = host_memory_limit();
    return {processor_name(), thread_count(0), memory.available_bytes, memory.rule};
}

index_t host_limit_bytes(const std::optional<index_t>& chosen) {
    return chosen ? *chosen : available_host_bytes() / 4 * 3;
}

}  // namespace convolume
