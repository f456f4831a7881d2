// SPDX-License-Identifier: Apache-2.0
#pragma once
// A block whose planes of spectra are in one range of addresses that is spread over the memory of
// several devices. Each device holds some planes, and transforms a share of the columns along z,
// for which it reads and writes the planes of all devices. No copy of the volume is transposed.

#include <memory>
#include <vector>

#include "gpu/runtime/device.hpp"
#include "gpu/runtime/device_memory.hpp"
#include "gpu/runtime/meeting.hpp"
#include "gpu/runtime/peer_memory.hpp"
#include "gpu/runtime/stream.hpp"
#include "gpu/volumes/pass_transform.hpp"
#include "gpu/volumes/spread_geometry.hpp"

namespace convolume::gpu {

/// Returns a sentence that says why there are no passes for a grid; empty if there are.
std::string why_no_passes(const Block& block, const BlockGeometry& geometry);

class SpreadBlock {
  public:
    /// Allocates memory on all devices, which may be named several times. With `whole_rows`,
    /// columns are divided by rows of planes. Throws OutOfMemory.
    SpreadBlock(const Block& block, const BlockGeometry& geometry, const std::vector<int>& devices,
                bool whole_rows = false);

    std::size_t parts() const { return devices_.size(); }
    const BlockGeometry& geometry() const { return geometry_; }
    const PassTransform& transform() const { return *transform_; }
    const ZWindow& window() const { return window_; }
    /// Returns the slots of the ring in a device's memory.
    IndexRange slots(std::size_t part) const { return even_part(geometry_.ring, part, parts()); }
    const ColumnShare& columns(std::size_t part) const { return shares_[part].columns; }
    /// Returns the memory that a device works with: the ring of all devices, and its own share of
    /// the kernel.
    BlockMemory memory(std::size_t part) const;
    index_t bytes(std::size_t part) const;

    /// Enqueues the transform of a kernel's taps, which are on the first device.
    void enqueue_kernel(const StreamList& streams, const DeviceTaps& taps) const;
    /// Enqueues the pass along z over all columns, after the present work on all CUDA streams.
    /// Later work on all waits for it. Calls around(part, pass) for each device, which calls
    /// pass().
    template <class Around>
    void enqueue_z(const StreamList& streams, const Around& around) const {
        planes_loaded_.enqueue(streams);
        on_devices(streams, [&](std::size_t part, cudaStream_t stream) {
            around(part, [&] { convolve_columns_of(part, stream); });
        });
        convolved_.enqueue(streams);
    }
    /// Runs every pass of all devices once, on the ring's zeros, to make the tables of the passes.
    void make_tables(const StreamList& streams) const;

  private:
    struct Share {
        ColumnShare columns;
        DeviceMemory kernel, batch;
    };
    template <class Work>
    void on_devices(const StreamList& streams, const Work& work) const {
        for (std::size_t i = 0; i < devices_.size(); ++i) {
            const DeviceScope scope(devices_[i]);
            work(i, streams[i]);
        }
    }
    void convolve_columns_of(std::size_t part, cudaStream_t stream) const;

    BlockGeometry geometry_;
    std::vector<int> devices_;
    ZWindow window_;
    std::unique_ptr<PassTransform> transform_;
    std::vector<Share> shares_;
    PeerMemory ring_;
    Meeting taps_loaded_, kernel_ready_, planes_loaded_, convolved_;
};

}  // namespace convolume::gpu
