// SPDX-License-Identifier: Apache-2.0
// A library to be loaded before a program (LD_PRELOAD): makes allocations of memory fail, from the
// beginning of main() on. The one that fails is number CONVOLUME_FAULT_ALLOCATION, and with
// CONVOLUME_FAULT=onward all later ones, too. Counted are malloc, operator new and similar
// functions, and anonymous mappings. CONVOLUME_FAULT_COUNT names a file that gets the number of
// allocations when the program ends.
//
// With CONVOLUME_FAULT_LARGEST, no allocation fails: the sizes of those with more bytes than that
// are written to the file CONVOLUME_FAULT_COUNT.

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

extern "C" {
void* __libc_malloc(size_t);
void* __libc_calloc(size_t, size_t);
void* __libc_realloc(void*, size_t);
void* __libc_memalign(size_t, size_t);
}

namespace {

std::atomic<bool> counting{false};
std::atomic<long> made{0};
long failing = 0;
bool onward = false;

bool fails() {
    if (!counting.load(std::memory_order_relaxed)) return false;
    const long number = made.fetch_add(1) + 1;
    const bool chosen = failing > 0 && (onward ? number >= failing : number == failing);
    if (chosen) errno = ENOMEM;
    return chosen;
}

long number_of(const char* name) {
    const char* const value = std::getenv(name);
    return value ? std::atol(value) : 0;
}

void write_count() {
    counting = false;
    const char* const path = std::getenv("CONVOLUME_FAULT_COUNT");
    if (!path) return;
    char text[32];
    const int length = std::snprintf(text, sizeof text, "%ld\n", made.load());
    const int file = ::open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    if (file < 0) return;
    if (::write(file, text, static_cast<size_t>(length)) < 0) errno = 0;
    ::close(file);
}

using Main = int (*)(int, char**, char**);
Main program = nullptr;

int counted_main(int count, char** arguments, char** environment) {
    failing = number_of("CONVOLUME_FAULT_ALLOCATION");
    const char* const kind = std::getenv("CONVOLUME_FAULT");
    onward = kind && std::strcmp(kind, "onward") == 0;
    counting = true;
    const int code = program(count, arguments, environment);
    write_count();
    return code;
}

}  // namespace

extern "C" {

[[gnu::visibility("default")]] int __libc_start_main(Main main, int count, char** arguments,
                                                     void (*begin)(), void (*end)(),
                                                     void (*loader_end)(), void* stack) {
    using Start = int (*)(Main, int, char**, void (*)(), void (*)(), void (*)(), void*);
    program = main;
    return reinterpret_cast<Start>(::dlsym(RTLD_NEXT, "__libc_start_main"))(
        counted_main, count, arguments, begin, end, loader_end, stack);
}

[[gnu::visibility("default")]] void* malloc(size_t bytes) {
    return fails() ? nullptr : __libc_malloc(bytes);
}
[[gnu::visibility("default")]] void* calloc(size_t count, size_t bytes) {
    return fails() ? nullptr : __libc_calloc(count, bytes);
}
[[gnu::visibility("default")]] void* realloc(void* old, size_t bytes) {
    return fails() ? nullptr : __libc_realloc(old, bytes);
}
[[gnu::visibility("default")]] void* aligned_alloc(size_t alignment, size_t bytes) {
    return fails() ? nullptr : __libc_memalign(alignment, bytes);
}
[[gnu::visibility("default")]] void* memalign(size_t alignment, size_t bytes) {
    return fails() ? nullptr : __libc_memalign(alignment, bytes);
}
[[gnu::visibility("default")]] int posix_memalign(void** to, size_t alignment, size_t bytes) {
    if (fails()) return ENOMEM;
    *to = __libc_memalign(alignment, bytes);
    return *to ? 0 : ENOMEM;
}
[[gnu::visibility("default")]] void* mmap(void* at, size_t bytes, int protection, int flags,
                                          int descriptor, off_t offset) {
    using Map = void* (*)(void*, size_t, int, int, int, off_t);
    static const auto map = reinterpret_cast<Map>(::dlsym(RTLD_NEXT, "mmap"));
    if (descriptor < 0 && (flags & MAP_ANONYMOUS) != 0 && fails()) return MAP_FAILED;
    return map(at, bytes, protection, flags, descriptor, offset);
}
}
