#pragma once
// One block on its way through a device: uploads, passes and downloads side by side.

#include "gpu/runtime/device_memory.hpp"
#include "gpu/runtime/task_streams.hpp"
#include "gpu/runtime/transfers.hpp"
#include "gpu/volumes/axis_gather.hpp"
#include "gpu/volumes/block_transform.hpp"

namespace convolume::gpu {

/// A kernel on the device: its spectra, or, of one that serves once, the part's taps.
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

class GpuEngine;

/// One block on its way through a device.
class BlockRun {
  public:
    BlockRun(GpuEngine& engine, Lane& lane, const Block& block, const BlockGeometry& geometry,
             const BlockTransform& transform, const TaskGathers& gathers, const BlockInput& input,
             const BlockOutput& output, const GpuKernel& kernel, char* workspace, int task,
             const ExecutionContext& context);

    ExecutionReport run();

  private:
    struct Chunks {
        char* data = nullptr;
        index_t bytes = 0;        ///< of one slot
        index_t plane_bytes = 0;  ///< of this task's own pixels
        index_t planes() const { return std::max<index_t>(1, bytes / plane_bytes); }
    };

    void upload_lists();
    void load(index_t begin, index_t end);
    void convolve(const ZWindow& window);
    void store(index_t begin, index_t end, const ZWindow& window);
    void report_progress(double done);

    GpuEngine& engine_;
    Lane& lane_;
    const Block& block_;
    const BlockGeometry& geometry_;
    const BlockTransform& transform_;
    const BlockInput& input_;
    const BlockOutput& output_;
    const GpuKernel& kernel_;
    const ExecutionContext& context_;
    const AxisGather &gather_y_, &gather_x_;
    BlockMemory memory_;
    Chunks source_, target_;
    std::int32_t *list_y_ = nullptr, *list_x_ = nullptr;
    unsigned long long* clamped_ = nullptr;  ///< low, high; then inputs that are not finite
    char* lists_ = nullptr;
    std::size_t loads_ = 0, stores_ = 0;  ///< chunks so far
    DeviceTimeline timeline_;
    Uploader uploader_;
    Downloader downloader_;
};

}  // namespace convolume::gpu
