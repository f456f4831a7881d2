#include "gpu/volumes/gpu_engine.hpp"

#include <algorithm>
#include <chrono>
#include <map>

#include "convolume/error.hpp"
#include "decompose/part.hpp"
#include "decompose/split.hpp"
#include "gpu/runtime/device_selection.hpp"
#include "gpu/volumes/direct/direct_transform.hpp"
#include "gpu/volumes/part_kernel.hpp"

namespace convolume {

namespace gpu {

GpuBandwidth bandwidth_of(int device) {
    static std::mutex mutex;
    static std::map<int, GpuBandwidth> known;
    const std::lock_guard lock(mutex);
    const auto found = known.find(device);
    if (found != known.end()) return found->second;
    return known[device] = measure_gpu_bandwidth(device);
}

namespace {

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

}  // namespace

std::shared_ptr<const EngineKernel> GpuEngine::prepare(const Block& block, const PartId& part,
                                                       const ConstImageView& taps, bool once) {
    if (!supports(block.algorithm))
        throw Unavailable(message("method ", to_string(block.algorithm),
                                  " does not run on a GPU: use the CPU (--device cpu)"));
    return with_device([&]() -> std::shared_ptr<const EngineKernel> {
        if (block.algorithm == Algorithm::direct) {
            const LaneLease lane(*this);
            return std::make_shared<GpuKernel>(direct_taps(block, taps, pool_, (*lane).compute),
                                               DeviceTaps{}, true);
        }
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
    if (block.algorithm == Algorithm::direct)
        return run(widened(block), *prepared, widened(block, input), output, task, context);
    return run(block, *prepared, input, output, task, context);
}

ExecutionReport GpuEngine::run(const Block& block, const GpuKernel& kernel, const BlockInput& input,
                               const BlockOutput& output, int task,
                               const ExecutionContext& context) {
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
        BlockRun run(*this, *lane, block, geometry, *transform, gathers, input, output, kernel,
                     workspace.get(), task, context);
        ExecutionReport report = run.run();
        report.seconds =
            std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
        return report;
    });
}

}  // namespace gpu

EngineList make_gpu_engines(const GpuOptions& options) {
    const std::vector<int> devices = gpu::choose_devices(options.devices);
    gpu::install_page_locker();
    const TransferGate policy = options.transfer_gate == TransferGate::automatic
                                    ? gpu::choose_gate(devices)
                                    : options.transfer_gate;
    const auto gate = std::make_shared<gpu::Gate>(policy);
    return gpu::make_on_devices<EngineList>(
        options, devices, [&](int device, int index, index_t limit_bytes, int host_threads) {
            return std::make_shared<gpu::GpuEngine>(device, index, limit_bytes, host_threads, gate);
        });
}

}  // namespace convolume
