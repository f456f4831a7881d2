// SPDX-License-Identifier: Apache-2.0
#pragma once
// Memory that an object owns: aligned buffers whose bytes are counted, and volumes made of them.

#include <cstddef>
#include <memory_resource>
#include <string>

#include "convolume/export.hpp"
#include "convolume/image_view.hpp"

namespace convolume {

/// Bytes held by all Buffers of the process. With these figures a test can compare a plan's
/// predicted memory with its actual use.
struct MemoryUse {
    index_t current_bytes;  ///< bytes held now
    index_t peak_bytes;     ///< highest `current_bytes` since the last reset_memory_peak()
};
/// Returns the bytes held by all Buffers of the process.
/// @code{.cpp}
/// reset_memory_peak();
/// const index_t before = memory_use().current_bytes;
/// { const Buffer buffer(1 << 20); }
/// assert(memory_use().peak_bytes >= before + (1 << 20));
/// @endcode
CONVOLUME_API MemoryUse memory_use();
/// Sets the peak to the bytes held now.
CONVOLUME_API void reset_memory_peak();

/// Makes Buffers that are made from now on, by any thread, take their memory from `resource`: all
/// images and workspaces in host memory but scratch memory of a few MiB that threads keep. Null
/// stands for the system's memory, which is the default. The resource must be thread-safe and
/// outlive those buffers, also those of cached plans (clear_plan_cache()). If it throws
/// std::bad_alloc, the buffer throws OutOfMemory. Returns the resource before.
/// @code{.cpp}
/// std::vector<std::byte> arena(16 << 20);
/// std::pmr::monotonic_buffer_resource once(arena.data(), arena.size());
/// std::pmr::synchronized_pool_resource pool(&once);
/// std::pmr::memory_resource* const before = set_host_memory_resource(&pool);
/// {
///     const Volume image({32, 64, 64}, PixelType::float32);
///     assert(image.elements<float>() >= reinterpret_cast<const float*>(arena.data()));
/// }
/// set_host_memory_resource(before);
/// @endcode
CONVOLUME_API std::pmr::memory_resource* set_host_memory_resource(
    std::pmr::memory_resource* resource) noexcept;

/// Kind of host memory. GPUs read and write page-locked memory directly, without a copy to a
/// staging buffer. If no GPU is usable, or the system refuses to lock pages, page_locked means
/// ordinary memory.
enum class HostMemory { ordinary, page_locked };

/// Uninitialized memory, aligned to at least 64 bytes. Large buffers ask for huge pages, since the
/// first touch of many small pages takes longer than a transform. Move-only.
/// @code{.cpp}
/// Buffer buffer(1000 * sizeof(float), "the table of gains");
/// std::fill_n(buffer.as<float>(), 1000, 1.0F);
/// @endcode
class CONVOLUME_API Buffer {
  public:
    static constexpr std::size_t alignment = 64;  ///< least alignment in bytes

    /// Returns the bytes that a buffer of `bytes` takes from the system, which memory_use() counts.
    static index_t rounded_bytes(index_t bytes);

    Buffer() = default;
    /// Allocates `bytes`. Throws OutOfMemory, which names `purpose`, if the system refuses.
    explicit Buffer(index_t bytes, const char* purpose = "a buffer");
    /// Allocates `bytes` from a resource, or null for the system's memory, whatever
    /// set_host_memory_resource() says.
    Buffer(index_t bytes, const char* purpose, std::pmr::memory_resource* resource);
    ~Buffer();
    /// Returns zeros in a nameless file in `directory`, mapped to memory. The system keeps pages in
    /// memory or writes them to the disk, as it does with the cache of files, and memory_use() does
    /// not count them. Throws IoError or CannotCreate, and OutOfMemory for too little address
    /// space.
    static Buffer in_file(index_t bytes, const std::string& directory);
    Buffer(Buffer&& other) noexcept;
    Buffer& operator=(Buffer&& other) noexcept;

    void* data() const { return data_; }
    index_t bytes() const { return bytes_; }
    bool is_in_file() const { return in_file_; }
    /// Takes the pages of a buffer in a file from memory until they are used again.
    void release_pages() const;
    /// Returns the address of the first byte as that of a T.
    template <class T>
    T* as() const {
        return static_cast<T*>(data_);
    }

    /// Writes zeros from `threads` threads, so that pages are placed on the NUMA node of the thread
    /// that uses them.
    void touch(int threads);
    /// For memory that one thread fills and all threads use: from 64 MiB on, places pages as
    /// touch() does. The content is undefined.
    void spread();
    /// Locks the pages in memory, which is fastest after touch(). Returns whether they are locked.
    bool lock_pages();

  private:
    void release() noexcept;

    void* data_ = nullptr;
    index_t bytes_ = 0;
    bool in_file_ = false;
    std::pmr::memory_resource* resource_ = nullptr;  ///< what the memory is from; null: the system
    void (*unlock_)(void*) = nullptr;
};

/// A contiguous 3D array in C order, with axes z, y, x, that owns its memory. Move-only.
/// @code{.cpp}
/// Volume image({32, 64, 64}, PixelType::float32);
/// image.view().at<float>(16, 32, 32) = 1;  // z, y, x
/// const Volume smoothed = convolve(image.view(), image.view());
/// assert(smoothed.shape() == image.shape());
/// @endcode
class CONVOLUME_API Volume {
  public:
    Volume() = default;
    /// Allocates elements that are zero. Throws OutOfMemory, or InvalidArgument for a negative
    /// shape.
    Volume(const Shape3& shape, PixelType type, HostMemory memory = HostMemory::ordinary);

    /// Makes a volume of zeros in a file, as Buffer::in_file() does, for kernels that are larger
    /// than the memory that may be used.
    static Volume in_file(const Shape3& shape, PixelType type, const std::string& directory);

    const Shape3& shape() const { return shape_; }
    PixelType type() const { return type_; }
    index_t bytes() const { return element_count(shape_) * static_cast<index_t>(size_of(type_)); }
    /// Returns the bytes that count as memory: those of bytes(), or 0 if they are in a file.
    index_t memory_bytes() const { return is_in_file() ? 0 : bytes(); }
    bool is_in_file() const { return buffer_.is_in_file(); }
    /// Calls Buffer::release_pages().
    void release_pages() const { buffer_.release_pages(); }
    /// Returns a view of all elements. It is valid while the volume exists.
    ImageView view() { return {buffer_.data(), type_, shape_, contiguous_strides(shape_)}; }
    ConstImageView view() const {
        return {buffer_.data(), type_, shape_, contiguous_strides(shape_)};
    }

    /// Returns the address of the first element. Throws InvalidArgument if T is not the volume's
    /// type.
    template <class T>
    T* elements() {
        check_type(pixel_type_of_v<T>);
        return buffer_.as<T>();
    }
    template <class T>
    const T* elements() const {
        check_type(pixel_type_of_v<T>);
        return buffer_.as<T>();
    }

  private:
    void check_type(PixelType asked) const;

    Buffer buffer_;
    Shape3 shape_;
    PixelType type_ = PixelType::float32;
};

}  // namespace convolume
