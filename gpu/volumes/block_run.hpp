// SPDX-License-Identifier: Apache-2.0
#pragma once
// One block on its way through a device: uploads, passes and downloads side by side.

#include <memory>
#include <mutex>

#include "gpu/runtime/device_memory.hpp"
#include "gpu/runtime/task_streams.hpp"
#include "gpu/runtime/transfers.hpp"
#include "gpu/volumes/axis_gather.hpp"
#include "gpu/volumes/block_transform.hpp"

namespace convolume::gpu {

/// A kernel on the device: its spectra, or, of one that serves once, the taps of its part.
class GpuKernel : public EngineKernel {
  public:
    GpuKernel(DevicePool::Lease memory, const DeviceTaps& taps, bool transformed)
        : memory_(std::move(memory)), taps_(taps), transformed_(transformed) {}
    /// Null where the taps are still to be transformed.
    char* spectra() const { return transformed_ ? memory_.get() : nullptr; }
    const DeviceTaps& taps() const { return taps_; }

  private:
    DevicePool::Lease memory_;
    DeviceTaps taps_;
    bool transformed_;
};

/// What the tasks of an engine share.
struct DeviceResources {
    int device = 0;
    int engine = 0;  ///< EngineInfo::index
    int host_threads = 1;
    std::shared_ptr<Gate> gate;
    DevicePool memory;
    StagingPool up_staging, down_staging;
    TaskStreamsPool streams;
    /// Held by the task that transforms and uses a kernel that serves once: one at a time.
    std::mutex single_use_kernel;
};

/// One block to convolve, and how.
struct BlockTask {
    const Block& block;
    const BlockGeometry& geometry;
    const BlockTransform& transform;
    const TaskGathers& gathers;
    const BlockInput& input;
    const BlockOutput& output;
    const GpuKernel& kernel;
    char* workspace;
    int number;
};

class BlockRun {
  public:
    /// Everything given must outlive it.
    BlockRun(DeviceResources& resources, TaskStreams& streams, const BlockTask& task,
             const ExecutionContext& context);

    ExecutionReport run();

  private:
    struct TransferBuffers {
        char* data = nullptr;
        index_t bytes = 0;        ///< of one buffer
        index_t plane_bytes = 0;  ///< of this task's own pixels
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
    TransferBuffers source_, target_;
    std::int32_t *list_y_ = nullptr, *list_x_ = nullptr;
    unsigned long long* clamped_ = nullptr;  ///< low, high; then inputs that are not finite
    char* lists_ = nullptr;
    std::size_t loads_ = 0, stores_ = 0;  ///< transfer buffers used so far
    DeviceTimeline timeline_;
    Uploader uploader_;
    Downloader downloader_;
};

}  // namespace convolume::gpu
