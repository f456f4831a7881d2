// SPDX-License-Identifier: Apache-2.0
#include "io/tiff_handle.hpp"

#include <array>
#include <cstdio>

#include "convolume/error.hpp"

namespace convolume::io {

TiffHandle::TiffHandle(const std::string& path, const char* mode, index_t largest_allocation_bytes)
    : path_(path) {
    const std::unique_ptr<TIFFOpenOptions, void (*)(TIFFOpenOptions*)> options(
        TIFFOpenOptionsAlloc(), TIFFOpenOptionsFree);
    if (!options) throw OutOfMemory("no memory for opening a TIFF file");
    TIFFOpenOptionsSetErrorHandlerExtR(options.get(), keep_error, this);
    TIFFOpenOptionsSetWarningHandlerExtR(options.get(), drop_warning, nullptr);
    TIFFOpenOptionsSetMaxSingleMemAlloc(options.get(), largest_allocation_bytes);
    tiff_ = TIFFOpenExt(path.c_str(), mode, options.get());
    if (tiff_ != nullptr) return;
    const std::string reason = error_.empty() ? "its first directory is damaged" : error_;
    if (mode[0] == 'r')
        throw BadData(
            message(path, " cannot be read as a TIFF: ", reason, "; copy or write it again"));
    throw CannotCreate(message("cannot create ", path, ": ", reason));
}

void TiffHandle::close() {
    if (tiff_ != nullptr) TIFFClose(tiff_);
    tiff_ = nullptr;
}

std::string TiffHandle::text(std::uint32_t tag) const {
    const char* value = nullptr;
    return TIFFGetField(tiff_, tag, &value) == 1 && value != nullptr ? value : "";
}

int TiffHandle::keep_error(TIFF*, void* self, const char*, const char* format, va_list values) {
    const std::string name = static_cast<TiffHandle*>(self)->path_ + ": ";
    std::string& error = static_cast<TiffHandle*>(self)->error_;
    if (!error.empty()) return 1;
    std::array<char, 500> text{};
    std::vsnprintf(text.data(), text.size(), format, values);
    error = text.data();
    if (error.compare(0, name.size(), name) == 0) error.erase(0, name.size());
    while (!error.empty() && (error.back() == '.' || error.back() == '\n')) error.pop_back();
    return 1;
}

}  // namespace convolume::io
