// SPDX-License-Identifier: Apache-2.0
#pragma once
// The engine on one CUDA device.

#include "gpu/volumes/block_run.hpp"

namespace convolume::gpu {

class GpuEngine : public Engine {
  public:
    GpuEngine(int device, int index, index_t limit_bytes, int host_threads,
              const MachineRates& rates, std::shared_ptr<Gate> gate);

    const EngineInfo& info() const override { return info_; }
    index_t memory_limit_bytes() const override { return resources_.memory.limit_bytes(); }
    bool supports(Algorithm algorithm) const override { return algorithm != Algorithm::separable; }
    bool can_walk() const override { return true; }
    index_t good_length(int axis, index_t least, int parts, bool complex_data,
                        Precision precision) const override;
    bool is_good_length(int axis, index_t length, int parts, bool complex_data,
                        Precision precision) const override;
    BlockCost estimate(const Block& block) const override;
    std::shared_ptr<const EngineKernel> prepare(const Block& block, const PartId& part,
                                                const ConstImageView& taps, bool once) override;
    ExecutionReport convolve(const Block& block, const EngineKernel& kernel,
                             const BlockInput& input, const BlockOutput& output, int task,
                             const ExecutionContext& context) override;
    void release_workspaces() override { resources_.memory.release(); }

  private:
    BlockGeometry layout(const Block& block, const PlaneBytes& pixels) const;
    std::shared_ptr<const EngineKernel> prepare_fft(const Block& block, const PartId& part,
                                                    const ConstImageView& taps, bool once);
    ExecutionReport run(const Block& block, const GpuKernel& kernel, const BlockInput& input,
                        const BlockOutput& output, int task, const ExecutionContext& context);
    template <class Work>
    auto with_device(const Work& work);

    EngineInfo info_;
    DeviceRates rates_;
    DeviceResources resources_;
};

}  // namespace convolume::gpu
