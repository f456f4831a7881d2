// SPDX-License-Identifier: Apache-2.0
#pragma once
// Planes of a block on their way between the host's images and the spectra on a device: uploads
// with forward transforms, and inverse transforms with downloads.

#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory>
#include <mutex>
#include <vector>

#include "convolume/error.hpp"
#include "convolume/shape.hpp"
#include "gpu/runtime/device_memory.hpp"
#include "gpu/runtime/stream.hpp"
#include "gpu/runtime/transfers.hpp"
#include "gpu/volumes/block_transform.hpp"

namespace convolume::gpu {

/// The section of a source axis that a gather reads, and the gather relative to it.
struct AxisGather {
    index_t begin = 0, end = 0;  ///< source indices; empty if everything is zero
    std::vector<std::int32_t> list;
    bool is_identity = true;

    explicit AxisGather(const std::vector<index_t>& indices) {
        begin = std::numeric_limits<index_t>::max();
        for (const index_t i : indices)
            if (i >= 0) {
                begin = std::min(begin, i);
                end = std::max(end, i + 1);
            }
        if (end == 0) begin = 0;
        if (end - begin > std::numeric_limits<std::int32_t>::max())
            throw InvalidArgument(
                message("a row of ", end - begin, " samples is too long for a GPU: use tiles"));
        list.reserve(indices.size());
        for (const index_t i : indices) {
            list.push_back(static_cast<std::int32_t>(i < 0 ? -1 : i - begin));
            is_identity = is_identity && i == begin + static_cast<index_t>(list.size()) - 1;
        }
    }
    index_t extent() const { return end - begin; }
};

/// Gathers of rows and columns.
struct TaskGathers {
    AxisGather y, x;
};

/// Returns the bytes of a plane of these images.
inline PlaneBytes plane_bytes(const Block& block, const TaskGathers& gathers,
                              const BlockInput& input, const BlockOutput& output) {
    return {std::max<index_t>(
                1, gathers.y.extent() * gathers.x.extent() * sample_bytes(input.source.type)),
            block.axes[1].kept * block.axes[2].kept * sample_bytes(output.target.type)};
}

/// Resources that the tasks of an engine share.
struct DeviceResources {
    int device = 0;
    int engine = 0;  ///< value of EngineInfo::index
    int host_threads = 1;
    std::shared_ptr<BusGate> gate;
    DevicePool memory;
    StagingPool up_staging, down_staging;
    TaskStreamsPool& streams;
    /// Held by the task that transforms and uses a kernel for single use: one task at a time.
    std::mutex single_use_kernel;
};

/// Number of staging buffers of one task and direction.
inline constexpr int staging_buffers = 4;

/// A block to convolve, with its layout, transform and data.
struct BlockTask {
    const Block& block;
    const BlockGeometry& geometry;
    const BlockTransform& transform;
    const TaskGathers& gathers;
    const BlockInput& input;
    const BlockOutput& output;
    int number;
};

/// The planes of one task that one device loads and stores.
class BlockPlanes {
  public:
    /// Planes of spectra are in memory.ring. `buffers` has transfer_bytes(task.geometry). All
    /// arguments must outlive this object, apart from `memory`.
    BlockPlanes(DeviceResources& resources, TaskStreams& streams, const BlockTask& task,
                const BlockMemory& memory, char* buffers, const ExecutionContext& context);

    /// Uploads the gathers of y and x, and clears the counters.
    void prepare();
    /// Returns the number of planes that are loaded or stored at a time.
    index_t planes_loaded_at_once() const { return source_buffers_.planes(); }
    index_t planes_stored_at_once() const { return target_buffers_.planes(); }
    /// Locks the link against other tasks, if the transfer gate says so, until finish_loads().
    void lock_for_loads();
    /// Loads planes [begin, end) of the block. Uploads contiguous planes of the source together.
    void load(index_t begin, index_t end);
    /// Waits for the uploads if they hold the link, and unlocks it.
    void finish_loads();
    /// Stores results [begin, end) of a window.
    void store(index_t begin, index_t end, const ZWindow& window);
    /// Returns when all results are in the target.
    void finish_stores();
    /// Unlocks the link after an exception, when all transfers have ended. For the thread that has
    /// locked it.
    void release_link() noexcept;
    /// Returns the counters, after everything has ended.
    ExecutionReport report();
    DeviceTimeline& timeline() { return timeline_; }

  private:
    struct TransferBuffers {
        char* data = nullptr;
        index_t bytes = 0;        ///< bytes of one buffer
        index_t plane_bytes = 0;  ///< bytes of a plane of this task's pixels
        index_t planes() const { return std::max<index_t>(1, bytes / plane_bytes); }
    };

    DeviceResources& resources_;
    TaskStreams& streams_;
    const BlockTask task_;
    const AxisGather &gather_y_, &gather_x_;
    BlockMemory memory_;
    TransferBuffers source_buffers_, target_buffers_;
    std::int32_t *list_y_ = nullptr, *list_x_ = nullptr;
    /// counters: clamped low, clamped high, inputs that are not finite.
    unsigned long long* clamped_ = nullptr;
    char* lists_ = nullptr;
    std::size_t loads_ = 0, stores_ = 0;  ///< number of transfer buffers used so far
    DeviceTimeline timeline_;
    Uploader uploader_;
    Downloader downloader_;
    BusGate::Lock up_, down_;
};

}  // namespace convolume::gpu
