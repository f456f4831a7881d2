// SPDX-License-Identifier: Apache-2.0
#include <dlfcn.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <malloc.h>
#include <math.h>  // the Bessel functions are POSIX's, not the C++ library's
#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>

#include "core/system/system.hpp"

namespace convolume::system {

int usable_processors() {
    cpu_set_t set;
    // Fails if the machine has more processors than the set can represent.
    return sched_getaffinity(0, sizeof(set), &set) == 0 ? std::max(1, CPU_COUNT(&set)) : 0;
}

index_t free_memory() {
    return 0;
}

void return_freed_memory() noexcept {
#ifdef __GLIBC__
    ::malloc_trim(0);
#endif
}

int process_id() {
    return getpid();
}

bool has_other_threads() {
    struct stat folder = {};
    // The folder has two links, and one for each thread.
    return stat("/proc/self/task", &folder) != 0 || folder.st_nlink != 3;
}

void on_fork(void (*before)(), void (*in_child)()) {
    pthread_atfork(before, nullptr, in_child);
}

double bessel_j0(double x) {
    return ::j0(x);
}

double bessel_j1(double x) {
    return ::j1(x);
}

ThreadPointer::ThreadPointer(void (*release)(void*)) noexcept
    : has_key_(pthread_key_create(&key_, release) == 0) {}

ThreadPointer::~ThreadPointer() {
    if (has_key_) pthread_key_delete(key_);
}

bool ThreadPointer::set(void* value) noexcept {
    return has_key_ && pthread_setspecific(key_, value) == 0;
}

LoadedLibrary load_library(const std::string& path) {
    void* const handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle != nullptr) return {handle};
    const char* const why = dlerror();
    return {nullptr, why != nullptr ? why : "the system does not say why"};
}

void* function_of(const LoadedLibrary& library, const char* name) noexcept {
    return dlsym(library.handle, name);
}

char path_separator() noexcept {
    return ':';
}

void* allocate_aligned(index_t bytes, index_t alignment) {
    return std::aligned_alloc(static_cast<std::size_t>(alignment), static_cast<std::size_t>(bytes));
}

void free_aligned(void* memory) noexcept {
    std::free(memory);
}

void* map_memory(index_t bytes, index_t alignment) {
    const auto padded = static_cast<std::size_t>(bytes + alignment);
    void* const region =
        mmap(nullptr, padded, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (region == MAP_FAILED) return nullptr;
    char* const begin = static_cast<char*>(region);
    char* const end = begin + padded;
    const auto step = static_cast<std::uintptr_t>(alignment);
    const auto misalignment = reinterpret_cast<std::uintptr_t>(begin) % step;
    char* const aligned = begin + (misalignment ? step - misalignment : 0);
    if (aligned > begin) munmap(begin, static_cast<std::size_t>(aligned - begin));
    if (aligned + bytes < end)
        munmap(aligned + bytes, static_cast<std::size_t>(end - aligned - bytes));
    madvise(aligned, static_cast<std::size_t>(bytes),
            MADV_HUGEPAGE);  // a refused advice is no error
    return aligned;
}

void unmap_memory(void* memory, index_t bytes) noexcept {
    munmap(memory, static_cast<std::size_t>(bytes));
}

int open_nameless_file(const std::string& folder) {
    const int descriptor = ::open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (descriptor >= 0) return descriptor;
    // Some file systems lack O_TMPFILE: there the file has a name until it is open.
    std::string name = folder + "/.convolume-XXXXXX";
    const int named = ::mkostemp(name.data(), O_CLOEXEC);
    if (named >= 0) ::unlink(name.c_str());
    return named;
}

bool is_in_memory(const std::string& folder) {
    struct statfs system;
    return ::statfs(folder.c_str(), &system) == 0 &&
           (system.f_type == TMPFS_MAGIC || system.f_type == RAMFS_MAGIC);
}

int reserve_space(int file, index_t offset, index_t bytes) {
    return ::posix_fallocate(file, offset, bytes);
}

index_t read_at(int file, void* target, std::size_t bytes, index_t offset) {
    return ::pread(file, target, bytes, offset);
}

index_t write_at(int file, const void* source, std::size_t bytes, index_t offset) {
    return ::pwrite(file, source, bytes, offset);
}

void* map_file(int file, index_t bytes) {
    void* const memory =
        mmap(nullptr, static_cast<std::size_t>(bytes), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    return memory == MAP_FAILED ? nullptr : memory;
}

void unmap_file(void* memory, index_t bytes) noexcept {
    munmap(memory, static_cast<std::size_t>(bytes));
}

void release_file_pages(void* memory, index_t bytes) noexcept {
    madvise(memory, static_cast<std::size_t>(bytes), MADV_DONTNEED);
}

int sync_file(int file) {
    return ::fsync(file);
}

void close_file(int file) noexcept {
    ::close(file);
}

}  // namespace convolume::system
