// SPDX-License-Identifier: Apache-2.0
#include "gpu/runtime/device_memory.hpp"

#include <cuda_runtime_api.h>

#include <algorithm>
#include <atomic>
#include <utility>

#include "convolume/error.hpp"
#include "convolume/options.hpp"
#include "core/plan_cache.hpp"
#include "gpu/runtime/check.hpp"
#include "gpu/runtime/device.hpp"
#include "gpu/runtime/fault.hpp"
#include "gpu/runtime/stream.hpp"

namespace convolume::gpu {

namespace {
std::atomic<index_t> current_bytes{0};
std::atomic<index_t> peak_bytes{0};
}  // namespace

void count_device_bytes(index_t bytes) {
    const index_t now = current_bytes.fetch_add(bytes) + bytes;
    index_t peak = peak_bytes.load();
    while (now > peak && !peak_bytes.compare_exchange_weak(peak, now)) {
    }
}

DeviceMemoryUse device_memory_use() {
    return {current_bytes.load(), peak_bytes.load()};
}
void reset_device_memory_peak() {
    peak_bytes.store(current_bytes.load());
}

void* allocate_on_current_device(index_t bytes, const char* purpose) {
    void* data = nullptr;
    const auto allocate = [&] {
        return fault_due(InjectedFault::allocation)
                   ? cudaErrorMemoryAllocation
                   : cudaMalloc(&data, static_cast<std::size_t>(bytes));
    };
    cudaError_t status = allocate();
    if (status == cudaErrorMemoryAllocation && PlanCache::instance().release_gpu_memory()) {
        static_cast<void>(cudaGetLastError());
        status = allocate();
    }
    check(status, purpose);
    return data;
}

DeviceMemory::DeviceMemory(int device, index_t bytes, const char* purpose) : device_(device) {
    if (bytes <= 0) return;
    const DeviceScope scope(device);
    bytes = round_up(bytes, alignment);
    data_ = std::unique_ptr<void, CountingDeleter>(allocate_on_current_device(bytes, purpose),
                                                   CountingDeleter{bytes});
    count_device_bytes(bytes);
}

void DeviceMemory::CountingDeleter::operator()(void* data) const {
    static_cast<void>(cudaFree(data));  // fails on a lost device, where nothing needs to be freed
    count_device_bytes(-bytes);
}

void DeviceMemory::clear() const {
    if (!data_) return;
    const DeviceScope scope(device_);
    check(cudaMemset(data_.get(), 0, static_cast<std::size_t>(bytes())), "clearing memory");
    check(cudaStreamSynchronize(nullptr), "clearing memory");
}

struct DevicePool::PoolContents {
    int device = 0;
    mutable std::mutex mutex;
    index_t limit_bytes = 0;
    index_t held_bytes = 0;  ///< bytes of all allocations, borrowed or idle
    std::vector<DeviceMemory> idle;

