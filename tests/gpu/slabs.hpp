// SPDX-License-Identifier: Apache-2.0
#pragma once
// Helpers for tests of data in the memory of several GPUs.

#include <cuda_runtime_api.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "convolume/device.hpp"
#include "convolume/volume.hpp"
#include "gpu/runtime/check.hpp"
#include "gpu/runtime/device.hpp"
#include "gpu/runtime/device_memory.hpp"
#include "gpu/runtime/peer_memory.hpp"
#include "gpu/runtime/stream.hpp"
#include "gpu/volumes/spread_tuning.hpp"
#include "tests/catch.hpp"
#include "tests/gpu/device.hpp"
#include "tests/support/random.hpp"

namespace convolume::testing {

/// Planes of a volume in slabs, each between guards of poison on its device. A read beyond a slab
/// gives NaN, and a write beyond it changes a guard.
class VolumeSlabs {
  public:
    struct Planes {
        int device;
        index_t begin, count;
    };

    VolumeSlabs(const std::vector<Planes>& slabs, const Volume& volume) : slabs_(slabs) {
        const Shape3 shape = volume.shape();
        plane_bytes_ = volume.bytes() / std::max<index_t>(shape.z, 1);
        guard_bytes_ = round_up(plane_bytes_, gpu::DeviceMemory::alignment);
        for (const Planes& slab : slabs_) {
            const gpu::DeviceScope scope(slab.device);
            memory_.emplace_back(slab.device, bytes_of(slab) + 2 * guard_bytes_);
            gpu::check(cudaMemset(memory_.back().data(), 0xFF, size(memory_.back().bytes())),
                       "poisoning guards");
        }
        fill(volume);
    }

    /// Copies a volume's planes to the slabs and waits.
    void fill(const Volume& volume) {
        for (std::size_t i = 0; i < slabs_.size(); ++i) {
            const gpu::DeviceScope scope(slabs_[i].device);
            gpu::check(cudaMemcpy(data(i), bytes_at(volume, slabs_[i]), size(bytes_of(slabs_[i])),
                                  cudaMemcpyHostToDevice),
                       "copying a slab");
            gpu::check(cudaDeviceSynchronize(), "copying a slab");
        }
    }
    /// Copies the slabs to a volume, after waiting for all devices.
    void fetch(Volume& volume) const {
        for (const Planes& slab : slabs_) {
            const gpu::DeviceScope scope(slab.device);
            gpu::check(cudaDeviceSynchronize(), "working on the GPUs");
        }
        for (std::size_t i = 0; i < slabs_.size(); ++i) {
            const gpu::DeviceScope scope(slabs_[i].device);
            gpu::check(cudaMemcpy(const_cast<char*>(bytes_at(volume, slabs_[i])), data(i),
                                  size(bytes_of(slabs_[i])), cudaMemcpyDeviceToHost),
                       "copying a slab");
        }
    }
    /// Whether no guard was written to.
    bool guards_are_intact() const {
        for (std::size_t i = 0; i < slabs_.size(); ++i) {
            const gpu::DeviceScope scope(slabs_[i].device);
            std::vector<unsigned char> guards(size(2 * guard_bytes_));
            gpu::check(cudaMemcpy(guards.data(), memory_[i].data(), size(guard_bytes_),
                                  cudaMemcpyDeviceToHost),
                       "copying guards");
            gpu::check(cudaMemcpy(guards.data() + guard_bytes_, data(i) + bytes_of(slabs_[i]),
                                  size(guard_bytes_), cudaMemcpyDeviceToHost),
                       "copying guards");
            if (std::any_of(guards.begin(), guards.end(),
                            [](unsigned char byte) { return byte != 0xFF; }))
                return false;
        }
        return true;
    }

    char* data(std::size_t slab) const { return memory_[slab].data() + guard_bytes_; }
    std::vector<const void*> inputs() const {
        std::vector<const void*> result;
        for (std::size_t i = 0; i < slabs_.size(); ++i) result.push_back(data(i));
        return result;
    }
    std::vector<void*> outputs() const {
        std::vector<void*> result;
        for (std::size_t i = 0; i < slabs_.size(); ++i) result.push_back(data(i));
        return result;
    }

  private:
    static std::size_t size(index_t bytes) { return static_cast<std::size_t>(bytes); }
    index_t bytes_of(const Planes& slab) const { return slab.count * plane_bytes_; }
    const char* bytes_at(const Volume& volume, const Planes& slab) const {
        return static_cast<const char*>(volume.view().data) + slab.begin * plane_bytes_;
    }

    std::vector<Planes> slabs_;
    index_t plane_bytes_ = 0, guard_bytes_ = 0;
    std::vector<gpu::DeviceMemory> memory_;
};

inline VolumeSlabs input_slabs(const DeviceConvolver& convolver, const Volume& image) {
    std::vector<VolumeSlabs::Planes> planes;
    for (const DeviceSlab& slab : convolver.slabs())
        planes.push_back({slab.device, slab.input_begin, slab.input_planes});
    return {planes, image};
}
inline VolumeSlabs output_slabs(const DeviceConvolver& convolver, const Volume& result) {
    std::vector<VolumeSlabs::Planes> planes;
    for (const DeviceSlab& slab : convolver.slabs())
        planes.push_back({slab.device, slab.output_begin, slab.output_planes});
    return {planes, result};
}

/// A CUDA stream on each device of a convolver's slabs.
class SlabStreams {
  public:
    explicit SlabStreams(const DeviceConvolver& convolver) {
        for (const DeviceSlab& slab : convolver.slabs()) {
            const gpu::DeviceScope scope(slab.device);
            owned_.push_back(std::make_unique<gpu::CudaStream>());
            streams_.emplace_back(static_cast<cudaStream_t>(*owned_.back()));
        }
    }
    const std::vector<DeviceStream>& get() const { return streams_; }

  private:
    std::vector<std::unique_ptr<gpu::CudaStream>> owned_;
    std::vector<DeviceStream> streams_;
};

/// Sets the tuning of convolvers that are made in its scope.
class TuningScope {
  public:
    explicit TuningScope(const gpu::SpreadTuning& tuning) : before_(gpu::spread_tuning()) {
        gpu::spread_tuning() = tuning;
    }
    ~TuningScope() { gpu::spread_tuning() = before_; }
    TuningScope(const TuningScope&) = delete;
    TuningScope& operator=(const TuningScope&) = delete;

  private:
    gpu::SpreadTuning before_;
};

inline Volume random_image(const Shape3& shape, std::uint64_t number) {
    Random random(20240229, number);
    return to_volume(random.array(shape, false), PixelType::float32);
}

}  // namespace convolume::testing

// Skips a test case, which has the tag [gpu], if there are fewer than two devices that reach each
// other's memory.
#define NEEDS_TWO_GPUS()                                                             \
    NEEDS_GPU();                                                                     \
    if (convolume::gpu::device_count() < 2) SKIP("only one GPU here");               \
    if (const std::string why_no_peers = convolume::gpu::why_no_peer_memory({0, 1}); \
        !why_no_peers.empty())                                                       \
    SKIP(why_no_peers)
