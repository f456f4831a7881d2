// SPDX-License-Identifier: Apache-2.0
#include "core/host_memory.hpp"

#include <algorithm>
#include <chrono>
#include <fstream>
#include <mutex>
#include <optional>
#include <sstream>
#include <string_view>
#include <vector>

#include "convolume/engines.hpp"
#include "core/machine_rates.hpp"
#include "core/system/system.hpp"
#include "core/threads.hpp"

namespace convolume {

namespace {

namespace fs = std::filesystem;

// Returns the only number in a file; nothing if the file is absent or says "max".
std::optional<index_t> number_in_file(const fs::path& path) {
    std::ifstream file(path);
    index_t number = 0;
    if (file >> number) return number;
    return {};
}

// Returns the number after `key` at the start of a line.
std::optional<index_t> number_after(const fs::path& path, std::string_view key) {
    std::ifstream file(path);
    for (std::string line; std::getline(file, line);) {
        if (!line.starts_with(key)) continue;
        std::istringstream rest(line.substr(key.size()));
        index_t number = 0;
        if (rest >> number) return number;
        return {};
    }
    return {};
}

void take_smaller(AvailableHostMemory& limit, index_t available, const std::string& rule) {
    available = std::max<index_t>(0, available);
    if (available < limit.available_bytes) limit = {available, rule};
}

// Applies a soft limit set by ulimit. What counts against it is in /proc/self/status, in KiB.
void apply_process_limit(const fs::path& root, const char* name, const char* used, const char* rule,
                         AvailableHostMemory& limit) {
    const auto limit_bytes = number_after(root / "proc/self/limits", name);
    const auto used_kib = number_after(root / "proc/self/status", used);
    if (limit_bytes && used_kib) take_smaller(limit, *limit_bytes - *used_kib * 1024, rule);
}

// A version of control groups, and the names of the files in its folders.
struct GroupHierarchy {
    std::string_view controller;  // name in /proc/self/cgroup, and option of the mount
    std::string_view type;        // type of the file system
    std::vector<const char*> limits;
    const char* usage;
    const char* reclaimable;  // key in memory.stat
};

const GroupHierarchy& cgroup_version1() {
    static const GroupHierarchy hierarchy{"memory",
                                          "cgroup",
                                          {"memory.limit_in_bytes"},
                                          "memory.usage_in_bytes",
                                          "total_inactive_file "};
    return hierarchy;
}
const GroupHierarchy& cgroup_version2() {
    static const GroupHierarchy hierarchy{
        "", "cgroup2", {"memory.max", "memory.high"}, "memory.current", "inactive_file "};
    return hierarchy;
}

bool has_word(const std::string& words, std::string_view word) {
    std::istringstream list(words);
    for (std::string one; std::getline(list, one, ',');)
        if (one == word) return true;
    return word.empty() && words.empty();
}

// Returns the group of this process. Lines are "number:controllers:/path".
std::optional<std::string> own_group(const fs::path& root, const GroupHierarchy& hierarchy) {
    std::ifstream file(root / "proc/self/cgroup");
    for (std::string line; std::getline(file, line);) {
        const auto first = line.find(':');
        const auto second = line.find(':', first + 1);
        if (first == std::string::npos || second == std::string::npos) continue;
        if (has_word(line.substr(first + 1, second - first - 1), hierarchy.controller))
            return line.substr(second + 1);
    }
    return {};
}

struct GroupMount {
    std::string root;  // control group whose hierarchy is mounted
    fs::path point;
};

// Returns the mount of the hierarchy. A line of mountinfo has six words (the fourth is the root,
// the fifth the mount point), more words, "-", type, device, options.
std::optional<GroupMount> find_mount(const fs::path& root, const GroupHierarchy& hierarchy) {
    std::ifstream file(root / "proc/self/mountinfo");
    for (std::string line; std::getline(file, line);) {
        const auto dash = line.find(" - ");
        if (dash == std::string::npos) continue;
        std::istringstream tail(line.substr(dash + 3));
        std::string type, device, options;
        tail >> type >> device >> options;
        if (type != hierarchy.type) continue;
        if (!hierarchy.controller.empty() && !has_word(options, hierarchy.controller)) continue;
        std::istringstream head(line);
        std::string skipped, group, point;
        head >> skipped >> skipped >> skipped >> group >> point;
        return GroupMount{group, point};
    }
    return {};
}

// Returns the path of a group below its mount point. In a container, a subtree of the hierarchy may
// be mounted as if it were the whole.
fs::path below_mount(const std::string& group, const std::string& mounted) {
    if (mounted == "/") return fs::path(group).relative_path();
    const bool inside = group.starts_with(mounted) &&
                        (group.size() == mounted.size() || group[mounted.size()] == '/');
    return inside ? fs::path(group.substr(mounted.size())).relative_path() : fs::path();
}

void apply_group_limits(const fs::path& root, const GroupHierarchy& hierarchy,
                        AvailableHostMemory& limit) {
    const auto group = own_group(root, hierarchy);
    const auto mount = find_mount(root, hierarchy);
    if (!group || !mount) return;
    const auto apply = [&](const fs::path& folder) {
        const fs::path here = root / folder.relative_path();
        const auto used = number_in_file(here / hierarchy.usage);
        if (!used) return;
        const index_t cache = number_after(here / "memory.stat", hierarchy.reclaimable).value_or(0);
        for (const char* const name : hierarchy.limits)
            if (const auto limit_bytes = number_in_file(here / name))
                take_smaller(limit, *limit_bytes - std::max<index_t>(0, *used - cache),
                             std::string(name) + " of " + folder.string());
    };
    fs::path folder = mount->point;
    apply(folder);
    for (const fs::path& step : below_mount(*group, mount->root)) {
        if (step == "..") return;  // the group is outside the mounted subtree
        folder /= step;
        apply(folder);
    }
}

}  // namespace

AvailableHostMemory available_host_memory(const fs::path& root) {
    // If the available memory cannot be read: half the memory of a common desktop.
    AvailableHostMemory limit{index_t{8} << 30, "an assumption: /proc/meminfo cannot be read"};
    if (const index_t free = system::free_memory(); free > 0)
        limit = {free, "the system's available memory"};
    if (const auto kib = number_after(root / "proc/meminfo", "MemAvailable:"))
        limit = {*kib * 1024, "the system's available memory"};
    apply_process_limit(root, "Max address space", "VmSize:", "RLIMIT_AS (ulimit -v)", limit);
    apply_process_limit(root, "Max data size", "VmData:", "RLIMIT_DATA (ulimit -d)", limit);
    apply_group_limits(root, cgroup_version1(), limit);
    apply_group_limits(root, cgroup_version2(), limit);
    return limit;
}

index_t available_host_bytes() {
    // Reading some twenty files takes as long as planning a small convolution. Within 20 ms a
    // program can fill only some 100 MB.
    constexpr auto max_age = std::chrono::milliseconds(20);
    using Clock = std::chrono::steady_clock;
    static std::mutex mutex;
    static std::optional<Clock::time_point> read_at;
    static index_t bytes = 0;
    const std::lock_guard lock(mutex);
    if (!read_at || Clock::now() - *read_at > max_age) {
        bytes = available_host_memory().available_bytes;
        read_at = Clock::now();
    }
    return bytes;
}

HostResources host_resources() {
    const AvailableHostMemory memory = available_host_memory();
    return {processor_name(), thread_count(0), memory.available_bytes, memory.rule,
            thread_backend()};
}

index_t host_limit_bytes(const std::optional<index_t>& chosen) {
    return chosen ? *chosen : available_host_bytes() / 4 * 3;
}

}  // namespace convolume
