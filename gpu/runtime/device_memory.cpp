// SPDX-License-Identifier: Apache-2.0
#include "gpu/runtime/device_memory.hpp"

#include <cuda_runtime_api.h>

#include <algorithm>
#include <atomic>
#include <utility>

#include "convolume/error.hpp"
#include "convolume/options.hpp"
#include "gpu/runtime/check.hpp"
#include "gpu/runtime/device.hpp"
#include "gpu/runtime/fault.hpp"
#include "gpu/runtime/stream.hpp"

namespace convolume::gpu {

namespace {
std::atomic<index_t> current_bytes{0};
std::atomic<index_t> peak_bytes{0};

void count(index_t bytes) {
    const index_t now = current_bytes.fetch_add(bytes) + bytes;
    index_t peak = peak_bytes.load();
    while (now > peak && !peak_bytes.compare_exchange_weak(peak, now)) {
    }
}
}  // namespace

DeviceMemoryUse device_memory_use() {
    return {current_bytes.load(), peak_bytes.load()};
}
void reset_device_memory_peak() {
    peak_bytes.store(current_bytes.load());
}

DeviceMemory::DeviceMemory(int device, index_t bytes, const char* purpose) : device_(device) {
    if (bytes <= 0) return;
    const DeviceScope scope(device);
    bytes = round_up(bytes, alignment);
    void* data = nullptr;
    check(fault_due(Fault::allocation) ? cudaErrorMemoryAllocation
                                       : cudaMalloc(&data, static_cast<std::size_t>(bytes)),
          purpose);
    data_ = std::unique_ptr<void, Free>(data, Free{bytes});
    count(bytes);
}

void DeviceMemory::Free::operator()(void* data) const {
    static_cast<void>(cudaFree(data));  // fails on a lost device, where nothing needs to be freed
    count(-bytes);
}

void DeviceMemory::clear() const {
    if (!data_) return;
    const DeviceScope scope(device_);
    check(cudaMemset(data_.get(), 0, static_cast<std::size_t>(bytes())), "clearing memory");
    check(cudaStreamSynchronize(nullptr), "clearing memory");
}

struct DevicePool::State {
    int device = 0;
    mutable std::mutex mutex;
    index_t limit_bytes = 0;
    index_t held_bytes = 0;  ///< bytes of all allocations, borrowed or idle
    std::vector<DeviceMemory> idle;

    void free_idle() {
        for (const DeviceMemory& memory : idle) held_bytes -= memory.bytes();
        idle.clear();
    }
};

DevicePool::DevicePool(int device, index_t limit_bytes) : state_(std::make_shared<State>()) {
    state_->device = device;
    state_->limit_bytes = limit_bytes;
}

DevicePool::~DevicePool() = default;

DevicePool::Lease DevicePool::take(index_t bytes, const char* purpose) {
    bytes = round_up(std::max<index_t>(bytes, 1), DeviceMemory::alignment);
    State& state = *state_;
    const std::lock_guard lock(state.mutex);
    auto best = state.idle.end();
    for (auto it = state.idle.begin(); it != state.idle.end(); ++it)
        // Much larger allocations are kept for requests that they fit.
        if (it->bytes() >= bytes && it->bytes() <= 2 * bytes + (index_t{1} << 20) &&
            (best == state.idle.end() || it->bytes() < best->bytes()))
            best = it;
    DeviceMemory memory;
    if (best != state.idle.end()) {
        memory = std::move(*best);
        state.idle.erase(best);
    } else {
        const auto exceeds = [&] {
            return state.limit_bytes > 0 && state.held_bytes + bytes > state.limit_bytes;
        };
        // Allocations that are slightly too small would hardly fit the next request.
        std::erase_if(state.idle, [&](const DeviceMemory& candidate) {
            const bool outgrown = candidate.bytes() < bytes && candidate.bytes() >= bytes / 2;
            if (outgrown) state.held_bytes -= candidate.bytes();
            return outgrown;
        });
        if (exceeds()) state.free_idle();
        if (exceeds())
            throw OutOfMemory(
                message(format_bytes(bytes), " for ", purpose, " exceed the GPU's memory limit of ",
                        format_bytes(state.limit_bytes), ", of which ",
                        format_bytes(state.held_bytes), " are in use: raise the limit"),
                MemoryKind::gpu);
        try {
            memory = DeviceMemory(state.device, bytes);
        } catch (const OutOfMemory&) {
            if (state.idle.empty()) throw;
            state.free_idle();
            memory = DeviceMemory(state.device, bytes);
        }
        // passes read the padding of rows of spectra, though it does not affect results
        memory.clear();
        state.held_bytes += memory.bytes();
    }
    char* const data = memory.data();
    auto holder = std::make_shared<DeviceMemory>(std::move(memory));
    return Lease(data, [state = state_, holder](char*) mutable {
        const std::lock_guard back(state->mutex);
        state->idle.push_back(std::move(*holder));
    });
}

void DevicePool::release() {
    const std::lock_guard lock(state_->mutex);
    state_->free_idle();
}

index_t DevicePool::limit_bytes() const {
    const std::lock_guard lock(state_->mutex);
    return state_->limit_bytes;
}

void DevicePool::lower_limit() {
    const std::lock_guard lock(state_->mutex);
    state_->free_idle();
    const index_t can_be_had = state_->held_bytes + usable_device_bytes(state_->device);
    // Memory within the limit was refused, so the limit falls by a quarter.
    const index_t smaller = state_->limit_bytes > 0 ? state_->limit_bytes / 4 * 3 : can_be_had;
    state_->limit_bytes = std::max<index_t>(std::min(can_be_had, smaller), 1);
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

void move_to(int device, char* data, index_t bytes, cudaStream_t stream) {
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

bool SpreadMemory::possible(const std::vector<int>& devices) {
    return std::all_of(devices.begin(), devices.end(), [](int device) {
        int concurrent = 0;
        check(cudaDeviceGetAttribute(&concurrent, cudaDevAttrConcurrentManagedAccess, device),
              "asking what a GPU can do");
        return concurrent != 0;
    });
}

SpreadMemory::SpreadMemory(const std::vector<Part>& parts, const char* purpose) {
    index_t bytes = 0;
    for (const Part& part : parts) bytes = checked_add(bytes, part.bytes);
    if (bytes == 0) return;
    void* data = nullptr;
    check(fault_due(Fault::allocation)
              ? cudaErrorMemoryAllocation
              : cudaMallocManaged(&data, static_cast<std::size_t>(bytes), cudaMemAttachGlobal),
          purpose);
    data_.reset(data);
    char* at = as<char>();
    for (const Part& part : parts) {
        if (part.bytes == 0) continue;
        advise(at, part.bytes, cudaMemAdviseSetPreferredLocation, part.device);
        for (const Part& other : parts)
            advise(at, part.bytes, cudaMemAdviseSetAccessedBy, other.device);
        const DeviceScope scope(part.device);
        const CudaStream stream;
        move_to(part.device, at, part.bytes, stream);
        stream.wait();
        at += part.bytes;
    }
}

void SpreadMemory::Free::operator()(void* data) const {
    static_cast<void>(cudaFree(data));
}

}  // namespace convolume::gpu
