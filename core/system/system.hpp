// SPDX-License-Identifier: Apache-2.0
#pragma once
// What the library takes from the operating system beyond the C++ library: processors, processes,
// memory and files. Each operating system has one source, such as linux.cpp.

#include <cstddef>
#include <string>

#include "convolume/export.hpp"
#include "convolume/shape.hpp"

namespace convolume::system {

/// Returns the number of processors that this process may use, or 0 if the system does not say.
int usable_processors();

/// Returns the bytes of memory that programs can still take, or 0 if the system says that in files
/// alone (core/host_memory.cpp).
index_t free_memory();

/// Gives memory that the process has freed back to the system, as far as the C library keeps it.
void return_freed_memory() noexcept;

int process_id();

/// Whether this process has more threads than the calling one; true if the system does not say.
bool has_other_threads();

/// Registers functions to be called when the process forks: one before it, one in the child. Either
/// may be null.
void on_fork(void (*before)(), void (*in_child)());

/// Bessel functions of the first kind, of order 0 and 1, of the C library.
double bessel_j0(double x);
double bessel_j1(double x);

/// A pointer that each thread has a value of its own for, at first null. When a thread ends,
/// `release` gets its value unless that is null. The system ends the whole process if it has no
/// memory for the destructor of a thread_local object; here a function reports that.
class ThreadPointer {
  public:
    explicit ThreadPointer(void (*release)(void*)) noexcept;
    ~ThreadPointer();
    ThreadPointer(const ThreadPointer&) = delete;
    ThreadPointer& operator=(const ThreadPointer&) = delete;

    /// Sets the value of this thread. Returns false if the system refuses.
    bool set(void* value) noexcept;

  private:
    unsigned key_ = 0;
    bool has_key_ = false;
};

/// Loads a shared library, which stays until the process ends. Returns null if the system refuses,
/// and then why.
struct LoadedLibrary {
    void* handle = nullptr;
    std::string why_not{};
};
CONVOLUME_API LoadedLibrary load_library(const std::string& path);
/// Returns the address of a function of a library, or null if it has none of that name.
CONVOLUME_API void* function_of(const LoadedLibrary& library, const char* name) noexcept;
/// Character between the paths of a list in an environment variable.
CONVOLUME_API char path_separator() noexcept;

/// Returns memory at a multiple of `alignment`, which is a power of two and divides `bytes`, or
/// null.
void* allocate_aligned(index_t bytes, index_t alignment);
void free_aligned(void* memory) noexcept;

/// Returns zeroed memory at a multiple of `alignment`, which is a multiple of the page size. Asks
/// for huge pages. Returns null if the system refuses.
void* map_memory(index_t bytes, index_t alignment);
void unmap_memory(void* memory, index_t bytes) noexcept;

/// Opens a file without a name in `folder`, which the system removes when it is closed, however the
/// process ends. Returns its descriptor, or -1 with the reason in errno.
CONVOLUME_API int open_nameless_file(const std::string& folder);

/// Returns true if the files of a folder are in memory and never travel to a disk.
CONVOLUME_API bool is_in_memory(const std::string& folder);

/// Takes space on the disk for part of a file, so that writing cannot fail for lack of it. Returns
/// 0 or an error number, EOPNOTSUPP if the file system cannot do so.
CONVOLUME_API int reserve_space(int file, index_t offset, index_t bytes);

/// Read and write at most `bytes` at `offset`. Return the number of bytes moved, or -1 with the
/// reason in errno.
index_t read_at(int file, void* target, std::size_t bytes, index_t offset);
CONVOLUME_API index_t write_at(int file, const void* source, std::size_t bytes, index_t offset);

/// Maps the first `bytes` of a file, which has them, to memory. Returns null with the reason in
/// errno if the system refuses. The mapping outlives the descriptor.
void* map_file(int file, index_t bytes);
void unmap_file(void* memory, index_t bytes) noexcept;
/// Takes the pages of a mapped file from the memory of this process. Their content stays in the
/// file, or in the system's cache.
void release_file_pages(void* memory, index_t bytes) noexcept;

/// Returns when all data of a file are on disk: 0, or -1 with the reason in errno.
int sync_file(int file);
CONVOLUME_API void close_file(int file) noexcept;

}  // namespace convolume::system
