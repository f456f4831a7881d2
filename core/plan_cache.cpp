// SPDX-License-Identifier: Apache-2.0
#include "core/plan_cache.hpp"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <iterator>

#include "core/gpu_backend.hpp"
#include "core/host_memory.hpp"
#include "core/system/system.hpp"
#include "core/threads.hpp"

namespace convolume {

namespace {

// Never destroyed, because CUDA may end before.
PlanCache* current_cache = nullptr;

constexpr index_t chunk_bytes = index_t{1} << 18;  // bytes that a thread compares or hashes at once

std::uint64_t mixed(std::uint64_t hash, std::uint64_t word) {
    constexpr std::uint64_t factor = 0x9E3779B97F4A7C15;
    hash = (hash ^ word) * factor;
    return hash ^ hash >> 29;
}

// Calls use(chunk, begin, bytes) for all chunks of `bytes` bytes, from all threads.
template <class Use>
void for_each_chunk(index_t bytes, const Use& use) {
    parallel_for(ceil_div(bytes, chunk_bytes), thread_count(0), [&](index_t chunk, int) {
        const index_t begin = chunk * chunk_bytes;
        use(chunk, begin, static_cast<std::size_t>(std::min(chunk_bytes, bytes - begin)));
    });
}

const std::byte* bytes_at(const Volume& volume, index_t begin) {
    return static_cast<const std::byte*>(volume.view().data) + begin;
}

}  // namespace

KernelCopy::KernelCopy(const ConstImageView& kernel) : shape(kernel.shape), type(kernel.type) {
    // Planning reports extents and memory that are impossible.
    if (std::min({shape.z, shape.y, shape.x}) < 1 || !kernel.data) {
        samples = std::make_shared<const Volume>();
        return;
    }
    Volume copy(shape, type);
    convert_pixels(kernel, copy.view(), 0);
    samples = std::make_shared<const Volume>(std::move(copy));
}

bool operator==(const KernelCopy& a, const KernelCopy& b) {
    if (a.shape != b.shape || a.type != b.type || a.bytes() != b.bytes()) return false;
    std::atomic<bool> equal{true};
    for_each_chunk(a.bytes(), [&](index_t, index_t begin, std::size_t bytes) {
        if (equal && std::memcmp(bytes_at(*a.samples, begin), bytes_at(*b.samples, begin), bytes))
            equal = false;
    });
    return equal;
}

std::size_t hash_of(const KernelCopy& kernel, const Shape3& image) {
    std::vector<std::uint64_t> parts(
        static_cast<std::size_t>(ceil_div(kernel.bytes(), chunk_bytes)));
    for_each_chunk(kernel.bytes(), [&](index_t chunk, index_t begin, std::size_t bytes) {
        std::uint64_t hash = bytes, word = 0;
        const std::byte* const from = bytes_at(*kernel.samples, begin);
        std::size_t at = 0;
        for (; at + sizeof(word) <= bytes; at += sizeof(word)) {
            std::memcpy(&word, from + at, sizeof(word));
            hash = mixed(hash, word);
        }
        for (; at < bytes; ++at) hash = mixed(hash, std::to_integer<std::uint64_t>(from[at]));
        parts[static_cast<std::size_t>(chunk)] = hash;
    });
    std::uint64_t hash = 0;
    for (const Shape3& shape : {kernel.shape, image})
        for (int a = 0; a < 3; ++a) hash = mixed(hash, static_cast<std::uint64_t>(shape[a]));
    for (const std::uint64_t part : parts) hash = mixed(hash, part);
    return hash;
}

PlanningState::PlanningState(const EngineChoice& engines)
    : gpus_started(false), threads(thread_count(engines.threads)) {
    const GpuBackend* const backend = gpu_backend();
    gpus_started = engines.device == EngineChoice::Device::automatic && backend != nullptr &&
                   backend->started();
}

PlanCache& PlanCache::instance() {
    // Not std::call_once, through which an exception cannot pass without memory.
    static const bool is_ready = [] {
        current_cache = new PlanCache;
        // Threads of the parent may hold locks of the cache, and CUDA does not work in the child.
        system::on_fork(nullptr, [] {
            PlanCache* const child = new PlanCache;
            child->host_limit_ = current_cache->host_limit_;
            child->gpu_limit_ = current_cache->gpu_limit_;
            current_cache = child;
        });
        return true;
    }();
    static_cast<void>(is_ready);
    return *current_cache;
}

std::shared_ptr<const void> PlanCache::find(std::size_t hash,
                                            const std::function<bool(const AnyKey&)>& is_key) {
    const std::lock_guard lock(mutex_);
    const auto found = std::find_if(entries_.begin(), entries_.end(), [&](const Entry& entry) {
        return entry.hash == hash && is_key(*entry.key);
    });
    if (found == entries_.end()) {
        ++misses_;
        return nullptr;
    }
    ++hits_;
    found->is_reused = true;
    entries_.splice(entries_.begin(), entries_, found);
    return found->plan;
}

void PlanCache::keep(std::size_t hash, std::unique_ptr<AnyKey> key,
                     std::shared_ptr<const void> plan, const PlanBytes& bytes) {
    // A plan has some small objects beside its workspaces.
    constexpr index_t small_objects = index_t{16} << 10;
    const PlanBytes all{bytes.host + small_objects, bytes.gpu};
    Entries dropped;
    const std::lock_guard lock(mutex_);
    const PlanCacheLimits most = limits();
    if (all.host > most.host_bytes || all.gpu > most.gpu_bytes) return;
    entries_.push_front({hash, std::move(key), std::move(plan), all});
    bytes_.host += all.host;
    bytes_.gpu += all.gpu;
    drop_unused(dropped);
    drop_excess(dropped);
}

template <class IsDropped>
void PlanCache::drop(const IsDropped& is_dropped, Entries& dropped) {
    for (auto entry = entries_.end(); entry != entries_.begin();) {
        --entry;
        if (!is_dropped(*entry)) continue;
        bytes_.host -= entry->bytes.host;
        bytes_.gpu -= entry->bytes.gpu;
        const auto next = std::next(entry);
        dropped.splice(dropped.end(), entries_, entry);
        entry = next;
    }
}

void PlanCache::drop_excess(Entries& dropped) {
    const PlanCacheLimits most = limits();
    drop(
        [&](const Entry& entry) {
            return (bytes_.host > most.host_bytes && entry.bytes.host > 0) ||
                   (bytes_.gpu > most.gpu_bytes && entry.bytes.gpu > 0);
        },
        dropped);
}

// The choice is pseudorandom, so that of more kernels that take turns some are found again, and
// then stay.
void PlanCache::drop_unused(Entries& dropped) {
    constexpr std::uint64_t most = 48;
    std::uint64_t unused = 0;
    for (const Entry& entry : entries_) unused += !entry.is_reused;
    if (unused <= most) return;
    const std::uint64_t chosen = 1 + mixed(0, static_cast<std::uint64_t>(misses_)) % most;
    std::uint64_t number = unused;  // counts from the last entry to the first, which is new
    drop([&](const Entry& entry) { return !entry.is_reused && --number == chosen; }, dropped);
}

PlanCacheLimits PlanCache::limits() {
    if (!host_limit_) host_limit_ = available_host_bytes() / 8;
    // A look at GPUs would start them.
    const GpuBackend* const backend = gpu_backend();
    if (!gpu_limit_ && backend && backend->started()) gpu_limit_ = backend->memory_bytes() / 4;
    return {*host_limit_, gpu_limit_.value_or(0)};
}

PlanCacheInfo PlanCache::info() {
    const std::lock_guard lock(mutex_);
    return {
        static_cast<index_t>(entries_.size()), bytes_.host, bytes_.gpu, limits(), hits_, misses_};
}

void PlanCache::limit(const std::optional<index_t>& host_bytes,
                      const std::optional<index_t>& gpu_bytes) {
    if (host_bytes.value_or(0) < 0 || gpu_bytes.value_or(0) < 0)
        throw InvalidArgument("a limit of the cache of plans is negative: give 0 bytes or more");
    Entries dropped;
    const std::lock_guard lock(mutex_);
    if (host_bytes) host_limit_ = host_bytes;
    if (gpu_bytes) gpu_limit_ = gpu_bytes;
    drop_excess(dropped);
}

bool PlanCache::clear() {
    Entries dropped;
    const std::lock_guard lock(mutex_);
    drop([](const Entry&) { return true; }, dropped);
    return !dropped.empty();
}

bool PlanCache::release_gpu_memory() {
    Entries dropped;
    const std::lock_guard lock(mutex_);
    drop([](const Entry& entry) { return entry.bytes.gpu > 0; }, dropped);
    return !dropped.empty();
}

index_t PlanCache::gpu_bytes() {
    const std::lock_guard lock(mutex_);
    return bytes_.gpu;
}

PlanCacheInfo plan_cache_info() {
    return PlanCache::instance().info();
}

void limit_plan_cache(const std::optional<index_t>& host_bytes,
                      const std::optional<index_t>& gpu_bytes) {
    PlanCache::instance().limit(host_bytes, gpu_bytes);
}

void clear_plan_cache() {
    PlanCache::instance().clear();
    if (const GpuBackend* const backend = gpu_backend()) backend->release_idle_memory();
    system::return_freed_memory();
}

}  // namespace convolume
