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

}  // namespace convolume
