// SPDX-License-Identifier: Apache-2.0
// A library to be loaded before a program (LD_PRELOAD): makes reads of one file fail. After
// CONVOLUME_FAULT_AFTER reads of files whose path ends in CONVOLUME_FAULT_FILE, each read returns 0
// bytes, as if the file had become shorter, or with CONVOLUME_FAULT=error the error EIO.

#include <dlfcn.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string>

namespace {

const char* setting(const char* name) {
    const char* const value = std::getenv(name);
    return value ? value : "";
}

bool is_meant(int descriptor) {
    char path[4096];
    const std::string link = "/proc/self/fd/" + std::to_string(descriptor);
    const ssize_t length = ::readlink(link.c_str(), path, sizeof path);
    const char* const ending = setting("CONVOLUME_FAULT_FILE");
    const auto wanted = static_cast<ssize_t>(std::strlen(ending));
    return wanted > 0 && length >= wanted &&
           std::memcmp(path + length - wanted, ending, static_cast<std::size_t>(wanted)) == 0;
}

bool fails(int descriptor) {
    static std::atomic<int> left{std::atoi(setting("CONVOLUME_FAULT_AFTER"))};
    return is_meant(descriptor) && left.fetch_sub(1) <= 0;
}

using Read = ssize_t (*)(int, void*, size_t, off_t);

ssize_t read_or_fail(const char* name, int descriptor, void* to, size_t bytes, off_t offset) {
    if (fails(descriptor)) {
        if (std::strcmp(setting("CONVOLUME_FAULT"), "error") != 0) return 0;
        errno = EIO;
        return -1;
    }
    return reinterpret_cast<Read>(::dlsym(RTLD_NEXT, name))(descriptor, to, bytes, offset);
}

}  // namespace

extern "C" {
[[gnu::visibility("default")]] ssize_t pread(int descriptor, void* to, size_t bytes, off_t offset) {
    return read_or_fail("pread", descriptor, to, bytes, offset);
}
[[gnu::visibility("default")]] ssize_t pread64(int descriptor, void* to, size_t bytes,
                                               off_t offset) {
    return read_or_fail("pread64", descriptor, to, bytes, offset);
}
}
