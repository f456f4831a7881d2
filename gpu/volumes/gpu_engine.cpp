// SPDX-License-Identifier: Apache-2.0
// The engine on one CUDA device.

#include <algorithm>
#include <chrono>

#include "convolume/error.hpp"
#include "gpu/backend.hpp"
#include "gpu/runtime/bandwidth.hpp"
#include "gpu/runtime/check.hpp"
#include "gpu/runtime/device.hpp"
#include "gpu/runtime/fault.hpp"
#include "gpu/volumes/block_kernels.hpp"
#include "gpu/volumes/block_run.hpp"
#include "gpu/volumes/direct/direct_transform.hpp"
#include "gpu/volumes/joined_engine.hpp"

namespace convolume::gpu {

namespace {

// Three tasks keep the bus and the device busy: one is uploaded, one computed, one downloaded.
constexpr int tasks_in_flight = 3;

class GpuEngine : public Engine {
    // Runs `work`. If the device refuses memory, the limit falls, and later plans use less.
    template <class Work>
    auto with_device(const Work& work) {
        const DeviceScope scope(resources_->device);
        try {
            return work();
        } catch (const OutOfMemory&) {
            resources_->memory.lower_limit();
            throw;
        }
    }

    BlockGeometry geometry_of(const Block& block, const PlaneBytes& pixels) const {
        index_t limit = resources_->memory.limit_bytes();
        if (block.memory_bytes > 0)
            limit = limit > 0 ? std::min(limit, block.memory_bytes) : block.memory_bytes;
        return block_geometry(block, pixels, limit, rates_);
    }

  public:
    GpuEngine(int device, int index, index_t limit_bytes, int host_threads,
              const MachineRates& rates, std::shared_ptr<BusGate> gate)
        : resources_(new DeviceResources{device,
                                         index,
                                         std::max(1, host_threads / 2),
                                         std::move(gate),
                                         DevicePool(device, limit_bytes),
                                         StagingPool(staging_buffers * tasks_in_flight),
                                         StagingPool(staging_buffers * tasks_in_flight),
                                         TaskStreamsPool::of_device(device),
                                         {}}) {
        const TransferRates transfers = direct_transfer_rates(device);
        info_.name = message("gpu:", device);
        info_.index = index;
        info_.is_gpu = info_.streams = true;
        // host threads, for the host's share of the work
        info_.threads = std::max(1, host_threads);
        info_.memory_limit_bytes = limit_bytes;
        info_.tasks_in_flight = tasks_in_flight;
        info_.rates = rates;
        rates_ = device_rates(device, rates);
        rates_.to_device = transfers.to_device;
        rates_.to_host = transfers.to_host;
        const StagedRates staged = staged_transfer_rates(device, resources_->host_threads);
        rates_.staged_to_device = staged.to_device;
        rates_.staged_to_host = staged.to_host;
        rates_.staged_both = staged.both;
    }

    const EngineInfo& info() const override { return info_; }
    index_t memory_limit_bytes() const override { return resources_->memory.limit_bytes(); }
    bool supports(Algorithm algorithm) const override { return algorithm != Algorithm::separable; }
    bool can_walk() const override { return true; }
    void release_workspaces() override { resources_->memory.release(); }

    std::shared_ptr<Engine> join(const EngineList& engines) const override {
        std::vector<JoinedDevice> devices;
        for (const auto& engine : engines) {
            const auto* const member = dynamic_cast<const GpuEngine*>(engine.get());
            if (!member) return nullptr;
            devices.push_back({engine, member->rates_, member->resources_});
        }
        return make_joined_engine(std::move(devices));
    }

    index_t good_length(int axis, index_t least, int parts, bool complex_data,
                        Precision precision) const override {
        const index_t own =
            length_with_passes(resources_->device, axis, least, parts, complex_data, precision);
        return own > 0 ? own : Engine::good_length(axis, least, parts, complex_data, precision);
    }

    bool is_good_length(int axis, index_t length, int parts, bool complex_data,
                        Precision precision) const override {
        return length_with_passes(resources_->device, axis, length, parts, complex_data,
                                  precision) == length;
    }

    BlockCost estimate(const Block& block) const override {
        const BlockGeometry geometry = geometry_of(block, expected_plane_bytes(block));
        const BlockTimes times = block_times(block, geometry, rates_);
        BlockCost cost;
        cost.workspace_bytes = geometry.workspace_bytes() + geometry.taps_bytes;
        cost.kernel_to_device_s = times.kernel_to_device_s;
        cost.kernel_s = times.kernel_s;
        cost.kernel_bytes = geometry.kernel_bytes;
        cost.staging_bytes = 2 * staging_buffers * StagingPool::buffer_bytes;
        cost.read_s = times.read_s;
        cost.write_s = times.write_s;
        cost.host_to_device_s = times.to_device_s;
        cost.compute_s = times.compute_s;
        cost.device_to_host_s = times.to_host_s;
        cost.staging_s = times.staging_s;
        cost.seconds = times.alone_s;
        cost.first_use_s = info_.rates.gpu_first_use_s;
        cost.slab_planes = geometry.slab;
        return cost;
    }

    std::shared_ptr<const EngineKernel> prepare(const Block& block, const ConstImageView& taps,
                                                bool once) override {
        if (!supports(block.algorithm))
            throw GpuUnavailable(message("method ", to_string(block.algorithm),
                                         " does not run on a GPU: use the CPU"));
        return with_device([&]() -> std::shared_ptr<const EngineKernel> {
            if (block.algorithm != Algorithm::direct) return prepare_fft(block, taps, once);
            const TaskStreamsPool::BorrowedStreams streams = resources_->streams.take();
            return std::make_shared<GpuEngineKernel>(
                direct_taps(block, taps, resources_->memory, streams->compute), DeviceTaps{}, true);
        });
    }

