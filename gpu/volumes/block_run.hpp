// SPDX-License-Identifier: Apache-2.0
#pragma once
// Execution of one block on a device: concurrent uploads, passes and downloads.

#include "gpu/volumes/block_planes.hpp"

namespace convolume::gpu {

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

class BlockRun {
  public:
    /// `workspace` has geometry.workspace_bytes(). All arguments must outlive this object.
    BlockRun(DeviceResources& resources, TaskStreams& streams, const BlockTask& task,
             const GpuEngineKernel& kernel, char* workspace, const ExecutionContext& context);

    ExecutionReport run();

  private:
    void convolve(const ZWindow& window);
    void report_progress(double done);

    DeviceResources& resources_;
    TaskStreams& streams_;
    const BlockTask task_;
    const GpuEngineKernel& kernel_;
    const ExecutionContext& context_;
    BlockMemory memory_;
    BlockPlanes planes_;
};

}  // namespace convolume::gpu
