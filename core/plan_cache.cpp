// SPDX-License-Identifier: Apache-2.0
#include "core/plan_cache.hpp"

#include <algorithm>
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

}  // namespace

KernelCopy::KernelCopy(const ConstImageView& kernel) : shape(kernel.shape), type(kernel.type) {
    const auto sample = size_of(type);
    const auto row = static_cast<std::size_t>(shape.x) * sample;
    // Planning reports extents and memory that are impossible.
    if (std::min({shape.z, shape.y, shape.x}) < 1 || !kernel.data) return;
    samples.resize(static_cast<std::size_t>(element_count(shape)) * sample);
    std::byte* to = samples.data();
    for (index_t z = 0; z < shape.z; ++z)
        for (index_t y = 0; y < shape.y; ++y, to += row) {
            if (kernel.strides.x == 1) {
                std::memcpy(to, kernel.at(z, y, 0), row);
                continue;
            }
            for (index_t x = 0; x < shape.x; ++x)
                std::memcpy(to + static_cast<std::size_t>(x) * sample, kernel.at(z, y, x), sample);
        }
}

std::size_t hash_of(const KernelCopy& kernel, const Shape3& image) {
    constexpr std::uint64_t factor = 0x9E3779B97F4A7C15;
    std::uint64_t hash = kernel.samples.size();
    const auto add = [&](std::uint64_t word) {
        hash = (hash ^ word) * factor;
        hash ^= hash >> 29;
    };
    for (const Shape3& shape : {kernel.shape, image})
        for (int a = 0; a < 3; ++a) add(static_cast<std::uint64_t>(shape[a]));
    std::size_t at = 0;
    for (; at + 8 <= kernel.samples.size(); at += 8) {
        std::uint64_t word = 0;
        std::memcpy(&word, kernel.samples.data() + at, 8);
        add(word);
    }
    for (; at < kernel.samples.size(); ++at)
        add(std::to_integer<std::uint64_t>(kernel.samples[at]));
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
}

}  // namespace convolume
