// SPDX-License-Identifier: Apache-2.0
#pragma once
// Owning memory: aligned buffers whose bytes are counted, and volumes made of them.

#include <cstddef>

#include "convolume/export.hpp"
#include "convolume/image_view.hpp"

namespace convolume {

/// Bytes held by all Buffers of the process: how the tests hold plans to their memory limits.
struct MemoryUse {
    index_t current_bytes;
    index_t peak_bytes;  ///< highest `current_bytes` since the last reset_memory_peak()
};
CONVOLUME_API MemoryUse memory_use();
CONVOLUME_API void reset_memory_peak();

/// What host memory is for. Page-locked memory is read and written by devices without staging;
/// where no back end can lock pages, or the system refuses, it is ordinary memory.
enum class HostMemory { ordinary, page_locked };

/// Uninitialized memory aligned to 64 bytes at least; large buffers ask for huge pages, since the
/// first touch of small ones costs more than a transform. Move-only.
class CONVOLUME_API Buffer {
  public:
    static constexpr std::size_t alignment = 64;

    /// What a buffer of `bytes` really takes, and counts.
    static index_t rounded_bytes(index_t bytes);

    Buffer() = default;
    /// Throws OutOfMemory, naming `purpose`, when the system refuses.
    explicit Buffer(index_t bytes, const char* purpose = "a buffer");
    ~Buffer();
    Buffer(Buffer&& other) noexcept;
    Buffer& operator=(Buffer&& other) noexcept;

    void* data() const { return data_; }
    index_t bytes() const { return bytes_; }
    template <class T>
    T* as() const {
        return static_cast<T*>(data_);
    }

    /// Writes zeros from `threads` threads, so that pages land near who uses them.
    void touch(int threads);
    /// Locks the pages, best after they are touched. Whether they are locked now.
    bool lock_pages();

  private:
    void release() noexcept;

    void* data_ = nullptr;
    index_t bytes_ = 0;
    void (*unlock_)(void*) = nullptr;
};

/// A contiguous 3D array in C order that owns its memory. Move-only.
class CONVOLUME_API Volume {
  public:
    Volume() = default;
    /// Elements start as zero. Throws OutOfMemory or InvalidArgument.
    Volume(const Shape3& shape, PixelType type, HostMemory memory = HostMemory::ordinary);

    const Shape3& shape() const { return shape_; }
    PixelType type() const { return type_; }
    index_t bytes() const { return element_count(shape_) * static_cast<index_t>(size_of(type_)); }
    ImageView view() { return {buffer_.data(), type_, shape_, contiguous_strides(shape_)}; }
    ConstImageView view() const {
        return {buffer_.data(), type_, shape_, contiguous_strides(shape_)};
    }

    /// The elements as T; throws InvalidArgument when T is not the volume's type.
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
