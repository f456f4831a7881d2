// SPDX-License-Identifier: Apache-2.0
// A library to be loaded before a program (LD_PRELOAD): makes calls that write files fail. Call
// number CONVOLUME_FAULT_AFTER of the function CONVOLUME_FAULT_CALL (pwrite, write, fsync, rename,
// close, ftruncate, fallocate), counted over files whose path contains "out", returns the error
// CONVOLUME_FAULT_ERROR (a number, default EIO), or with CONVOLUME_FAULT=short writes half. With
// CONVOLUME_FAULT=zero that call and all later ones write nothing.

#include <dlfcn.h>
#include <fcntl.h>
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

bool is_output(const char* path) {
    return std::strstr(path, "out") != nullptr;
}

bool is_output(int descriptor) {
    char path[4096];
    const std::string link = "/proc/self/fd/" + std::to_string(descriptor);
    const ssize_t length = ::readlink(link.c_str(), path, sizeof path - 1);
    if (length < 0) return false;
    path[length] = '\0';
    return is_output(path);
}

bool is(const char* fault) {
    return std::strcmp(setting("CONVOLUME_FAULT"), fault) == 0;
}

template <class File>
bool fails(const char* call, File file) {
    static std::atomic<int> left{std::atoi(setting("CONVOLUME_FAULT_AFTER"))};
    return std::strcmp(setting("CONVOLUME_FAULT_CALL"), call) == 0 && is_output(file) &&
           (is("zero") ? left.fetch_sub(1) <= 0 : left.fetch_sub(1) == 0);
}

template <class Result>
Result error() {
    const int wanted = std::atoi(setting("CONVOLUME_FAULT_ERROR"));
    errno = wanted > 0 ? wanted : EIO;
    return -1;
}

template <class Function>
Function next(const char* name) {
    return reinterpret_cast<Function>(::dlsym(RTLD_NEXT, name));
}

ssize_t positioned(const char* name, int file, const void* from, size_t bytes, off_t at) {
    if (fails("pwrite", file)) {
        if (is("zero")) return 0;
        if (!is("short")) return error<ssize_t>();
        bytes = (bytes + 1) / 2;
    }
    return next<ssize_t (*)(int, const void*, size_t, off_t)>(name)(file, from, bytes, at);
}

int renamed(const char* name, int from_folder, const char* from, int to_folder, const char* to) {
    if (fails("rename", to)) return error<int>();
    return next<int (*)(int, const char*, int, const char*)>(name)(from_folder, from, to_folder,
                                                                   to);
}

}  // namespace

extern "C" {
#define EXPORTED [[gnu::visibility("default")]]
EXPORTED ssize_t pwrite(int file, const void* from, size_t bytes, off_t at) {
    return positioned("pwrite", file, from, bytes, at);
}
EXPORTED ssize_t pwrite64(int file, const void* from, size_t bytes, off_t at) {
    return positioned("pwrite64", file, from, bytes, at);
}
EXPORTED ssize_t write(int file, const void* from, size_t bytes) {
    if (fails("write", file)) {
        if (!is("short")) return error<ssize_t>();
        bytes = (bytes + 1) / 2;
    }
    return next<ssize_t (*)(int, const void*, size_t)>("write")(file, from, bytes);
}
EXPORTED int fsync(int file) {
    return fails("fsync", file) ? error<int>() : next<int (*)(int)>("fsync")(file);
}
EXPORTED int fdatasync(int file) {
    return fails("fsync", file) ? error<int>() : next<int (*)(int)>("fdatasync")(file);
}
EXPORTED int close(int file) {
    const bool failing = fails("close", file);
    const int closed = next<int (*)(int)>("close")(file);
    return failing ? error<int>() : closed;
}
EXPORTED int ftruncate(int file, off_t bytes) {
    return fails("ftruncate", file) ? error<int>()
                                    : next<int (*)(int, off_t)>("ftruncate")(file, bytes);
}
EXPORTED int ftruncate64(int file, off_t bytes) {
    return fails("ftruncate", file) ? error<int>()
                                    : next<int (*)(int, off_t)>("ftruncate64")(file, bytes);
}
EXPORTED int rename(const char* from, const char* to) {
    return fails("rename", to) ? error<int>()
                               : next<int (*)(const char*, const char*)>("rename")(from, to);
}
EXPORTED int renameat2(int from_folder, const char* from, int to_folder, const char* to,
                       unsigned flags) {
    if (fails("rename", to)) return error<int>();
    return next<int (*)(int, const char*, int, const char*, unsigned)>("renameat2")(
        from_folder, from, to_folder, to, flags);
}
EXPORTED int renameat(int from_folder, const char* from, int to_folder, const char* to) {
    return renamed("renameat", from_folder, from, to_folder, to);
}
EXPORTED int link(const char* from, const char* to) {
    return fails("rename", to) ? error<int>()
                               : next<int (*)(const char*, const char*)>("link")(from, to);
}
EXPORTED int linkat(int from_folder, const char* from, int to_folder, const char* to, int flags) {
    if (fails("rename", to)) return error<int>();
    return next<int (*)(int, const char*, int, const char*, int)>("linkat")(from_folder, from,
                                                                            to_folder, to, flags);
}
}
