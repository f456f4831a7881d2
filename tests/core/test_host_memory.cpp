// SPDX-License-Identifier: Apache-2.0
// Limits on memory, read from folders that imitate /proc and /sys.

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "core/host_memory.hpp"
#include "tests/catch.hpp"
#include "tests/support/array.hpp"
#include "tests/support/temporary_folder.hpp"

using namespace convolume;
using testing::mib;
namespace fs = std::filesystem;

namespace {

class FakeSystem {
  public:
    FakeSystem() {
        write("proc/meminfo", "MemTotal: 16777216 kB\nMemFree: 1 kB\nMemAvailable: 8388608 kB\n");
    }

    void write(const std::string& path, const std::string& text) const {
        const fs::path file = root_ / path;
        fs::create_directories(file.parent_path());
        std::ofstream(file) << text;
    }
    void group(const std::string& path, const std::string& most, const std::string& high,
               index_t used, index_t cache) const {
        write(path + "/memory.max", most + "\n");
        write(path + "/memory.high", high + "\n");
        write(path + "/memory.current", std::to_string(used) + "\n");
        write(path + "/memory.stat",
              "anon 1\nactive_file 5\ninactive_file " + std::to_string(cache) + "\nslab 7\n");
    }
    void version2(const std::string& group, const std::string& mounted = "/") const {
        write("proc/self/cgroup", "0::" + group + "\n");
        write("proc/self/mountinfo",
              "22 1 0:20 / /proc rw shared:5 - proc proc rw\n"
              "30 24 0:26 " +
                  mounted + " /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n");
    }
    AvailableHostMemory limit() const { return available_host_memory(root_.path()); }

  private:
    testing::TemporaryFolder root_;
};

std::string text(index_t number) {
    return std::to_string(number);
}

}  // namespace

TEST_CASE("without limits, the system's available memory is the limit") {
    const FakeSystem system;
    CHECK(system.limit().available_bytes == 8192 * mib);
    CHECK(system.limit().rule == "the system's available memory");
}

TEST_CASE("limits of the process are reduced by what it uses") {
    const FakeSystem system;
    system.write("proc/self/status", "Name:\tx\nVmSize:\t  102400 kB\nVmData:\t   51200 kB\n");
    const std::string header = "Limit            Soft Limit   Hard Limit   Units\n";
    system.write("proc/self/limits", header + "Max data size     unlimited  unlimited  bytes\n" +
                                         "Max address space  " + text(400 * mib) +
                                         "  unlimited  bytes\n");
    CHECK(system.limit().available_bytes == 300 * mib);
    CHECK(system.limit().rule == "RLIMIT_AS (ulimit -v)");

    system.write("proc/self/limits", header + "Max data size  " + text(200 * mib) +
                                         "  unlimited  bytes\n" + "Max address space  " +
                                         text(400 * mib) + "  unlimited  bytes\n");
    CHECK(system.limit().available_bytes == 150 * mib);
    CHECK(system.limit().rule == "RLIMIT_DATA (ulimit -d)");

    system.write("proc/self/limits", header + "Max data size  1000  unlimited  bytes\n");
    CHECK(system.limit().available_bytes == 0);
}

TEST_CASE("cgroup v2: the groups from the process to the root limit it, not counting file caches") {
    const FakeSystem system;
    system.version2("/batch/job");
    system.group("sys/fs/cgroup/batch/job", text(1000 * mib), "max", 300 * mib, 200 * mib);
    system.group("sys/fs/cgroup/batch", "max", "max", 300 * mib, 200 * mib);
    CHECK(system.limit().available_bytes == 900 * mib);
    CHECK(system.limit().rule == "memory.max of /sys/fs/cgroup/batch/job");

    system.group("sys/fs/cgroup/batch", text(700 * mib), "max", 500 * mib, 0);
    CHECK(system.limit().available_bytes == 200 * mib);
    CHECK(system.limit().rule == "memory.max of /sys/fs/cgroup/batch");

    system.group("sys/fs/cgroup/batch/job", text(1000 * mib), text(350 * mib), 300 * mib,
                 100 * mib);
    CHECK(system.limit().available_bytes == 150 * mib);
    CHECK(system.limit().rule == "memory.high of /sys/fs/cgroup/batch/job");

    // The limit of a group without this process has no effect.
    system.group("sys/fs/cgroup/other", text(1), "max", 0, 0);
    CHECK(system.limit().available_bytes == 150 * mib);
}

TEST_CASE("cgroup v2: a container sees its own group as the root") {
    const FakeSystem system;
    system.group("sys/fs/cgroup", text(500 * mib), "max", 100 * mib, 0);
    for (const char* group : {"/", "/../outside"}) {
        system.version2(group);
        CHECK(system.limit().available_bytes == 400 * mib);
        CHECK(system.limit().rule == "memory.max of /sys/fs/cgroup");
    }
    system.version2("/docker/123", "/docker/123");
    CHECK(system.limit().available_bytes == 400 * mib);
}

TEST_CASE("cgroup v1: the memory controller's hierarchy sets the limit") {
    const FakeSystem system;
    system.write("proc/self/cgroup",
                 "12:cpu,cpuacct:/elsewhere\n5:memory:/slurm/job_1\n1:name=systemd:/\n0::/\n");
    system.write("proc/self/mountinfo",
                 "31 30 0:27 / /sys/fs/cgroup/cpu rw shared:9 - cgroup cgroup rw,cpu,cpuacct\n"
                 "32 30 0:28 / /sys/fs/cgroup/memory rw shared:9 - cgroup cgroup rw,memory\n");
    const std::string job = "sys/fs/cgroup/memory/slurm/job_1";
    system.write(job + "/memory.limit_in_bytes", text(600 * mib));
    system.write(job + "/memory.usage_in_bytes", text(150 * mib));
    system.write(job + "/memory.stat",
                 "inactive_file 1\ntotal_inactive_file " + text(50 * mib) + "\n");
    // A group without a limit: Linux reports this number for it.
    system.write("sys/fs/cgroup/memory/slurm/memory.limit_in_bytes", "9223372036854771712\n");
    system.write("sys/fs/cgroup/memory/slurm/memory.usage_in_bytes", text(150 * mib));
    CHECK(system.limit().available_bytes == 500 * mib);
    CHECK(system.limit().rule == "memory.limit_in_bytes of /sys/fs/cgroup/memory/slurm/job_1");
}

TEST_CASE("files that are damaged or absent set no limit") {
    const FakeSystem system;
    for (const char* text : {"", "\n", "0", "0:", "0::", "::::", "x"}) {
        system.write("proc/self/cgroup", text);
        system.write("proc/self/mountinfo", text);
        system.write("proc/self/limits", "Max address space\nMax data size -\n");
        system.write("proc/self/status", "VmSize:\nVmData: x kB\n");
        CHECK(system.limit().available_bytes == 8192 * mib);
    }
    system.write("proc/meminfo", "");
    CHECK(system.limit().available_bytes == 8192 * mib);
}

TEST_CASE("a limit on address space from setrlimit() is found") {
    const pid_t child = fork();
    if (child == 0) {
        const rlimit limit{rlim_t{3} << 30, RLIM_INFINITY};
        if (setrlimit(RLIMIT_AS, &limit) != 0) _exit(2);
        _exit(available_host_memory().available_bytes < index_t{3} << 30 ? 0 : 1);
    }
    int status = -1;
    REQUIRE(waitpid(child, &status, 0) == child);
    CHECK(status == 0);
}
