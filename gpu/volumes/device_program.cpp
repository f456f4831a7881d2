// SPDX-License-Identifier: Apache-2.0
// A block prepared for data in device memory: the transforms of the engine, without transfers.

#include <algorithm>
#include <complex>
#include <optional>

#include "convolume/error.hpp"
#include "core/fft_size.hpp"
#include "gpu/backend.hpp"
#include "gpu/fft/planes.hpp"
#include "gpu/runtime/check.hpp"
#include "gpu/runtime/device.hpp"
#include "gpu/volumes/block_geometry.hpp"
#include "gpu/volumes/block_transform.hpp"
#include "gpu/volumes/program_images.hpp"
#include "gpu/volumes/workspace.hpp"

namespace convolume::gpu {

namespace {

class BlockProgram : public DeviceProgram {
  public:
    explicit BlockProgram(const DeviceProgramSpec& spec)
        : spec_(spec),
          device_(spec.device),
          workspace_(Workspace::shared_or_new(spec.workspace, spec.device)),
          geometry_(choose_geometry(spec, *workspace_)) {
        spec_.taps = {};
        spec_.workspace.reset();
        const DeviceScope scope(device_);
        transform_ = make_block_transform(spec.block, geometry_, device_);
        workspace_grown_ = workspace_->grow(workspace_bytes(geometry_));
        kernel_ = DeviceMemory(device_, geometry_.kernel_bytes);
        kernel_.clear();
        images_.emplace(spec, device_);
        if (!spec.fold_sources[0].empty()) {
            fold_.emplace(spec, device_);
            extended_ = DeviceMemory(device_, ResultFold::extended_bytes(spec));
        }
        // All planes are transformed at once. Fewer planes would stay in the cache between passes,
        // but small launches cost more than this saves.
        if (spec.run_kernel) run_taps_.emplace(spec, device_);
        prepare_tables(FirstTaps(spec, run_taps_, device_).taps(), spec);
    }

    void run(const void* input, void* output, void* stream_handle, const void* kernel,
             index_t images) override {
        const DeviceScope scope(device_);
        const auto stream = static_cast<cudaStream_t>(stream_handle);
        const index_t input_bytes = bytes_of(spec_.source, spec_.block.source_type);
        const index_t output_bytes = fold_ ? bytes_of(spec_.folded, spec_.folded_type)
                                           : bytes_of(spec_.block.kept(), spec_.block.target_type);
        with_workspace(stream, [&](const BlockMemory& memory) {
            if (run_taps_) prepare(run_taps_->taps_of(kernel), memory, stream);
            if (geometry_.fuses_planes && !fold_) {  // the planes of all images at once
                const index_t planes = checked_multiply(images, spec_.source.z);
                convolve_planes(images_->source_at(input, 0, planes),
                                images_->target_of(output, {0, planes}), stream);
                return;
            }
            for (index_t i = 0; i < images; ++i)
                enqueue(static_cast<const char*>(input) + i * input_bytes,
                        static_cast<char*>(output) + i * output_bytes, memory, stream);
        });
    }

    index_t bytes() const override {
        return workspace_grown_ + kernel_.bytes() + images_->bytes() + extended_.bytes() +
               (run_taps_ ? run_taps_->bytes() : 0) + (fold_ ? fold_->bytes() : 0);
    }
    std::shared_ptr<DeviceWorkspace> workspace() const override { return workspace_; }

  private:
    static index_t workspace_bytes(const BlockGeometry& geometry) {
        return checked_add(geometry.ring_bytes, geometry.batch_bytes);
    }
    // Calls work(memory), which enqueues work on `stream`, with the workspace.
    template <class Work>
    void with_workspace(cudaStream_t stream, const Work& work) const {
        workspace_->use(this, workspace_bytes(geometry_), stream, [&](bool) {
            char* const ring = workspace_->data();
            work(BlockMemory{ring, ring + geometry_.ring_bytes, kernel_.data()});
        });
    }

    void prepare(const DeviceTaps& taps, const BlockMemory& memory, cudaStream_t stream) const {
        if (geometry_.fuses_planes)
            transform_plane_kernel(geometry_.rows, row_source(taps, spec_.block.grid()),
                                   kernel_.as<std::complex<float>>(), stream);
        else
            transform_->prepare(taps, memory, stream);
    }

