// SPDX-License-Identifier: Apache-2.0
#include "core/host_memory.hpp"

#include <algorithm>
#include <fstream>
#include <limits>
#include <optional>
#include <string>
#include <utility>

namespace convolume {

namespace {

std::optional<index_t> number_in(const char* path) {
    std::ifstream file(path);
    index_t number = 0;
    if (file >> number) return number;
    return {};  // absent, or the word "max"
}

}  // namespace

index_t available_host_bytes() {
    index_t available = index_t{8} << 30;  // an unknown system: a common desktop's half
    std::ifstream meminfo("/proc/meminfo");
    std::string key;
    index_t kib = 0;
    while (meminfo >> key >> kib) {
        if (key == "MemAvailable:") {
            available = kib * 1024;
            break;
        }
        meminfo.ignore(std::numeric_limits<std::streamsize>::max(), '\n');
    }
    for (const auto& [limit_file, use_file] :
         {std::pair{"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current"},
          {"/sys/fs/cgroup/memory/memory.limit_in_bytes",
           "/sys/fs/cgroup/memory/memory.usage_in_bytes"}}) {
        const auto limit = number_in(limit_file);
        const auto use = number_in(use_file);
        if (limit && use) available = std::min(available, std::max<index_t>(0, *limit - *use));
    }
    return available;
}

}  // namespace convolume
