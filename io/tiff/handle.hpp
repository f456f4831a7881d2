// SPDX-License-Identifier: Apache-2.0
#pragma once
// libtiff's handle, closed when it goes; its messages are kept, never printed. Reads through a
// RawFile, so that many handles share one open file, and writes to memory.

#include <tiffio.h>

#include <array>
#include <exception>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "io/raw_file.hpp"

namespace convolume::io {

class TiffHandle {
  public:
    /// Reads `file`, which outlives it. libtiff may allocate `largest_allocation_bytes` at once.
    /// Throws BadData.
    TiffHandle(const RawFile& file, index_t largest_allocation_bytes);
    /// Writes a file of its own to memory.
    TiffHandle();
    ~TiffHandle();
    TiffHandle(const TiffHandle&) = delete;
    TiffHandle& operator=(const TiffHandle&) = delete;

    operator TIFF*() const { return tiff_; }
    /// Reads the directory at that offset, unless it was the last one read so. Throws BadData.
    void go_to(std::uint64_t directory);
    /// Has JPEG's YCbCr colors of the current directory decoded to red, green and blue.
    void decode_ycbcr_as_rgb() const;
    /// The first error since clear_error(), "" if none.
    std::string error() const { return error_.data(); }
    void clear_error() { error_[0] = '\0'; }
    /// Throws what made libtiff fail, now or before, if it was not the file: the IoError of a read,
    /// or OutOfMemory.
    void rethrow() const;
    /// What was written.
    const std::string& memory() const { return memory_; }

    /// A tag's value, or its default, or `otherwise`.
    template <class T>
    T get(std::uint32_t tag, T otherwise) const {
        T value{};
        return TIFFGetFieldDefaulted(tiff_, tag, &value) == 1 ? value : otherwise;
    }
    /// The text of an ASCII tag, "" where there is none.
    std::string text(std::uint32_t tag) const;

  private:
    void open(const char* mode, index_t largest_allocation_bytes);
    static tmsize_t read(thandle_t self, void* to, tmsize_t bytes);
    static tmsize_t write(thandle_t self, void* from, tmsize_t bytes);
    static toff_t seek(thandle_t self, toff_t offset, int from);
    static toff_t size(thandle_t self);
    static int keep_error(TIFF*, void* self, const char* module, const char* format,
                          va_list values);
    static int drop_warning(TIFF*, void*, const char*, const char*, va_list) { return 1; }

    const RawFile* file_ = nullptr;  // null: memory_
    std::string memory_;
    index_t position_ = 0;
    std::uint64_t directory_ = 0;
    TIFF* tiff_ = nullptr;
    std::array<char, 500> error_{};
    bool memory_refused_ = false;
    std::exception_ptr failure_;
};

/// Handles of one file for as many threads as ask at once.
class TiffHandles {
  public:
    TiffHandles(const RawFile& file, index_t largest_allocation_bytes)
        : file_(file), largest_allocation_bytes_(largest_allocation_bytes) {}

    std::unique_ptr<TiffHandle> take();
    /// Keeps a handle for later calls of take(). A handle that failed is not given back.
    void give_back(std::unique_ptr<TiffHandle> handle);

  private:
    const RawFile& file_;
    index_t largest_allocation_bytes_;
    std::mutex mutex_;
    std::vector<std::unique_ptr<TiffHandle>> idle_;
};

}  // namespace convolume::io