    void enqueue(const void* input, void* output, const BlockMemory& memory,
                 cudaStream_t stream) const {
        const index_t slots = spec_.block.axes[0].loaded;
        // The ring has a slot for each plane of the result.
        const RowTarget target =
            images_->target_of(fold_ ? extended_.data() : output, {0, spec_.block.axes[0].kept});
        if (geometry_.fuses_planes) {
            convolve_planes(images_->source_at(input, 0, slots), target, stream);
        } else {
            images_->for_each_load(
                input, {0, spec_.source.z}, {0, slots}, geometry_.ring,
                [&](const RowSource& source, index_t first_slot) {
                    transform_->load(source, first_slot, memory, stream);
                },
                [&](index_t first_slot, index_t count) {
                    transform_->load_zeros(first_slot, count, memory, stream);
                });
            transform_->convolve(geometry_.windows(spec_.block.axes[0]).front(), memory, stream);
            transform_->store(0, target, memory, stream);
        }
        if (fold_) fold_->fold(extended_.data(), output, {0, spec_.folded.z}, stream);
    }

    // Convolves planes in one pass. Every plane of the result is made from the same one of the
    // source.
    void convolve_planes(const RowSource& source, const RowTarget& target,
                         cudaStream_t stream) const {
        const index_t length = geometry_.rows;
        gpu::convolve_planes(length, source, kernel_.as<std::complex<float>>(), target,
                             1 / static_cast<double>(length * length), stream);
    }

    static BlockGeometry choose_geometry(const DeviceProgramSpec& spec,
                                         const Workspace& workspace) {
        const DeviceRates rates = device_rates(spec.device);
        index_t limit = spec.memory_limit_bytes > 0 ? spec.memory_limit_bytes
                                                    : usable_device_bytes(spec.device);
        if (!spec.fold_sources[0].empty())  // room for the continued image
            limit -= ResultFold::extended_bytes(spec);
        limit = std::max<index_t>(limit, 1);
        const index_t workspace_there = workspace.bytes();
        for (const bool keep : {true, false}) {
            if (keep && !spec.keep_spectrum) continue;
            BlockGeometry geometry =
                block_geometry(spec.block, {0, 0}, limit + workspace_there, rates, keep);
            geometry.kernel_shift = spec.kernel_shift.z;
            if (geometry.workspace_bytes() - std::min(workspace_there, workspace_bytes(geometry)) +
                    geometry.kernel_bytes <=
                limit)
                return geometry;
        }
        throw OutOfMemory(message("this convolution does not fit ", format_bytes(limit),
                                  " of device memory: free some, or convolve from host memory, "
                                  "where images may be larger than the device"),
                          MemoryKind::gpu);
    }

    // Transforms the kernel, and makes all tables of the passes, so that run() makes none.
    void prepare_tables(const DeviceTaps& source, const DeviceProgramSpec& spec) {
        const CudaStream stream;
        with_workspace(stream, [&](const BlockMemory& memory) {
            prepare(source, memory, stream);
            if (geometry_.fuses_planes) {
                const RowSource none = images_->source_at(nullptr, 0, 0);
                convolve_planes(none, images_->target_of(nullptr, {0, 0}), stream);
                return;
            }
            // Runs the pass once on arbitrary data.
            transform_->convolve(geometry_.windows(spec.block.axes[0]).front(), memory, stream);
        });
        stream.wait();
    }

    DeviceProgramSpec spec_;
    int device_;
    std::shared_ptr<Workspace> workspace_;
    BlockGeometry geometry_;
    index_t workspace_grown_ = 0;  ///< bytes by which this program enlarged the workspace
    std::unique_ptr<BlockTransform> transform_;
    std::optional<ProgramImages> images_;
    std::optional<RunTaps> run_taps_;  ///< of kernels that come with each run
    std::optional<ResultFold> fold_;
    DeviceMemory kernel_, extended_;  ///< extended_: result before it is folded
};

}  // namespace

std::unique_ptr<DeviceProgram> make_device_program(const DeviceProgramSpec& spec) {
    require_device(spec.device);
    return std::make_unique<BlockProgram>(spec);
}

index_t good_device_length(int device, int axis, index_t least, bool complex_data,
                           Precision precision) {
    require_device(device);
    const index_t own = length_with_passes(device, axis, least, 1, complex_data, precision);
    return own > 0 ? own : good_fft_size(least, length_multiple(axis, 1, complex_data));
}

index_t good_plane_length(int device, index_t least) {
    require_device(device);
    const index_t length = plane_pass_length(least);
    return length > 0 && has_plane_pass(length, device) ? length : 0;
}

}  // namespace convolume::gpu
