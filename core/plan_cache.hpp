// SPDX-License-Identifier: Apache-2.0
#pragma once
// The cache of planned objects behind functions that plan and compute in one call. A key holds all
// that determines the object. Keys are compared as a whole, so that an object is never taken for
// another one.

#include <cstddef>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <typeinfo>
#include <utility>

#include "convolume/cache.hpp"
#include "convolume/engines.hpp"
#include "convolume/error.hpp"
#include "convolume/volume.hpp"

namespace convolume {

/// A copy of a kernel's samples, which can be compared. Its own copies share the samples.
struct KernelCopy {
    Shape3 shape;
    PixelType type = PixelType::float32;
    std::shared_ptr<const Volume> samples;  ///< empty for kernels without samples or memory

    explicit KernelCopy(const ConstImageView& kernel);
    index_t bytes() const { return samples->bytes(); }
    friend bool operator==(const KernelCopy& a, const KernelCopy& b);
};

/// Returns a hash of a kernel and of the shape of the image that it is for.
std::size_t hash_of(const KernelCopy& kernel, const Shape3& image);

/// State of the process on which plans depend beside their arguments.
struct PlanningState {
    explicit PlanningState(const EngineChoice& engines);

    bool gpus_started;  ///< whether the start of GPUs costs nothing
    int threads;        ///< number of threads that EngineChoice::threads stands for
    friend bool operator==(const PlanningState&, const PlanningState&) = default;
};

/// Bytes that a planned object may take.
struct PlanBytes {
    index_t host = 0, gpu = 0;
};

class PlanCache {
  public:
    /// Returns the cache of this process. A forked process has another one.
    static PlanCache& instance();

    /// Returns the object of `key`, or the one that make() returns as std::shared_ptr<Plan>. That
    /// is kept if the bytes that bytes_of(plan) returns fit the limits. If make() runs out of
    /// memory, it is called again after all kept objects were dropped. Key has a copy constructor
    /// and the members hash() and fields(), a tuple of all that determines the object.
    template <class Plan, class Key, class Make, class BytesOf>
    std::shared_ptr<Plan> find_or_make(const Key& key, const Make& make, const BytesOf& bytes_of) {
        const std::size_t hash = key.hash();
        const auto is_key = [&](const AnyKey& kept) {
            return kept.type() == typeid(Key) &&
                   static_cast<const TypedKey<Key>&>(kept).key.fields() == key.fields();
        };
        if (auto found = find(hash, is_key))
            return std::static_pointer_cast<Plan>(std::move(found));
        std::shared_ptr<Plan> made;
        try {
            made = make();
        } catch (const OutOfMemory&) {
            if (!clear()) throw;
            made = make();
        }
        try {
            keep(hash, std::make_unique<TypedKey<Key>>(key), made, bytes_of(*made));
        } catch (const std::bad_alloc&) {
            return made;  // it serves this call alone
        }
        return made;
    }

    PlanCacheInfo info();
    void limit(const std::optional<index_t>& host_bytes, const std::optional<index_t>& gpu_bytes);
    /// Drops all objects. Returns whether there were any.
    bool clear();
    /// Drops the objects that hold memory of GPUs. Returns whether there were any.
    bool release_gpu_memory();
    /// Returns the bytes of GPUs that release_gpu_memory() would free at most.
    index_t gpu_bytes();

  private:
    struct AnyKey {
        virtual ~AnyKey() = default;
        virtual const std::type_info& type() const = 0;
    };
    template <class Key>
    struct TypedKey final : AnyKey {
        explicit TypedKey(const Key& copied) : key(copied) {}
        const std::type_info& type() const override { return typeid(Key); }
        Key key;
    };
    struct Entry {
        std::size_t hash;
        std::unique_ptr<AnyKey> key;
        std::shared_ptr<const void> plan;
        PlanBytes bytes;
        bool is_reused = false;  ///< whether it was found since it was kept
    };
    using Entries = std::list<Entry>;

    std::shared_ptr<const void> find(std::size_t hash,
                                     const std::function<bool(const AnyKey&)>& is_key);
    void keep(std::size_t hash, std::unique_ptr<AnyKey> key, std::shared_ptr<const void> plan,
              const PlanBytes& bytes);
    /// Moves the entries for which is_dropped(entry) holds to `dropped`, from the last on. They are
    /// destroyed when the lock is released, since that takes time and may wait for a GPU.
    template <class IsDropped>
    void drop(const IsDropped& is_dropped, Entries& dropped);
    void drop_excess(Entries& dropped);
    /// Drops one of the objects that were never found again, if there are too many of them: a
    /// caller whose kernels are all different would fill the memory with plans of no use.
    void drop_unused(Entries& dropped);
    PlanCacheLimits limits();

    std::mutex mutex_;
    Entries entries_;  ///< in order of their last use, the latest first
    PlanBytes bytes_;
    std::optional<index_t> host_limit_, gpu_limit_;  ///< none: the defaults
    index_t hits_ = 0, misses_ = 0;
};

}  // namespace convolume
