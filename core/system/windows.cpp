// SPDX-License-Identifier: Apache-2.0
// For 64-bit Windows, with the C library of MinGW-w64.
#include <fcntl.h>
#include <io.h>
#include <malloc.h>
#include <process.h>
#include <sys/stat.h>
#include <windows.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstdint>
#include <filesystem>
#include <random>

#include "core/system/system.hpp"

// <math.h> of MinGW-w64 hides these functions of the C library from standard C++.
extern "C" double _j0(double);
extern "C" double _j1(double);

namespace convolume::system {

int usable_processors() {
    // A process starts in one group of at most 64 processors.
    DWORD_PTR process = 0;
    DWORD_PTR all = 0;
    return GetProcessAffinityMask(GetCurrentProcess(), &process, &all) != 0
               ? std::max(1, std::popcount(process))
               : 0;
}

index_t free_memory() {
    MEMORYSTATUSEX memory{};
    memory.dwLength = sizeof(memory);
    if (GlobalMemoryStatusEx(&memory) == 0) return 0;
    return static_cast<index_t>(std::min(memory.ullAvailPhys, memory.ullAvailPageFile));
}

void return_freed_memory() noexcept {
    _heapmin();
}

int process_id() {
    return _getpid();
}

bool has_other_threads() {
    return true;
}

void on_fork(void (*)(), void (*)()) {}  // there are no forks

double bessel_j0(double x) {
    return ::_j0(x);
}

double bessel_j1(double x) {
    return ::_j1(x);
}

ThreadPointer::ThreadPointer(void (*release)(void*)) noexcept
    : key_(FlsAlloc(release)), has_key_(key_ != FLS_OUT_OF_INDEXES) {}

ThreadPointer::~ThreadPointer() {
    if (has_key_) FlsFree(key_);
}

bool ThreadPointer::set(void* value) noexcept {
    return has_key_ && FlsSetValue(key_, value) != 0;
}

LoadedLibrary load_library(const std::string& path) {
    void* const handle =
        static_cast<void*>(LoadLibraryW(std::filesystem::path(path).wstring().c_str()));
    if (handle != nullptr) return {handle};
    return {nullptr, "Windows reports error " + std::to_string(GetLastError())};
}

void* function_of(const LoadedLibrary& library, const char* name) noexcept {
    return reinterpret_cast<void*>(GetProcAddress(static_cast<HMODULE>(library.handle), name));
}

char path_separator() noexcept {
    return ';';
}

void* allocate_aligned(index_t bytes, index_t alignment) {
    return _aligned_malloc(static_cast<std::size_t>(bytes), static_cast<std::size_t>(alignment));
}

void free_aligned(void* memory) noexcept {
    _aligned_free(memory);
}

void* map_memory(index_t bytes, index_t alignment) {
    const auto size = static_cast<std::size_t>(bytes);
    const auto step = static_cast<std::uintptr_t>(alignment);
    // A mapping is only released as a whole. So a larger one tells where there is room, which
    // another thread may take before this one does.
    for (int attempt = 0; attempt < 100; ++attempt) {
        void* const region = VirtualAlloc(nullptr, size + static_cast<std::size_t>(alignment),
                                          MEM_RESERVE, PAGE_NOACCESS);
        if (!region) return nullptr;
        const auto begin = reinterpret_cast<std::uintptr_t>(region);
        VirtualFree(region, 0, MEM_RELEASE);
        void* const aligned = reinterpret_cast<void*>((begin + step - 1) / step * step);
        if (void* const memory =
                VirtualAlloc(aligned, size, MEM_RESERVE | MEM_COMMIT, PAGE_READWRITE))
            return memory;
        if (GetLastError() != ERROR_INVALID_ADDRESS) return nullptr;
    }
    return nullptr;
}

void unmap_memory(void* memory, index_t) noexcept {
    VirtualFree(memory, 0, MEM_RELEASE);
}

int open_nameless_file(const std::string& folder) {
    std::random_device random;
    for (int attempt = 0; attempt < 100; ++attempt) {
        const std::filesystem::path name =
            std::filesystem::path(folder) / (".convolume-" + std::to_string(random()));
        // The file has a name until it is closed, when the system removes it.
        const int descriptor = _wopen(
            name.c_str(), _O_CREAT | _O_EXCL | _O_TEMPORARY | _O_RDWR | _O_BINARY | _O_NOINHERIT,
            _S_IREAD | _S_IWRITE);
        if (descriptor >= 0 || errno != EEXIST) return descriptor;
    }
    return -1;
}

bool is_in_memory(const std::string&) {
    return false;
}

int reserve_space(int file, index_t offset, index_t bytes) {
    const auto handle = reinterpret_cast<HANDLE>(_get_osfhandle(file));
    LARGE_INTEGER size{};
    if (handle == INVALID_HANDLE_VALUE || GetFileSizeEx(handle, &size) == 0) return EBADF;
    if (size.QuadPart >= offset + bytes) return 0;
    // File systems without sparse files take the space of a longer file at once.
    FILE_END_OF_FILE_INFO end{};
    end.EndOfFile.QuadPart = offset + bytes;
    if (SetFileInformationByHandle(handle, FileEndOfFileInfo, &end, sizeof(end)) != 0) return 0;
    return ENOSPC;
}

namespace {

using Transfer = BOOL (*)(HANDLE, void*, DWORD, DWORD*, OVERLAPPED*);

index_t transfer(int file, void* memory, std::size_t bytes, index_t offset, Transfer move) {
    const auto handle = reinterpret_cast<HANDLE>(_get_osfhandle(file));
    if (handle == INVALID_HANDLE_VALUE) return -1;
    const auto position = static_cast<std::uint64_t>(offset);
    OVERLAPPED where{};
    where.Offset = static_cast<DWORD>(position);
    where.OffsetHigh = static_cast<DWORD>(position >> 32);
    DWORD moved = 0;
    if (move(handle, memory, static_cast<DWORD>(std::min(bytes, std::size_t{1} << 30)), &moved,
             &where))
        return moved;
    switch (GetLastError()) {
        case ERROR_HANDLE_EOF:
            return 0;
        case ERROR_DISK_FULL:
        case ERROR_HANDLE_DISK_FULL:
            errno = ENOSPC;
            return -1;
        case ERROR_ACCESS_DENIED:
            errno = EBADF;  // the file was not opened for this
            return -1;
        default:
            errno = EIO;
            return -1;
    }
}

}  // namespace

index_t read_at(int file, void* target, std::size_t bytes, index_t offset) {
    return transfer(file, target, bytes, offset,
                    [](HANDLE handle, void* memory, DWORD size, DWORD* moved, OVERLAPPED* where) {
                        return ReadFile(handle, memory, size, moved, where);
                    });
}

index_t write_at(int file, const void* source, std::size_t bytes, index_t offset) {
    return transfer(file, const_cast<void*>(source), bytes, offset,
                    [](HANDLE handle, void* memory, DWORD size, DWORD* moved, OVERLAPPED* where) {
                        return WriteFile(handle, memory, size, moved, where);
                    });
}

void* map_file(int file, index_t bytes) {
    const auto handle = reinterpret_cast<HANDLE>(_get_osfhandle(file));
    const HANDLE mapping = CreateFileMappingW(handle, nullptr, PAGE_READWRITE, 0, 0, nullptr);
    void* const memory = mapping == nullptr ? nullptr
                                            : MapViewOfFile(mapping, FILE_MAP_ALL_ACCESS, 0, 0,
                                                            static_cast<std::size_t>(bytes));
    if (mapping != nullptr) CloseHandle(mapping);
    if (memory == nullptr) errno = ENOMEM;
    return memory;
}

void unmap_file(void* memory, index_t) noexcept {
    UnmapViewOfFile(memory);
}

void release_file_pages(void* memory, index_t bytes) noexcept {
    // Pages that are not locked leave the working set, which is no error.
    VirtualUnlock(memory, static_cast<std::size_t>(bytes));
}

int sync_file(int file) {
    return _commit(file);
}

void close_file(int file) noexcept {
    _close(file);
}

}  // namespace convolume::system
