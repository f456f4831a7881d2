// The engine on one CUDA device: uploads, transforms and downloads of a block side by side.

#include <omp.h>

#include <algorithm>
#include <chrono>
#include <deque>
#include <map>
#include <mutex>

#include "block_transform.hpp"
#include "check.hpp"
#include "convolume/error.hpp"
#include "convolume/gpu.hpp"
#include "convolume/part.hpp"
#include "device.hpp"
#include "device_memory.hpp"
#include "lengths.hpp"
#include "nonfinite.hpp"
#include "part_taps.hpp"
#include "transfers.hpp"

namespace convolume {

namespace gpu {

namespace {

// Three tasks keep both ways and the device busy: one comes, one is computed, one leaves.
constexpr int tasks_in_flight = 3;
constexpr int staging_pieces = 4;  // of one task and direction
// What our passes reach of the memory's rate by data sheet.
constexpr double pass_efficiency = 0.6;
// Ordinary memory's way through staging, against page-locked memory's.
constexpr double staged_share = 0.7;

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

/// Streams and events of one task, kept for the next.
struct Lane {
    Stream up, compute, down;
    // Of every chunk slot: it was filled, it may be filled again.
    struct Slot {
        Event full, free;
    };
    std::array<Slot, 3> source, target;
    Event began;
};

// Waits for everything a lane was given, whatever happened meanwhile.
class LaneEnd {
  public:
    explicit LaneEnd(const Lane& lane) : lane_(lane) {}
    ~LaneEnd() {
        for (cudaStream_t stream :
             {cudaStream_t(lane_.up), cudaStream_t(lane_.compute), cudaStream_t(lane_.down)})
            static_cast<void>(cudaStreamSynchronize(stream));  // failures were met before
    }
    LaneEnd(const LaneEnd&) = delete;
    LaneEnd& operator=(const LaneEnd&) = delete;

  private:
    const Lane& lane_;
};

// The same for one stream, where `waits` is set.
class StreamEnd {
  public:
    StreamEnd(cudaStream_t stream, bool waits) : stream_(stream), waits_(waits) {}
    ~StreamEnd() {
        if (waits_) static_cast<void>(cudaStreamSynchronize(stream_));
    }
    StreamEnd(const StreamEnd&) = delete;
    StreamEnd& operator=(const StreamEnd&) = delete;

  private:
    cudaStream_t stream_;
    bool waits_;
};

/// The part of a source axis that a gather reads, and the gather within it.
struct AxisGather {
    index_t begin = 0, end = 0;  ///< source indices; empty where all is zero
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

struct TaskGathers {
    AxisGather y, x;
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

// Measured once: engines come and go.
GpuBandwidth bandwidth_of(int device) {
    static std::mutex mutex;
    static std::map<int, GpuBandwidth> known;
    const std::lock_guard lock(mutex);
    const auto found = known.find(device);
    if (found != known.end()) return found->second;
    return known[device] = measure_gpu_bandwidth(device);
}

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
        // Both ways are in use at once most of the time.
        rates_.to_device = std::min(bandwidth.host_to_device, 0.5 * bandwidth.both) * staged_share;
        rates_.to_host = std::min(bandwidth.device_to_host, 0.5 * bandwidth.both) * staged_share;
    }

