#pragma once
// The engine on one CUDA device: what its tasks share.

#include <mutex>

#include "convolume/engines.hpp"
#include "gpu/runtime/check.hpp"
#include "gpu/runtime/device.hpp"
#include "gpu/volumes/block_run.hpp"
#include "gpu/volumes/transform_lengths.hpp"

namespace convolume::gpu {

// Three tasks keep both ways and the device busy: one comes, one is computed, one leaves.
inline constexpr int tasks_in_flight = 3;
inline constexpr int staging_pieces = 4;  // of one task and direction
// What our passes reach of the memory's rate by data sheet.
inline constexpr double pass_efficiency = 0.6;
// Multiply-adds a second of a multiprocessor at the clock that it keeps.
inline constexpr double processor_multiply_adds = 128 * 1.7e9;
// Ordinary memory's way through staging, against page-locked memory's.
inline constexpr double staged_share = 0.7;

/// Measured once for each device: engines come and go.
GpuBandwidth bandwidth_of(int device);

class GpuEngine : public Engine {
  public:
    GpuEngine(int device, int index, index_t limit_bytes, int host_threads,
              std::shared_ptr<Gate> gate)
        : device_(device),
          host_threads_(std::max(1, host_threads / 2)),
          gate_(std::move(gate)),
          pool_(device, limit_bytes) {
        const DeviceFacts facts = device_facts(device);
        const GpuBandwidth bandwidth = bandwidth_of(device);
        info_.name = message("gpu:", device);
        info_.index = index;
        info_.is_gpu = true;
        info_.threads = std::max(1, host_threads);  // of the host, for its share of the work
        info_.memory_limit_bytes = limit_bytes;
        info_.tasks_in_flight = tasks_in_flight;
        rates_.device = device;
        rates_.memory = facts.memory_bytes_per_s * pass_efficiency;
        rates_.multiply_adds = facts.processors * processor_multiply_adds;
        // Both ways are in use at once most of the time.
        rates_.to_device = std::min(bandwidth.host_to_device, 0.5 * bandwidth.both) * staged_share;
        rates_.to_host = std::min(bandwidth.device_to_host, 0.5 * bandwidth.both) * staged_share;
    }

    const EngineInfo& info() const override { return info_; }
    index_t memory_limit_bytes() const override { return pool_.limit_bytes(); }
    bool supports(Algorithm algorithm) const override { return algorithm != Algorithm::separable; }
    bool can_walk() const override { return true; }

    index_t good_length(int axis, index_t least, int parts, bool complex_data,
                        Precision precision) const override {
        const index_t own = own_length(device_, axis, least, parts, complex_data, precision);
        return own > 0 ? own : Engine::good_length(axis, least, parts, complex_data, precision);
    }

    bool is_good_length(int axis, index_t length, int parts, bool complex_data,
                        Precision precision) const override {
        return own_length(device_, axis, length, parts, complex_data, precision) == length;
    }

    BlockCost estimate(const Block& block) const override {
        const BlockGeometry geometry = layout(block);
        const BlockTimes times = block_times(block, geometry, rates_);
        BlockCost cost;
        cost.workspace_bytes = geometry.workspace_bytes() + geometry.taps_bytes;
        cost.kernel_bytes = geometry.kernel_bytes;
        cost.staging_bytes = 2 * staging_pieces * StagingPool::piece_bytes;
        cost.host_to_device_s = times.to_device_s;
        cost.compute_s = times.compute_s;
        cost.device_to_host_s = times.to_host_s;
        cost.seconds = times.alone_s;
        cost.slab_planes = geometry.slab;
        return cost;
    }

    std::shared_ptr<const EngineKernel> prepare(const Block& block, const PartId& part,
                                                const ConstImageView& taps, bool once) override;

    ExecutionReport convolve(const Block& block, const EngineKernel& kernel,
                             const BlockInput& input, const BlockOutput& output, int task,
                             const ExecutionContext& context) override;

    void release_workspaces() override { pool_.release(); }

  private:
    friend class BlockRun;

    ExecutionReport run(const Block& block, const GpuKernel& kernel, const BlockInput& input,
                        const BlockOutput& output, int task, const ExecutionContext& context);

    BlockGeometry layout(const Block& block, const PlaneBytes& pixels) const {
        index_t limit = pool_.limit_bytes();
        if (block.memory_bytes > 0)
            limit = limit > 0 ? std::min(limit, block.memory_bytes) : block.memory_bytes;
        return block_geometry(block, pixels, limit, rates_);
    }
    BlockGeometry layout(const Block& block) const {
        return layout(block, expected_plane_bytes(block));
    }

    // Runs `work`; when the device refuses memory, later plans get less.
    template <class Work>
    auto with_device(const Work& work) {
        const DeviceScope scope(device_);
        try {
            return work();
        } catch (const OutOfMemory&) {
            pool_.lower_limit();
            throw;
        }
    }

    class LaneLease {
      public:
        explicit LaneLease(GpuEngine& engine) : engine_(engine) {
            const std::lock_guard lock(engine_.lanes_mutex_);
            if (engine_.idle_lanes_.empty()) {
                lane_ = std::make_unique<Lane>();
            } else {
                lane_ = std::move(engine_.idle_lanes_.back());
                engine_.idle_lanes_.pop_back();
            }
        }
        ~LaneLease() {
            const std::lock_guard lock(engine_.lanes_mutex_);
            engine_.idle_lanes_.push_back(std::move(lane_));
        }
        Lane& operator*() const { return *lane_; }

      private:
        GpuEngine& engine_;
        std::unique_ptr<Lane> lane_;
    };

    EngineInfo info_;
    int device_;
    int host_threads_;
    std::shared_ptr<Gate> gate_;
    DeviceRates rates_;
    DevicePool pool_;
    std::mutex kernel_mutex_;
    StagingPool up_staging_{staging_pieces * tasks_in_flight};
    StagingPool down_staging_{staging_pieces * tasks_in_flight};
    std::mutex lanes_mutex_;
    std::vector<std::unique_ptr<Lane>> idle_lanes_;
};

}  // namespace convolume::gpu
