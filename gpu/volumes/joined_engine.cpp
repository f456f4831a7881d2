// SPDX-License-Identifier: Apache-2.0
#include "gpu/volumes/joined_engine.hpp"

#include <atomic>
#include <chrono>
#include <exception>
#include <mutex>
#include <thread>

#include "convolume/error.hpp"
#include "core/report.hpp"
#include "core/stop_scope.hpp"
#include "gpu/runtime/device.hpp"
#include "gpu/runtime/peer_memory.hpp"
#include "gpu/volumes/program_images.hpp"
#include "gpu/volumes/spread_block.hpp"

namespace convolume::gpu {

namespace {

/// Bytes by which the pages of a device may exceed its planes.
constexpr index_t page_bytes = index_t{2} << 20;

/// A kernel's spectrum, and planes for the spectra of one block, on all devices.
struct JoinedKernel : EngineKernel {
    std::vector<std::shared_ptr<void>> reserved;  ///< counts the block's memory in each pool
    std::unique_ptr<const SpreadBlock> block;
    mutable std::mutex in_use;  ///< held while a block is convolved
};

/// The CUDA streams, transfer buffers and planes of one device during a run.
struct DeviceRun {
    TaskStreamsPool::BorrowedStreams streams;
    DevicePool::BorrowedMemory buffers;
    BlockPlanes planes;
    IndexRange loaded, stored;

    DeviceRun(DeviceResources& resources, const BlockTask& task, const BlockMemory& memory,
              const IndexRange& planes_loaded, const IndexRange& planes_stored,
              const ExecutionContext& context)
        : streams(resources.streams.take()),
          buffers(resources.memory.take(transfer_bytes(task.geometry), "transfer buffers")),
          planes(resources, *streams, task, memory, buffers.get(), context),
          loaded(planes_loaded),
          stored(planes_stored) {}
};

/// Unlocks a device's link at the end of its scope, which an exception may have left.
class LinkRelease {
  public:
    explicit LinkRelease(BlockPlanes& planes) : planes_(planes) {}
    ~LinkRelease() { planes_.release_link(); }
    LinkRelease(const LinkRelease&) = delete;
    LinkRelease& operator=(const LinkRelease&) = delete;

  private:
    BlockPlanes& planes_;
};

/// Adds up the planes that devices have loaded and stored.
class PlaneProgress {
  public:
    PlaneProgress(const ExecutionContext& context, index_t planes)
        : context_(context), planes_(static_cast<double>(planes)) {}
    void add(index_t planes) {
        const double done = static_cast<double>(done_ += planes);
        if (context_.progress) context_.progress(done / planes_);
    }

  private:
    const ExecutionContext& context_;
    double planes_;
    std::atomic<index_t> done_{0};
};

class JoinedEngine : public Engine {
    /// Runs `work`. If a device refuses memory, the limits fall, and later plans use less.
    template <class Work>
    auto with_devices(const Work& work) const {
        try {
            return work();
        } catch (const OutOfMemory&) {
            for (const JoinedDevice& device : devices_) device.resources->memory.lower_limit();
            throw;
        }
    }

  public:
    explicit JoinedEngine(std::vector<JoinedDevice> devices) : devices_(std::move(devices)) {
        info_ = first().info();
        info_.threads = 0;
        for (const JoinedDevice& device : devices_) {
            const int number = device.resources->device;
            numbers_.push_back(number);
            info_.members.push_back(device.engine->info().name);
            info_.threads += device.engine->info().threads;
            info_.name =
                numbers_.size() == 1 ? message("gpu:", number) : message(info_.name, ",", number);
        }
        info_.tasks_in_flight = 1;
        info_.memory_limit_bytes = memory_limit_bytes();
        try {
            why_unreachable_ = why_no_peer_memory(numbers_);
            link_bytes_per_s_ = has_fast_links(numbers_) ? info_.rates.gpu_link_bytes_per_s
                                                         : devices_[0].rates.to_device;
        } catch (const Error& error) {
            why_unreachable_ = error.what();
        }
    }

    const EngineInfo& info() const override { return info_; }
    index_t memory_limit_bytes() const override {
        index_t least = 0;
        for (const JoinedDevice& device : devices_)
            if (const index_t limit = device.engine->memory_limit_bytes(); limit > 0)
                least = least == 0 ? limit : std::min(least, limit);
        return least;
    }
    bool supports(Algorithm algorithm) const override { return algorithm == Algorithm::fft; }
    void release_workspaces() override {
        for (const JoinedDevice& device : devices_) device.engine->release_workspaces();
    }
    index_t good_length(int axis, index_t least, int parts, bool complex_data,
                        Precision precision) const override {
        return first().good_length(axis, least, parts, complex_data, precision);
    }
    bool is_good_length(int axis, index_t length, int parts, bool complex_data,
                        Precision precision) const override {
        return first().is_good_length(axis, length, parts, complex_data, precision);
    }