    void free_idle() {
        for (const DeviceMemory& memory : idle) held_bytes -= memory.bytes();
        idle.clear();
    }
    /// Frees the idle allocations if `bytes` more exceed the limit. Throws OutOfMemory if they
    /// still do.
    void make_room(index_t bytes, const char* purpose) {
        const auto exceeds = [&] { return limit_bytes > 0 && held_bytes + bytes > limit_bytes; };
        if (exceeds()) free_idle();
        if (exceeds())
            throw OutOfMemory(
                message(format_bytes(bytes), " for ", purpose, " exceed the GPU's memory limit of ",
                        format_bytes(limit_bytes), ", of which ", format_bytes(held_bytes),
                        " are in use: raise the limit"),
                MemoryKind::gpu);
    }
};

DevicePool::DevicePool(int device, index_t limit_bytes)
    : contents_(std::make_shared<PoolContents>()) {
    contents_->device = device;
    contents_->limit_bytes = limit_bytes;
}

DevicePool::~DevicePool() = default;

DevicePool::BorrowedMemory DevicePool::take(index_t bytes, const char* purpose) {
    bytes = round_up(std::max<index_t>(bytes, 1), DeviceMemory::alignment);
    PoolContents& contents = *contents_;
    const std::lock_guard lock(contents.mutex);
    auto best = contents.idle.end();
    for (auto it = contents.idle.begin(); it != contents.idle.end(); ++it)
        // Much larger allocations are kept for requests that they fit.
        if (it->bytes() >= bytes && it->bytes() <= 2 * bytes + (index_t{1} << 20) &&
            (best == contents.idle.end() || it->bytes() < best->bytes()))
            best = it;
    DeviceMemory memory;
    if (best != contents.idle.end()) {
        memory = std::move(*best);
        contents.idle.erase(best);
    } else {
        // Allocations that are slightly too small would hardly fit the next request.
        std::erase_if(contents.idle, [&](const DeviceMemory& candidate) {
            const bool outgrown = candidate.bytes() < bytes && candidate.bytes() >= bytes / 2;
            if (outgrown) contents.held_bytes -= candidate.bytes();
            return outgrown;
        });
        contents.make_room(bytes, purpose);
        try {
            memory = DeviceMemory(contents.device, bytes);
        } catch (const OutOfMemory&) {
            if (contents.idle.empty()) throw;
            contents.free_idle();
            memory = DeviceMemory(contents.device, bytes);
        }
        // passes read the padding of rows of spectra, though it does not affect results
        memory.clear();
        contents.held_bytes += memory.bytes();
    }
    char* const data = memory.data();
    auto holder = std::make_shared<DeviceMemory>(std::move(memory));
    return BorrowedMemory(data, [contents = contents_, holder](char*) mutable {
        const std::lock_guard back(contents->mutex);
        contents->idle.push_back(std::move(*holder));
    });
}

std::shared_ptr<void> DevicePool::reserve(index_t bytes, const char* purpose) {
    const std::lock_guard lock(contents_->mutex);
    contents_->make_room(bytes, purpose);
    contents_->held_bytes += bytes;
    return {nullptr, [contents = contents_, bytes](void*) {
                const std::lock_guard back(contents->mutex);
                contents->held_bytes -= bytes;
            }};
}

void DevicePool::release() {
    const std::lock_guard lock(contents_->mutex);
    contents_->free_idle();
}

index_t DevicePool::limit_bytes() const {
    const std::lock_guard lock(contents_->mutex);
    return contents_->limit_bytes;
}

void DevicePool::lower_limit() {
    const std::lock_guard lock(contents_->mutex);
    contents_->free_idle();
    const index_t available = contents_->held_bytes + usable_device_bytes(contents_->device);
    // Memory within the limit was refused, so the limit falls by a quarter.
    const index_t smaller = contents_->limit_bytes > 0 ? contents_->limit_bytes / 4 * 3 : available;
    contents_->limit_bytes = std::max<index_t>(std::min(available, smaller), 1);
}

namespace {

void advise(char* data, index_t bytes, cudaMemoryAdvise advice, int device) {
#if CUDART_VERSION >= 13000
    const cudaMemLocation place{cudaMemLocationTypeDevice, device};
#else
    const int place = device;
#endif
    check(cudaMemAdvise(data, static_cast<std::size_t>(bytes), advice, place),
          "placing memory on several GPUs");
}

void prefetch_to_device(int device, char* data, index_t bytes, cudaStream_t stream) {
#if CUDART_VERSION >= 13000
    const cudaMemLocation place{cudaMemLocationTypeDevice, device};
    check(cudaMemPrefetchAsync(data, static_cast<std::size_t>(bytes), place, 0, stream),
          "placing memory on several GPUs");
#else
    check(cudaMemPrefetchAsync(data, static_cast<std::size_t>(bytes), device, stream),
          "placing memory on several GPUs");
#endif
}

}  // namespace

bool SpreadMemory::is_possible(const std::vector<int>& devices) {
    return std::all_of(devices.begin(), devices.end(), [](int device) {
        return device_attribute(cudaDevAttrConcurrentManagedAccess, device) != 0;
    });
}

SpreadMemory::SpreadMemory(const std::vector<DeviceShare>& shares, const char* purpose) {
    index_t bytes = 0;
    for (const DeviceShare& share : shares) bytes = checked_add(bytes, share.bytes);
    if (bytes == 0) return;
    void* data = nullptr;
    check(fault_due(InjectedFault::allocation)
              ? cudaErrorMemoryAllocation
              : cudaMallocManaged(&data, static_cast<std::size_t>(bytes), cudaMemAttachGlobal),
          purpose);
    data_.reset(data);
    char* at = as<char>();
    for (const DeviceShare& share : shares) {
        if (share.bytes == 0) continue;
        advise(at, share.bytes, cudaMemAdviseSetPreferredLocation, share.device);
        for (const DeviceShare& other : shares)
            advise(at, share.bytes, cudaMemAdviseSetAccessedBy, other.device);
        const DeviceScope scope(share.device);
        const CudaStream stream;
        prefetch_to_device(share.device, at, share.bytes, stream);
        stream.wait();
        at += share.bytes;
    }
}

void SpreadMemory::SpreadDeleter::operator()(void* data) const {
    static_cast<void>(cudaFree(data));
}

}  // namespace convolume::gpu
