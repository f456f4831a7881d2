// SPDX-License-Identifier: Apache-2.0
#include "io/tiff/handle.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>
#include <string_view>

#include "convolume/error.hpp"

namespace convolume::io {
namespace {

TiffHandle& handle(thandle_t self) {
    return *static_cast<TiffHandle*>(self);
}

}  // namespace

TiffHandle::TiffHandle(const RawFile& file, index_t largest_allocation_bytes) : file_(&file) {
    // r: read; m: no memory mapping; c: TIFF strips are not divided; D: their tables are read on
    // demand
    open("rmcD", largest_allocation_bytes);
    if (tiff_ != nullptr) return;
    rethrow();
    throw BadData(message(file.path(), " cannot be read as a TIFF: ",
                          error().empty() ? "its first directory is damaged" : error(),
                          "; copy or write it again"));
}

TiffHandle::TiffHandle() {
    open("w8", 0);
    if (tiff_ == nullptr) throw IoError(message("libtiff cannot write to memory: ", error()));
}

TiffHandle::~TiffHandle() {
    if (tiff_ != nullptr) TIFFClose(tiff_);
}

void TiffHandle::open(const char* mode, index_t largest_allocation_bytes) {
    const std::unique_ptr<TIFFOpenOptions, void (*)(TIFFOpenOptions*)> options(
        TIFFOpenOptionsAlloc(), TIFFOpenOptionsFree);
    if (!options) throw OutOfMemory("no memory for opening a TIFF file");
    TIFFOpenOptionsSetErrorHandlerExtR(options.get(), keep_error, this);
    TIFFOpenOptionsSetWarningHandlerExtR(options.get(), drop_warning, nullptr);
    TIFFOpenOptionsSetMaxSingleMemAlloc(options.get(), largest_allocation_bytes);
    const auto close = [](thandle_t) { return 0; };
    const std::string name = file_ != nullptr ? file_->path() : "memory";
    tiff_ = TIFFClientOpenExt(name.c_str(), mode, this, read, write, seek, close, size, nullptr,
                              nullptr, options.get());
}

void TiffHandle::go_to(std::uint64_t directory) {
    if (directory == directory_) return;
    directory_ = 0;
    if (TIFFSetSubDirectory(tiff_, directory) == 0) {
        rethrow();
        throw BadData(message(file_->path(), " cannot be read: ", error(), "; copy it again"));
    }
    directory_ = directory;
    decode_ycbcr_as_rgb();
}

void TiffHandle::decode_ycbcr_as_rgb() const {
    if (get<std::uint16_t>(TIFFTAG_COMPRESSION, COMPRESSION_NONE) == COMPRESSION_JPEG &&
        get<std::uint16_t>(TIFFTAG_PHOTOMETRIC, PHOTOMETRIC_MINISBLACK) == PHOTOMETRIC_YCBCR)
        TIFFSetField(tiff_, TIFFTAG_JPEGCOLORMODE, JPEGCOLORMODE_RGB);
}

void TiffHandle::rethrow() const {
    if (failure_) std::rethrow_exception(failure_);
    if (memory_refused_)
        throw OutOfMemory(message("the system refused libtiff memory (", error(),
                                  "): free memory, or set a lower memory limit"));
}

std::string TiffHandle::text(std::uint32_t tag) const {
    const char* value = nullptr;
    return TIFFGetField(tiff_, tag, &value) == 1 && value != nullptr ? value : "";
}

// No exception may cross libtiff. The functions below are its callbacks.

tmsize_t TiffHandle::read(thandle_t self, void* to, tmsize_t bytes) {
    TiffHandle& h = handle(self);
    const index_t bytes_left = static_cast<index_t>(size(self)) - h.position_;
    const index_t count = std::clamp<index_t>(bytes_left, 0, bytes);
    if (count == 0) return 0;
    if (h.file_ == nullptr) {
        std::memcpy(to, h.memory_.data() + h.position_, static_cast<std::size_t>(count));
    } else {
        try {
            h.file_->read(h.position_, to, count);
        } catch (...) {
            h.failure_ = std::current_exception();
            return -1;
        }
    }
    h.position_ += count;
    return count;
}

tmsize_t TiffHandle::write(thandle_t self, void* from, tmsize_t bytes) {
    TiffHandle& h = handle(self);
    if (h.file_ != nullptr || bytes < 0) return -1;
    const auto begin = static_cast<std::size_t>(h.position_);
    const auto count = static_cast<std::size_t>(bytes);
    try {
        if (h.memory_.size() < begin + count) h.memory_.resize(begin + count);
    } catch (...) {
        h.failure_ = std::current_exception();
        return -1;
    }
    std::memcpy(h.memory_.data() + begin, from, count);
    h.position_ += bytes;
    return bytes;
}

toff_t TiffHandle::seek(thandle_t self, toff_t offset, int from) {
    TiffHandle& h = handle(self);
    const auto base = from == SEEK_SET   ? toff_t{0}
                      : from == SEEK_CUR ? static_cast<toff_t>(h.position_)
                                         : size(self);
    // libtiff passes backward seeks as numbers that wrap around.
    const toff_t target = base + offset;
    if (target > static_cast<toff_t>(INT64_MAX)) return static_cast<toff_t>(-1);
    h.position_ = static_cast<index_t>(target);
    return target;
}

toff_t TiffHandle::size(thandle_t self) {
    const TiffHandle& h = handle(self);
    return h.file_ != nullptr ? static_cast<toff_t>(h.file_->size()) : h.memory_.size();
}

int TiffHandle::keep_error(TIFF*, void* self, const char*, const char* format, va_list values) {
    // This function must not allocate: the error may be that there is no memory.
    TiffHandle& h = handle(self);
    std::array<char, 500> text{};
    std::vsnprintf(text.data(), text.size(), format, values);
    std::string_view found = text.data();
    const std::string_view name = h.file_ != nullptr ? std::string_view(h.file_->path()) : "memory";
    if (found.starts_with(name) && found.substr(name.size()).starts_with(": "))
        found.remove_prefix(name.size() + 2);
    while (!found.empty() && (found.back() == '.' || found.back() == '\n')) found.remove_suffix(1);
    // An allocation beyond largest_allocation_bytes was never requested from the system.
    constexpr std::string_view refusals[] = {
        "ailed to allocate", "Cannot allocate",  "Unable to allocate",
        "malloc(",           "No space for",     "Out of memory",
        "out of memory",     "ot enough memory", "Insertion in tif_map"};
    // libtiff uses the same words if a damaged directory makes it allocate nothing.
    const bool reached_system =
        std::string_view(h.error_.data()).find("is beyond the") == found.npos &&
        found.find("(0 elements of") == found.npos;
    for (const std::string_view refusal : refusals)
        if (reached_system && found.find(refusal) != found.npos) h.memory_refused_ = true;
    if (h.error_[0] != '\0' && !h.memory_refused_) return 1;
    std::copy(found.begin(), found.end(), h.error_.begin());
    h.error_[found.size()] = '\0';
    return 1;
}

std::unique_ptr<TiffHandle> TiffHandles::take() {
    {
        const std::lock_guard lock(mutex_);
        if (!idle_.empty()) {
            auto handle = std::move(idle_.back());
            idle_.pop_back();
            return handle;
        }
    }
    return std::make_unique<TiffHandle>(file_, largest_allocation_bytes_);
}

void TiffHandles::give_back(std::unique_ptr<TiffHandle> handle) {
    constexpr std::size_t most_idle = 16;
    const std::lock_guard lock(mutex_);
    if (idle_.size() < most_idle) idle_.push_back(std::move(handle));
}

}  // namespace convolume::io