    std::string why_unsuitable(const Block& block) const override {
        if (!why_unreachable_.empty()) return why_unreachable_;
        return why_no_passes(block, geometry_of(block));
    }

    BlockCost estimate(const Block& block) const override {
        const BlockGeometry geometry = geometry_of(block);
        const BlockTimes times =
            spread_times(block, geometry, devices_.size(), devices_[0].rates, link_bytes_per_s_);
        const SpreadBytes bytes = spread_bytes(geometry, devices_.size());
        BlockCost cost;
        // Taps are on a device only before its transfer buffers are.
        cost.workspace_bytes = checked_add(checked_add(bytes.spectra, page_bytes),
                                           std::max(transfer_bytes(geometry), geometry.taps_bytes));
        cost.kernel_bytes = bytes.kernel;
        cost.staging_bytes =
            2 * staging_buffers * StagingPool::buffer_bytes * static_cast<index_t>(devices_.size());
        cost.read_s = times.read_s;
        cost.write_s = times.write_s;
        cost.host_to_device_s = times.to_device_s;
        cost.compute_s = times.compute_s;
        cost.device_to_host_s = times.to_host_s;
        cost.seconds = times.alone_s;
        cost.first_use_s = info_.rates.gpu_first_use_s;
        return cost;
    }

    std::shared_ptr<const EngineKernel> prepare(const Block& block, const ConstImageView& taps,
                                                bool) override {
        if (const std::string why = why_unsuitable(block); !why.empty()) throw GpuUnavailable(why);
        return with_devices([&] {
            const BlockGeometry geometry = geometry_of(block);
            const SpreadBytes bytes = spread_bytes(geometry, devices_.size());
            const auto kernel = std::make_shared<JoinedKernel>();
            for (const JoinedDevice& device : devices_) {
                device.resources->memory.release();  // other memory than the pool's is needed
                kernel->reserved.push_back(device.resources->memory.reserve(
                    bytes.spectra + bytes.kernel + page_bytes, "planes of spectra"));
            }
            kernel->block = std::make_unique<const SpreadBlock>(block, geometry, numbers_);
            std::vector<TaskStreamsPool::BorrowedStreams> owned;
            StreamList streams;
            for (const JoinedDevice& device : devices_) {
                const DeviceScope scope(device.resources->device);
                owned.push_back(device.resources->streams.take());
                streams.push_back(owned.back()->compute);
                // Copies from ordinary memory may still be running when they return.
                check(cudaDeviceSynchronize(), "preparing a GPU");
            }
            DeviceProgramSpec spec;
            spec.block = block;
            spec.taps = taps;
            const CopiedTaps copied(spec, numbers_[0]);
            {
                const DeviceScope scope(numbers_[0]);
                check(cudaDeviceSynchronize(), "copying the kernel");
            }
            kernel->block->enqueue_kernel(streams, copied.taps());
            for (const auto& own : owned) own->compute.wait();
            return kernel;
        });
    }

    ExecutionReport convolve(const Block& block, const EngineKernel& kernel,
                             const BlockInput& input, const BlockOutput& output, int task,
                             const ExecutionContext& context) override {
        const auto* const prepared = dynamic_cast<const JoinedKernel*>(&kernel);
        if (!prepared) throw InternalError("a joined engine was given another engine's kernel");
        throw_if_stopped(context);
        const std::lock_guard alone(prepared->in_use);
        return with_devices([&] {
            const auto start = std::chrono::steady_clock::now();
            if (context.timeline)
                for (const JoinedDevice& device : devices_)
                    context.timeline->name_engine(device.engine->info().index,
                                                  device.engine->info().name);
            const TaskGathers gathers{AxisGather(input.gather[1]), AxisGather(input.gather[2])};
            const BlockGeometry geometry = geometry_of_run(
                block, plane_bytes(block, gathers, input, output), *prepared->block);
            const BlockTask block_task{
                block, geometry, prepared->block->transform(), gathers, input, output, task};
            ExecutionReport report = run(block_task, *prepared->block, context);
            report.seconds =
                std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
            return report;
        });
    }

  private:
    const Engine& first() const { return *devices_[0].engine; }

    BlockGeometry geometry_of(const Block& block) const {
        index_t limit = memory_limit_bytes();
        if (block.memory_bytes > 0)
            limit = limit > 0 ? std::min(limit, block.memory_bytes) : block.memory_bytes;
        const auto layout = [&](bool keep_spectrum) {
            return spread_geometry(block, expected_plane_bytes(block), devices_.size(),
                                   devices_[0].rates, keep_spectrum);
        };
        const BlockGeometry keeping = layout(true);
        const SpreadBytes bytes = spread_bytes(keeping, devices_.size());
        const index_t other = std::max(transfer_bytes(keeping), keeping.taps_bytes);
        const index_t all =
            checked_add(checked_add(bytes.spectra, bytes.kernel), checked_add(other, page_bytes));
        return limit == 0 || all <= limit ? keeping : layout(false);
    }

