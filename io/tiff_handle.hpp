// SPDX-License-Identifier: Apache-2.0
#pragma once
// libtiff's handle, closed when it goes; its messages are kept, never printed.

#include <tiffio.h>

#include <memory>
#include <string>

#include "convolume/shape.hpp"

namespace convolume::io {

class TiffHandle {
  public:
    /// `mode` as of TIFFOpen. `largest_allocation_bytes` bounds what libtiff may allocate at once
    /// (0: no bound). Throws BadData (reading) or CannotCreate (writing).
    TiffHandle(const std::string& path, const char* mode, index_t largest_allocation_bytes);
    ~TiffHandle() { close(); }
    TiffHandle(const TiffHandle&) = delete;
    TiffHandle& operator=(const TiffHandle&) = delete;

    operator TIFF*() const { return tiff_; }
    /// Writes what is pending; errors show in error().
    void close();
    /// The first error since clear_error(), "" if none.
    const std::string& error() const { return error_; }
    void clear_error() { error_.clear(); }

    /// A tag's value, or its default, or `otherwise`.
    template <class T>
    T get(std::uint32_t tag, T otherwise) const {
        T value{};
        return TIFFGetFieldDefaulted(tiff_, tag, &value) == 1 ? value : otherwise;
    }
    /// The text of an ASCII tag, "" where there is none.
    std::string text(std::uint32_t tag) const;

  private:
    static int keep_error(TIFF*, void* self, const char* module, const char* format,
                          va_list values);
    static int drop_warning(TIFF*, void*, const char*, const char*, va_list) { return 1; }

    std::string path_;
    TIFF* tiff_ = nullptr;
    std::string error_;
};

}  // namespace convolume::io
