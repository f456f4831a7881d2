// SPDX-License-Identifier: Apache-2.0
#pragma once
// libtiff's handle as an object. Its messages are kept, never printed. It reads through a RawFile,
// so that many handles share one open file, or writes to memory.

#include <tiffio.h>

#include <array>
#include <exception>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "io/raw_file.hpp"

namespace convolume::io {

/// A TIFF opened by libtiff. The destructor closes it.
class TiffHandle {
  public:
    /// Opens `file` for reading; it must outlive the handle. libtiff may allocate at most
    /// `largest_allocation_bytes` at once. Throws BadData.
    TiffHandle(const RawFile& file, index_t largest_allocation_bytes);
    /// Creates a TIFF in memory.
    TiffHandle();
    ~TiffHandle();
    TiffHandle(const TiffHandle&) = delete;
    TiffHandle& operator=(const TiffHandle&) = delete;

    operator TIFF*() const { return tiff_; }
    /// Reads the directory at the offset `directory`, unless the last call did so. Throws BadData.
    void go_to(std::uint64_t directory);
    /// Makes libtiff decode YCbCr colors of JPEG in the current directory to red, green and blue.
    void decode_ycbcr_as_rgb() const;
    /// Returns the first error since clear_error(), "" if there was none.
    std::string error() const { return error_.data(); }
    void clear_error() { error_[0] = '\0'; }
    /// Throws the cause of a past failure if it was not the file: an IoError of a read, or
    /// OutOfMemory.
    void rethrow() const;
    /// Returns the bytes of the TIFF in memory.
    const std::string& memory() const { return memory_; }

    /// Returns the value of a tag, else its default, else `otherwise`.
    template <class T>
    T get(std::uint32_t tag, T otherwise) const {
        T value{};
        return TIFFGetFieldDefaulted(tiff_, tag, &value) == 1 ? value : otherwise;
    }
    /// Returns the text of an ASCII tag, "" if it is missing.
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

    const RawFile* file_ = nullptr;  // null if the TIFF is in memory_
    std::string memory_;
    index_t position_ = 0;
    std::uint64_t directory_ = 0;
    TIFF* tiff_ = nullptr;
    std::array<char, 500> error_{};
    bool memory_refused_ = false;
    std::exception_ptr failure_;
};

/// Handles of one file, one for each thread that needs one at the same time.
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