    /// Returns the layout of a block for these pixels, whose transfer buffers are no larger than
    /// planned if that holds a plane.
    BlockGeometry geometry_of_run(const Block& block, const PlaneBytes& pixels,
                                  const SpreadBlock& spread) const {
        const BlockGeometry& planned = spread.geometry();
        BlockGeometry geometry = spread_geometry(block, pixels, devices_.size(), devices_[0].rates,
                                                 planned.keeps_spectrum);
        geometry.source_buffer_bytes = std::min(
            geometry.source_buffer_bytes, std::max(planned.source_buffer_bytes, pixels.source));
        geometry.target_buffer_bytes = std::min(
            geometry.target_buffer_bytes, std::max(planned.target_buffer_bytes, pixels.target));
        return geometry;
    }

    /// Calls work(i) for every device i, which is then the current one, each on a thread of its
    /// own. Rethrows the first exception when all have returned.
    template <class Work>
    void on_devices(const Work& work) const {
        std::mutex mutex;
        std::exception_ptr error;
        const StopScope* const scope = current_stop_scope();
        const auto run_one = [&](std::size_t i) {
            const AdoptedStopScope adopted(scope);
            try {
                const DeviceScope current(numbers_[i]);
                work(i);
            } catch (...) {
                const std::lock_guard lock(mutex);
                if (!error) error = std::current_exception();
            }
        };
        {
            std::vector<std::jthread> threads;
            for (std::size_t i = 1; i < devices_.size(); ++i) threads.emplace_back(run_one, i);
            run_one(0);
        }
        if (error) std::rethrow_exception(error);
    }

    ExecutionReport run(const BlockTask& task, const SpreadBlock& block,
                        const ExecutionContext& context) const {
        const index_t loaded = task.block.axes[0].loaded, kept = task.block.axes[0].kept;
        std::vector<std::unique_ptr<DeviceRun>> runs;
        StreamList streams;
        for (std::size_t i = 0; i < devices_.size(); ++i) {
            const DeviceScope scope(numbers_[i]);
            runs.push_back(
                std::make_unique<DeviceRun>(*devices_[i].resources, task, block.memory(i),
                                            even_part(loaded, i, devices_.size()),
                                            even_part(kept, i, devices_.size()), context));
            streams.push_back(runs.back()->streams->compute);
        }
        const WaitForAll wait(runs);
        PlaneProgress progress(context, loaded + kept);
        std::atomic<bool> failed{false};
        // Calls work(begin, end) for sections of the planes, until another device fails.
        const auto for_each_section = [&](const IndexRange& planes, index_t at_once,
                                          const auto& work) {
            try {
                for (index_t begin = planes.begin; begin < planes.end && !failed;) {
                    throw_if_stopped(context);
                    const index_t end = std::min(planes.end, begin + at_once);
                    work(begin, end);
                    progress.add(end - begin);
                    begin = end;
                }
            } catch (...) {
                failed = true;
                throw;
            }
        };
        on_devices([&](std::size_t i) {
            DeviceRun& run = *runs[i];
            const LinkRelease release(run.planes);
            run.planes.prepare();
            run.planes.lock_for_loads();
            for_each_section(run.loaded, run.planes.planes_loaded_at_once(),
                             [&](index_t begin, index_t end) { run.planes.load(begin, end); });
            run.planes.finish_loads();
        });
        block.enqueue_z(streams, [&](std::size_t i, const auto& pass) {
            runs[i]->planes.timeline().phase(Phase::convolve, streams[i], 0, pass);
        });
        ReportSum sum;
        on_devices([&](std::size_t i) {
            DeviceRun& run = *runs[i];
            const LinkRelease release(run.planes);
            for_each_section(
                run.stored, run.planes.planes_stored_at_once(),
                [&](index_t begin, index_t end) { run.planes.store(begin, end, block.window()); });
            run.planes.finish_stores();
            sum.add(run.planes.report());
        });
        return sum.report();
    }

    /// Waits for the work of all devices at the end of its scope, even after an exception.
    class WaitForAll {
      public:
        explicit WaitForAll(const std::vector<std::unique_ptr<DeviceRun>>& runs) : runs_(runs) {}
        ~WaitForAll() {
            for (const auto& run : runs_) const WaitAtEnd wait(*run->streams);
        }
        WaitForAll(const WaitForAll&) = delete;
        WaitForAll& operator=(const WaitForAll&) = delete;

      private:
        const std::vector<std::unique_ptr<DeviceRun>>& runs_;
    };

    std::vector<JoinedDevice> devices_;
    std::vector<int> numbers_;  ///< CUDA device numbers
    EngineInfo info_;
    std::string why_unreachable_;
    double link_bytes_per_s_ = 1;
};

}  // namespace

std::shared_ptr<Engine> make_joined_engine(std::vector<JoinedDevice> devices) {
    return std::make_shared<JoinedEngine>(std::move(devices));
}

}  // namespace convolume::gpu
