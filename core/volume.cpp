// SPDX-License-Identifier: Apache-2.0
#include "convolume/volume.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <utility>

#include "convolume/options.hpp"
#include "core/host_memory.hpp"
#include "core/plan_cache.hpp"
#include "core/scratch_file.hpp"
#include "core/system/system.hpp"
#include "core/threads.hpp"

namespace convolume {

Volume::Volume(const Shape3& shape, PixelType type, HostMemory memory)
    : buffer_(checked_multiply(element_count(shape), static_cast<index_t>(size_of(type))),
              "a volume"),
      shape_(shape),
      type_(type) {
    buffer_.touch(thread_count(0));
    if (memory == HostMemory::page_locked) buffer_.lock_pages();
}

Volume Volume::in_file(const Shape3& shape, PixelType type, const std::string& directory) {
    Volume volume;
    volume.buffer_ = Buffer::in_file(
        checked_multiply(element_count(shape), static_cast<index_t>(size_of(type))), directory);
    volume.shape_ = shape;
    volume.type_ = type;
    return volume;
}

void Volume::check_type(PixelType asked) const {
    if (asked != type_)
        throw InvalidArgument(
            message("a volume of ", to_string(type_), " was read as ", to_string(asked)));
}

namespace {
std::atomic<const PageLocker*> page_locker{nullptr};
std::atomic<std::pmr::memory_resource*> host_memory_resource{nullptr};

std::atomic<index_t> current_bytes{0};
std::atomic<index_t> peak_bytes{0};

void count(index_t bytes) {
    const index_t now = current_bytes.fetch_add(bytes) + bytes;
    index_t peak = peak_bytes.load();
    while (now > peak && !peak_bytes.compare_exchange_weak(peak, now)) {
    }
}

// Below this size a separate mapping wastes more than huge pages gain.
constexpr index_t mapped_from_bytes = index_t{4} << 20;
constexpr index_t huge_page_bytes = index_t{2} << 20;

/// Returns null if there is not as much memory.
void* allocate_memory(index_t bytes, std::pmr::memory_resource* resource) {
    constexpr auto alignment = static_cast<index_t>(Buffer::alignment);
    if (resource == nullptr)
        return bytes >= mapped_from_bytes ? system::map_memory(bytes, huge_page_bytes)
                                          : system::allocate_aligned(bytes, alignment);
    try {
        return resource->allocate(static_cast<std::size_t>(bytes), Buffer::alignment);
    } catch (const std::bad_alloc&) {
        return nullptr;
    }
}
}  // namespace

MemoryUse memory_use() {
    return {current_bytes.load(), peak_bytes.load()};
}
void reset_memory_peak() {
    peak_bytes.store(current_bytes.load());
}

std::pmr::memory_resource* set_host_memory_resource(std::pmr::memory_resource* resource) noexcept {
    return host_memory_resource.exchange(resource);
}

void set_page_locker(const PageLocker* locker) {
    page_locker.store(locker);
}

index_t Buffer::rounded_bytes(index_t bytes) {
    return round_up(bytes,
                    bytes >= mapped_from_bytes ? huge_page_bytes : static_cast<index_t>(alignment));
}

Buffer::Buffer(index_t bytes, const char* purpose)
    : Buffer(bytes, purpose, host_memory_resource.load()) {}

Buffer::Buffer(index_t bytes, const char* purpose, std::pmr::memory_resource* resource) {
    if (bytes < 0) throw InternalError(message("a negative size for ", purpose));
    if (bytes == 0) return;
    bytes = rounded_bytes(bytes);
    resource_ = resource;
    data_ = allocate_memory(bytes, resource_);
    if (!data_ && PlanCache::instance().clear()) data_ = allocate_memory(bytes, resource_);
    if (!data_)
        throw OutOfMemory(message("the ", resource_ ? "memory resource" : "system", " refused ",
                                  format_bytes(bytes), " for ", purpose,
                                  ": free memory, or set a lower memory limit"));
    bytes_ = bytes;
    count(bytes_);
}

Buffer Buffer::in_file(index_t bytes, const std::string& directory) {
    Buffer buffer;
    if (bytes == 0) return buffer;
    buffer.data_ = ScratchFile(directory, bytes).map(bytes);
    buffer.bytes_ = bytes;
    buffer.in_file_ = true;
    return buffer;
}

Buffer::~Buffer() {
    release();
}

Buffer::Buffer(Buffer&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)),
      bytes_(std::exchange(other.bytes_, 0)),
      in_file_(std::exchange(other.in_file_, false)),
      resource_(std::exchange(other.resource_, nullptr)),
      unlock_(std::exchange(other.unlock_, nullptr)) {}

Buffer& Buffer::operator=(Buffer&& other) noexcept {
    if (this != &other) {
        release();
        data_ = std::exchange(other.data_, nullptr);
        bytes_ = std::exchange(other.bytes_, 0);
        in_file_ = std::exchange(other.in_file_, false);
        resource_ = std::exchange(other.resource_, nullptr);
        unlock_ = std::exchange(other.unlock_, nullptr);
    }
    return *this;
}

void Buffer::release() noexcept {
    if (!data_) return;
    if (unlock_) unlock_(data_);
    unlock_ = nullptr;
    if (in_file_)
        system::unmap_file(data_, bytes_);
    else if (resource_)
        resource_->deallocate(data_, static_cast<std::size_t>(bytes_), alignment);
    else if (bytes_ >= mapped_from_bytes)
        system::unmap_memory(data_, bytes_);
    else
        system::free_aligned(data_);
    if (!in_file_) count(-bytes_);
    in_file_ = false;
    resource_ = nullptr;
    data_ = nullptr;
    bytes_ = 0;
}

void Buffer::release_pages() const {
    if (in_file_) system::release_file_pages(data_, bytes_);
}

void Buffer::touch(int threads) {
    const index_t step = huge_page_bytes;
    const index_t steps = ceil_div(bytes_, step);
    parallel_for(steps, threads, [&](index_t i, int) {
        std::memset(as<char>() + i * step, 0,
                    static_cast<std::size_t>(std::min(step, bytes_ - i * step)));
    });
}

void Buffer::spread() {
    constexpr index_t large_bytes = index_t{64} << 20, page_bytes = 4096;
    if (bytes_ < large_bytes) return;
    parallel_for(bytes_ / huge_page_bytes, thread_count(0), [&](index_t i, int) {
        for (index_t at = i * huge_page_bytes; at < (i + 1) * huge_page_bytes; at += page_bytes)
            as<volatile char>()[at] = 0;
    });
}

bool Buffer::lock_pages() {
    const PageLocker* const locker = page_locker.load();
    if (!unlock_ && data_ && locker && locker->lock(data_, static_cast<std::size_t>(bytes_)))
        unlock_ = locker->unlock;
    return unlock_ != nullptr;
}

}  // namespace convolume
