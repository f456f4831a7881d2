// SPDX-License-Identifier: Apache-2.0
#pragma once
// Execution of one block on a device: concurrent uploads, passes and downloads.

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

/// A kernel on the device: its spectra, or the taps of its part if it is used once.
class GpuEngineKernel : public EngineKernel {
  public:
    GpuEngineKernel(DevicePool::BorrowedMemory memory, const DeviceTaps& taps, bool transformed)
        : memory_(std::move(memory)), taps_(taps), transformed_(transformed) {}
    /// Returns null if the taps are not transformed yet.
    char* spectra() const { return transformed_ ? memory_.get() : nullptr; }
    const DeviceTaps& taps() const { return taps_; }

  private:
    DevicePool::BorrowedMemory memory_;
    DeviceTaps taps_;
    bool transformed_;
};

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

/// A block to convolve, with its layout, transform, data and kernel.
struct BlockTask {
    const Block& block;
    const BlockGeometry& geometry;
    const BlockTransform& transform;
    const TaskGathers& gathers;
    const BlockInput& input;
    const BlockOutput& output;
    const GpuEngineKernel& kernel;
    char* workspace;
    int number;
};

class BlockRun {
  public:
    /// All arguments must outlive this object.
    BlockRun(DeviceResources& resources, TaskStreams& streams, const BlockTask& task,
             const ExecutionContext& context);

    ExecutionReport run();

  private:
    struct TransferBuffers {
        char* data = nullptr;
        index_t bytes = 0;        ///< bytes of one buffer
        index_t plane_bytes = 0;  ///< bytes of a plane of this task's pixels
        index_t planes() const { return std::max<index_t>(1, bytes / plane_bytes); }
    };

    void upload_lists();
    void load(index_t begin, index_t end);
    void convolve(const ZWindow& window);
    void store(index_t begin, index_t end, const ZWindow& window);
    void report_progress(double done);

    DeviceResources& resources_;
    TaskStreams& streams_;
    const BlockTask task_;
    const ExecutionContext& context_;
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
};

}  // namespace convolume::gpu