    const EngineInfo& info() const override { return info_; }
    index_t memory_limit_bytes() const override { return pool_.limit_bytes(); }
    bool supports(Algorithm algorithm) const override { return algorithm == Algorithm::fft; }
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

// What every plane of the taps is multiplied with for its part.
std::vector<double> plane_factors(const Block& block, const PartId& part,
                                  const ConstImageView& taps, bool undivided_complex) {
    const index_t first =
        part.count > 1
            ? decompose::part_frequencies(undivided_complex, part.index, part.count).first
            : 0;
    const index_t z_grid = part.count > 1 ? part.z_grid : block.axes[0].grid;
    std::vector<double> factors;
    for (index_t z = 0; z < taps.shape.z; ++z) {
        const std::complex<double> factor =
            decompose::root_of_unity(checked_multiply(first, z), z_grid);
        factors.push_back(factor.real());
        factors.push_back(factor.imag());
    }
    return factors;
}

std::shared_ptr<const EngineKernel> GpuEngine::prepare(const Block& block, const PartId& part,
                                                       const ConstImageView& taps, bool once) {
    if (block.algorithm != Algorithm::fft)
        throw Unavailable(message("method ", to_string(block.algorithm),
                                  " does not run on a GPU: use the CPU (--device cpu)"));
    return with_device([&]() -> std::shared_ptr<const EngineKernel> {
        const BlockGeometry geometry = layout(block);
        const auto transform = make_block_transform(block, geometry, device_);

        const bool undivided_complex =
            is_complex(taps.type) || (block.complex_data && part.count == 1);
        const bool single = block.precision == Precision::float32;
        const PixelType type = block.complex_data
                                   ? (single ? PixelType::complex64 : PixelType::complex128)
                                   : (single ? PixelType::float32 : PixelType::float64);
        // Declared before the lane's end: memory outlives the work on it.
        DevicePool::Lease workspace, spectra;
        std::vector<double> factors;
        Volume folded_on_host;
        const LaneLease lane(*this);
        const Lane& streams = *lane;
        const LaneEnd end(streams);
        const auto upload = [&](char* target, const void* data, index_t bytes) {
            check(fault_due(Fault::transfer)
                      ? cudaErrorUnknown
                      : cudaMemcpyAsync(target, data, static_cast<std::size_t>(bytes),
                                        cudaMemcpyHostToDevice, streams.compute),
                  "copying the kernel");
        };

        // In the workspace: compact taps, their factors, the part's taps. Taps that serve once stay
        // in a piece of their own, which is small.
        const auto aligned = [](index_t bytes) { return round_up(bytes, DeviceMemory::alignment); };
        const auto bytes_of = [](const ConstImageView& view) {
            return element_count(view.shape) * static_cast<index_t>(size_of(view.type));
        };
        const index_t factors_bytes = taps.shape.z * static_cast<index_t>(sizeof(double[2]));
        const index_t folded_at = aligned(bytes_of(taps)) + aligned(factors_bytes);
        const index_t folded_bytes = geometry.kernel_planes * taps.shape.y * taps.shape.x *
                                     static_cast<index_t>(size_of(type));
        const bool fold_on_device =
            folded_at + folded_bytes <= (once ? geometry.taps_bytes : geometry.workspace_bytes());
        workspace = once ? pool_.take(fold_on_device ? folded_at + folded_bytes : folded_bytes,
                                      "a kernel's taps")
                         : pool_.take(geometry.workspace_bytes(), "a workspace");
        char* part_at = workspace.get();
        if (fold_on_device) {
            factors = plane_factors(block, part, taps, undivided_complex);
            char* const factors_at = part_at + aligned(bytes_of(taps));
            upload(part_at, taps.data, bytes_of(taps));
            upload(factors_at, factors.data(), factors_bytes);
            PartTaps folded;
            folded.taps = part_at;
            folded.taps_type = taps.type;
            folded.shape = taps.shape;
            folded.factors = reinterpret_cast<const double*>(factors_at);
            folded.target = part_at + folded_at;
            folded.target_type = type;
            folded.planes = geometry.kernel_planes;
            folded.period = part.count > 1 ? block.axes[0].grid : taps.shape.z;
            make_part_taps(folded, streams.compute);
            part_at += folded_at;
        } else {
            // A tall kernel of many parts: folded on the host, it is as small as a part.
            folded_on_host =
                decompose::split_kernel(taps, undivided_complex, part, block.precision);
            upload(part_at, folded_on_host.view().data, folded_on_host.bytes());
        }

        DeviceTaps device_taps;
        device_taps.pixels = {part_at, type, taps.shape.y * taps.shape.x, taps.shape.x};
        device_taps.shape = {geometry.kernel_planes, taps.shape.y, taps.shape.x};
        if (once) {
            streams.compute.wait();
            return std::make_shared<GpuKernel>(workspace, device_taps, false);
        }
        spectra = pool_.take(geometry.kernel_bytes, "a kernel");
        // cuFFT's work area may lie over the taps: it is used when they were read.
        transform->prepare(device_taps, {nullptr, workspace.get(), spectra.get()}, streams.compute);
        streams.compute.wait();
        return std::make_shared<GpuKernel>(spectra, device_taps, true);
    });
}

ExecutionReport GpuEngine::convolve(const Block& block, const EngineKernel& kernel,
                                    const BlockInput& input, const BlockOutput& output, int task,
                                    const ExecutionContext& context) {
    const auto* const prepared = dynamic_cast<const GpuKernel*>(&kernel);
    if (!prepared) throw InternalError("a GPU engine was given another engine's kernel");
    throw_if_stopped(context);
    return with_device([&] {
        const auto start = std::chrono::steady_clock::now();
        const TaskGathers gathers{AxisGather(input.gather[1]), AxisGather(input.gather[2])};
        const PlaneBytes pixels{
            std::max<index_t>(1, gathers.y.extent() * gathers.x.extent() *
                                     static_cast<index_t>(size_of(input.source.type))),
            block.axes[1].kept * block.axes[2].kept *
                static_cast<index_t>(size_of(output.target.type))};
        const BlockGeometry geometry = layout(block, pixels);
        const auto transform = make_block_transform(block, geometry, device_);
        const DevicePool::Lease workspace = [&] {
            const PhaseTimer timer(context.timeline, Phase::allocate, info_.index, task,
                                   geometry.workspace_bytes());
            return pool_.take(geometry.workspace_bytes(), "a workspace");
        }();
        const LaneLease lane(*this);
        BlockRun run(*this, *lane, block, geometry, *transform, gathers, input, output, *prepared,
                     workspace.get(), task, context);
        ExecutionReport report = run.run();
        report.seconds =
            std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
        return report;
    });
}

BlockRun::BlockRun(GpuEngine& engine, Lane& lane, const Block& block, const BlockGeometry& geometry,
                   const BlockTransform& transform, const TaskGathers& gathers,
                   const BlockInput& input, const BlockOutput& output, const GpuKernel& kernel,
                   char* workspace, int task, const ExecutionContext& context)
    : engine_(engine),
      lane_(lane),
      block_(block),
      geometry_(geometry),
      transform_(transform),
      input_(input),
      output_(output),
      kernel_(kernel),
      context_(context),
      gather_y_(gathers.y),
      gather_x_(gathers.x),
      timeline_(context.timeline, engine.info_.index, task, lane.compute),
      uploader_({engine.device_, engine.host_threads_, engine.gate_.get(), &engine.up_staging_,
                 &timeline_},
                lane.up),
      downloader_({engine.device_, engine.host_threads_, engine.gate_.get(), &engine.down_staging_,
                   &timeline_},
                  lane.down) {
    char* at = workspace;
    const auto next = [&at](index_t bytes) {
        char* const begin = at;
        at += bytes;
        return begin;
    };
    memory_.kernel = kernel.spectra();
    memory_.ring = next(geometry.ring_bytes);
    memory_.batch = next(geometry.batch_bytes);
    source_.data = next(geometry.chunks * geometry.source_chunk_bytes);
    source_.bytes = geometry.source_chunk_bytes;
    source_.plane_bytes = geometry.pixels.source;
    target_.data = next(geometry.chunks * geometry.target_chunk_bytes);
    target_.bytes = geometry.target_chunk_bytes;
    target_.plane_bytes = geometry.pixels.target;
    lists_ = next(geometry.lists_bytes);
}

// The gathers of y and x, and the counters.
void BlockRun::upload_lists() {
    clamped_ = reinterpret_cast<unsigned long long*>(lists_);
    check(cudaMemsetAsync(clamped_, 0, 3 * sizeof *clamped_, lane_.compute), "clearing counters");
    auto* at = reinterpret_cast<std::int32_t*>(lists_ + DeviceMemory::alignment);
    const auto upload = [&](const AxisGather& gather) -> std::int32_t* {
        std::int32_t* const begin = at;
        if (gather.is_identity) return nullptr;
        // From ordinary memory: the call returns when the list was read.
        check(cudaMemcpyAsync(begin, gather.list.data(), gather.list.size() * sizeof *begin,
                              cudaMemcpyHostToDevice, lane_.compute),
              "copying a gather");
        at += gather.list.size();
        return begin;
    };
    list_y_ = upload(gather_y_);
    list_x_ = upload(gather_x_);
}

ExecutionReport BlockRun::run() {
    const LaneEnd end(lane_);
    upload_lists();
    const std::vector<ZWindow> windows = geometry_.windows(block_.axes[0]);
    const index_t planes = block_.axes[0].loaded;
    // A source that is still being made comes too slowly to keep others from the way.
    Gate::Pass up;
    if (!input_.await_planes) up = engine_.gate_->hold(engine_.device_, Way::to_device);
    Gate::Pass down;
    index_t loaded = 0;
    const ZWindow* before = nullptr;
    index_t stored = 0;  // of the window before
    const auto store_until = [&](index_t count) {
        if (!before) return;
        count = std::min(count, before->kept);
        if (stored < count && !down) down = engine_.gate_->hold(engine_.device_, Way::to_host);
        while (stored < count) {
            const index_t next = std::min(before->kept, stored + target_.planes());
            store(stored, next, *before);
            stored = next;
        }
    };
    for (const ZWindow& window : windows) {
        while (loaded < window.loaded_end) {
            throw_if_stopped(context_);
            const index_t next = std::min(window.loaded_end, loaded + source_.planes());
            // New planes take the slots of results, which leave first.
            if (before) store_until(next - geometry_.ring - before->first);
            load(loaded, next);
            loaded = next;
            report_progress(0.5 * static_cast<double>(loaded) / static_cast<double>(planes) +
                            0.5 * static_cast<double>(before ? before->kept_begin + stored : 0) /
                                static_cast<double>(block_.axes[0].kept));
        }
        store_until(geometry_.ring + (before ? before->kept : 0));
        if (&window == &windows.back()) uploader_.finish();
        if (&window == &windows.back() && up) {
            lane_.up.wait();
            up.unlock();
        }
        convolve(window);
        before = &window;
        stored = 0;
    }
    while (before && stored < before->kept) {
        throw_if_stopped(context_);
        store_until(stored + target_.planes());
        report_progress(0.5 + 0.5 * static_cast<double>(before->kept_begin + stored) /
                                  static_cast<double>(block_.axes[0].kept));
    }
    downloader_.finish();
    if (down) down.unlock();

    unsigned long long clamped[3] = {0, 0, 0};
    check(cudaMemcpyAsync(clamped, clamped_, sizeof clamped, cudaMemcpyDeviceToHost, lane_.compute),
          "copying counters");
    lane_.compute.wait();
    lane_.down.wait();
    timeline_.finish();
    ExecutionReport report;
    report.clamped_low = static_cast<index_t>(clamped[0]);
    report.clamped_high = static_cast<index_t>(clamped[1]);
    report.nonfinite_inputs = static_cast<index_t>(clamped[2]);
    return report;
}

// Planes [begin, end) of the block: uploaded in runs that follow each other in the source.
void BlockRun::load(index_t begin, index_t end) {
    const std::vector<index_t>& planes = input_.gather[0];
    const bool nothing = gather_y_.extent() == 0 || gather_x_.extent() == 0;
    const std::size_t number = loads_++ % static_cast<std::size_t>(geometry_.chunks);
    const Lane::Slot& slot = lane_.source[number];
    char* const chunk = source_.data + static_cast<index_t>(number) * source_.bytes;
    if (engine_.gate_->policy() == TransferGate::global) slot.free.wait();  // not on the bus
    slot.free.hold_back(lane_.up);
    for (index_t plane = begin; plane < end;) {
        const index_t source_z = nothing ? -1 : planes[static_cast<std::size_t>(plane)];
        index_t count = 1;
        while (plane + count < end) {
            const index_t next = nothing ? -1 : planes[static_cast<std::size_t>(plane + count)];
            if (next != (source_z < 0 ? -1 : source_z + count)) break;
            ++count;
        }
        if (source_z >= 0) {
            if (input_.await_planes) input_.await_planes(source_z + count);
            const ConstImageView box =
                subview(input_.source, {{source_z, gather_y_.begin, gather_x_.begin},
                                        {source_z + count, gather_y_.end, gather_x_.end}});
            uploader_.upload(box, chunk + (plane - begin) * source_.plane_bytes);
        }
        plane += count;
    }
    slot.full.record(lane_.up);
    slot.full.hold_back(lane_.compute);
    timeline_.phase(Phase::convolve, lane_.compute, 0, [&] {
        for (index_t plane = begin; plane < end;) {
            const auto is_zero = [&](index_t at) {
                return nothing || planes[static_cast<std::size_t>(at)] < 0;
            };
            index_t count = 1;
            while (plane + count < end && is_zero(plane + count) == is_zero(plane)) ++count;
            if (is_zero(plane)) {
                transform_.load_zeros(plane % geometry_.ring, count, memory_, lane_.compute);
            } else {
                RowSource source;
                source.pixels = {chunk + (plane - begin) * source_.plane_bytes, input_.source.type,
                                 gather_y_.extent() * gather_x_.extent(), gather_x_.extent()};
                source.planes = count;
                source.loaded_y = static_cast<index_t>(gather_y_.list.size());
                source.loaded_x = static_cast<index_t>(gather_x_.list.size());
                source.gather_y = list_y_;
                source.gather_x = list_x_;
                source.subtract = input_.subtract;
                source.nonfinite_to_zero = input_.nonfinite_to_zero;
                if (input_.find_nonfinite)
                    count_nonfinite(source.pixels.data, source.pixels.type,
                                    count * source.pixels.plane_stride, clamped_ + 2,
                                    lane_.compute);
                transform_.load(source, plane % geometry_.ring, memory_, lane_.compute);
            }
            plane += count;
        }
    });
    slot.free.record(lane_.compute);
}

// The pass along z. A kernel that serves once is transformed just before, in memory that the blocks
// in flight use in turns.
void BlockRun::convolve(const ZWindow& window) {
    std::unique_lock<std::mutex> turn;
    DevicePool::Lease spectra;
    if (!kernel_.spectra()) {
        turn = std::unique_lock(engine_.kernel_mutex_);
        spectra = engine_.pool_.take(geometry_.kernel_bytes, "a kernel");
        memory_.kernel = spectra.get();
    }
    const StreamEnd end(lane_.compute, spectra != nullptr);
    timeline_.phase(Phase::convolve, lane_.compute, 0, [&] {
        if (spectra) transform_.prepare(kernel_.taps(), memory_, lane_.compute);
        transform_.convolve(window, memory_, lane_.compute);
    });
}

// Results [begin, end) of a window.
void BlockRun::store(index_t begin, index_t end, const ZWindow& window) {
    const std::size_t number = stores_++ % static_cast<std::size_t>(geometry_.chunks);
    const Lane::Slot& slot = lane_.target[number];
    char* const chunk = target_.data + static_cast<index_t>(number) * target_.bytes;
    const BlockAxis &y = block_.axes[1], &x = block_.axes[2];
    RowTarget target;
    target.pixels = {chunk, output_.target.type, y.kept * x.kept, x.kept};
    target.planes = end - begin;
    target.kept_begin_y = y.kept_begin;
    target.kept_y = y.kept;
    target.kept_begin_x = x.kept_begin;
    target.kept_x = x.kept;
    target.add_real = output_.add.real();
    target.add_imaginary = output_.add.imag();
    target.clamped = clamped_;
    slot.free.hold_back(lane_.compute);
    timeline_.phase(Phase::convolve, lane_.compute, 0, [&] {
        transform_.store((window.store.first + begin) % geometry_.ring, target, memory_,
                         lane_.compute);
    });
    slot.full.record(lane_.compute);
    if (engine_.gate_->policy() == TransferGate::global) slot.full.wait();  // not on the bus
    slot.full.hold_back(lane_.down);
    const index_t first = window.kept_begin + begin;
    downloader_.download(chunk,
                         subview(output_.target, {{first, 0, 0},
                                                  {window.kept_begin + end, output_.target.shape.y,
                                                   output_.target.shape.x}}));
    slot.free.record(lane_.down);
}

void BlockRun::report_progress(double done) {
    if (context_.progress) context_.progress(std::min(done, 1.0));
}

}  // namespace

}  // namespace gpu

EngineList make_gpu_engines(const GpuOptions& options) {
    if (const std::string why = gpu_unavailable(); !why.empty()) throw Unavailable(why);
    const int count = gpu::device_count();
    std::vector<int> devices = options.devices;
    for (const int device : devices) {
        if (device < 0 || device >= count)
            throw InvalidArgument(message("there is no GPU ", device, ": this machine has ", count,
                                          ", numbered from 0"));
        if (!gpu::device_facts(device).usable())
            throw Unavailable(message("GPU ", device,
                                      " is too old: convolume needs compute "
                                      "capability 7.5 or later"));
    }
    if (devices.empty())
        for (int device = 0; device < count; ++device)
            if (gpu::device_facts(device).usable()) devices.push_back(device);

    gpu::install_page_locker();
    const TransferGate policy = options.transfer_gate == TransferGate::automatic
                                    ? gpu::choose_gate(devices)
                                    : options.transfer_gate;
    const auto gate = std::make_shared<gpu::Gate>(policy);
    const int threads = options.host_threads > 0 ? options.host_threads : omp_get_max_threads();
    EngineList engines;
    std::string why;
    for (const int device : devices) {
        try {
            const index_t limit = options.memory_limit_bytes
                                      ? *options.memory_limit_bytes
                                      : gpu::free_device_bytes(device) / 10 * 9;
            engines.push_back(std::make_shared<gpu::GpuEngine>(
                device, options.first_index + static_cast<int>(engines.size()), limit,
                std::max(1, threads / static_cast<int>(devices.size())), gate));
        } catch (const Error& error) {
            // One that is full or out of order is left out, unless it was asked for.
            if (!options.devices.empty()) throw;
            why = error.what();
        }
    }
    if (engines.empty()) throw Unavailable(message("no GPU can be used now: ", why));
    return engines;
}

}  // namespace convolume