    ExecutionReport convolve(const Block& block, const EngineKernel& kernel,
                             const BlockInput& input, const BlockOutput& output, int task,
                             const ExecutionContext& context) override {
        const auto* const prepared = dynamic_cast<const GpuEngineKernel*>(&kernel);
        if (!prepared) throw InternalError("a GPU engine was given another engine's kernel");
        throw_if_stopped(context);
        if (block.algorithm == Algorithm::direct)
            return run(widened_block(block), *prepared, widened_block(block, input), output, task,
                       context);
        return run(block, *prepared, input, output, task, context);
    }

  private:
    std::shared_ptr<const EngineKernel> prepare_fft(const Block& block, const ConstImageView& taps,
                                                    bool once) {
        const BlockGeometry geometry = geometry_of(block, expected_plane_bytes(block));
        const auto transform = make_block_transform(block, geometry, resources_->device);
        // Declared before the wait for the CUDA streams, so that memory outlives the work that uses
        // it.
        DevicePool::BorrowedMemory workspace, spectra;
        const TaskStreamsPool::BorrowedStreams borrowed_streams = resources_->streams.take();
        const TaskStreams& streams = *borrowed_streams;
        const WaitAtEnd wait(streams);
        // Taps that are used once have memory of their own, others are in the workspace.
        workspace = once ? resources_->memory.take(geometry.taps_bytes, "a kernel's taps")
                         : resources_->memory.take(geometry.workspace_bytes(), "a workspace");
        const DeviceTaps device_taps = upload_taps(taps, geometry, workspace.get(), streams);
        if (once) return std::make_shared<GpuEngineKernel>(workspace, device_taps, false);
        spectra = resources_->memory.take(geometry.kernel_bytes, "a kernel");
        // cuFFT's work area may overlap the taps, because it is used after they were read.
        transform->prepare(device_taps, {nullptr, workspace.get(), spectra.get()}, streams.compute);
        streams.compute.wait();
        return std::make_shared<GpuEngineKernel>(spectra, device_taps, true);
    }

    // Copies taps to `target`, which has geometry.taps_bytes. Returns when they are there. Padded
    // rows travel with their padding, in one copy.
    DeviceTaps upload_taps(const ConstImageView& taps, const BlockGeometry& geometry, char* target,
                           const TaskStreams& streams) const {
        DeviceTimeline no_timeline(nullptr, resources_->engine, -1, streams.upload);
        Uploader uploader({resources_->device, resources_->host_threads, resources_->gate.get(),
                           &resources_->up_staging, &no_timeline},
                          streams.upload);
        const BusGate::Lock link =
            resources_->gate->lock_link(resources_->device, BusDirection::to_device);
        const auto& [z, y, x] = taps.shape;
        const index_t rows_with_padding = (z - 1) * taps.strides.z + (y - 1) * taps.strides.y + x;
        const bool padded = taps.strides.x == 1 && taps.strides.z == y * taps.strides.y &&
                            rows_with_padding * sample_bytes(taps.type) <= geometry.taps_bytes;
        if (padded)
            uploader.upload({taps.data,
                             taps.type,
                             {1, 1, rows_with_padding},
                             contiguous_strides({1, 1, rows_with_padding})},
                            target);
        else
            uploader.upload(taps, target);
        uploader.finish();
        streams.upload.wait();
        const index_t row = padded ? taps.strides.y : x;
        return {{target, taps.type, y * row, row}, taps.shape};
    }

    ExecutionReport run(const Block& block, const GpuEngineKernel& kernel, const BlockInput& input,
                        const BlockOutput& output, int task, const ExecutionContext& context) {
        return with_device([&] {
            const auto start = std::chrono::steady_clock::now();
            const TaskGathers gathers{AxisGather(input.gather[1]), AxisGather(input.gather[2])};
            const BlockGeometry geometry =
                geometry_of(block, plane_bytes(block, gathers, input, output));
            const auto transform = make_block_transform(block, geometry, resources_->device);
            const DevicePool::BorrowedMemory workspace = [&] {
                const PhaseTimer timer(context.timeline, Phase::allocate, info_.index, task,
                                       geometry.workspace_bytes());
                return resources_->memory.take(geometry.workspace_bytes(), "a workspace");
            }();
            const TaskStreamsPool::BorrowedStreams streams = resources_->streams.take();
            const BlockTask block_task{block, geometry, *transform, gathers, input, output, task};
            BlockRun block_run(*resources_, *streams, block_task, kernel, workspace.get(), context);
            ExecutionReport report = block_run.run();
            report.seconds =
                std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
            return report;
        });
    }

    EngineInfo info_;
    DeviceRates rates_;
    std::shared_ptr<DeviceResources> resources_;
};

}  // namespace

EngineList make_engines(const GpuOptions& options) {
    const std::vector<int> devices = choose_devices(options.devices);
    install_page_locker();
    const TransferGate policy = options.transfer_gate == TransferGate::automatic
                                    ? kept_transfer_gate(devices)
                                    : options.transfer_gate;
    const auto gate = std::make_shared<BusGate>(policy);
    return make_on_devices<EngineList>(
        options, devices, [&](int device, int index, index_t limit_bytes, int host_threads) {
            return std::make_shared<GpuEngine>(device, index, limit_bytes, host_threads,
                                               options.rates, gate);
        });
}

}  // namespace convolume::gpu
