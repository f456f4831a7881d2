// SPDX-License-Identifier: Apache-2.0
// A block prepared for data in device memory: the transforms of the engine, without transfers.

#include <algorithm>
#include <limits>

#include "convolume/error.hpp"
#include "core/fft_size.hpp"
#include "gpu/backend.hpp"
#include "gpu/runtime/check.hpp"
#include "gpu/runtime/device.hpp"
#include "gpu/volumes/block_geometry.hpp"
#include "gpu/volumes/block_kernels.hpp"
#include "gpu/volumes/block_transform.hpp"
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
        gather_y_ = gather_list(spec.gather[1]);
        gather_x_ = gather_list(spec.gather[2]);
        if (!spec.fold_sources[0].empty()) prepare_fold();
        // All planes are transformed at once. Fewer planes would stay in the cache between passes,
        // but small launches cost more than this saves.
        if (spec.run_kernel)
            prepare_run_kernel(spec);
        else
            prepare_kernel(spec);
    }

    void run(const void* input, void* output, void* stream_handle, const void* kernel) override {
        const DeviceScope scope(device_);
        const auto stream = static_cast<cudaStream_t>(stream_handle);
        with_workspace(stream, [&](const BlockMemory& memory) {
            if (spec_.run_kernel) transform_->prepare(taps_of(kernel), memory, stream);
            enqueue(input, output, memory, stream);
        });
    }

    index_t bytes() const override {
        return workspace_grown_ + kernel_.bytes() + gather_y_.bytes() + gather_x_.bytes() +
               taps_y_.bytes() + taps_x_.bytes() + extended_.bytes() + fold_lists_.bytes();
    }
    std::shared_ptr<DeviceWorkspace> workspace() const override { return workspace_; }
    bool keeps_spectrum() const override { return geometry_.keeps_spectrum; }

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

    void enqueue(const void* input, void* output, const BlockMemory& memory,
                 cudaStream_t stream) const {
        load(input, memory, stream);
        const ZWindow window = geometry_.windows(spec_.block.axes[0]).front();
        transform_->convolve(window, memory, stream);
        const bool folds = extended_.bytes() > 0;
        store(folds ? extended_.data() : output, memory, stream);
        if (!folds) return;
        FoldArguments to_output = fold_arguments_;
        to_output.target = output;
        gpu::fold(to_output, stream);
    }

    static BlockGeometry choose_geometry(const DeviceProgramSpec& spec,
                                         const Workspace& workspace) {
        DeviceRates rates;
        rates.device = spec.device;
        index_t limit = spec.memory_limit_bytes > 0 ? spec.memory_limit_bytes
                                                    : usable_device_bytes(spec.device);
        if (!spec.fold_sources[0].empty())  // room for the continued image
            limit -= bytes_of(spec.block.kept(), spec.block.target_type);
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

    // Uploads a gather; returns empty memory for an identity.
    DeviceMemory gather_list(const std::vector<index_t>& indices) const {
        bool identity = true;
        std::vector<std::int32_t> list;
        for (const index_t i : indices) {
            if (i > std::numeric_limits<std::int32_t>::max())
                throw InvalidArgument("a row of more than 2^31 samples is too long for a GPU");
            identity = identity && i == static_cast<index_t>(list.size());
            list.push_back(static_cast<std::int32_t>(i));
        }
        return identity ? DeviceMemory() : upload(list);
    }

    template <class T>
    DeviceMemory upload(const std::vector<T>& values) const {
        const std::size_t bytes = values.size() * sizeof(T);
        DeviceMemory memory(device_, static_cast<index_t>(bytes));
        check(cudaMemcpy(memory.data(), values.data(), bytes, cudaMemcpyHostToDevice),
              "copying a gather");
        return memory;
    }

    static const std::int32_t* gather_pointer(const DeviceMemory& memory) {
        return reinterpret_cast<const std::int32_t*>(memory.data());
    }

    // Returns the tap at every position of a periodic grid, -1 if there is none. The kernel is
    // shifted circularly instead of the image.
    DeviceMemory shifted_taps(index_t grid, index_t taps, index_t shift) const {
        if (shift == 0) return {};
        std::vector<std::int32_t> list(static_cast<std::size_t>(grid), -1);
        for (index_t tap = 0; tap < taps; ++tap)
            list[static_cast<std::size_t>(((tap - shift) % grid + grid) % grid)] =
                static_cast<std::int32_t>(tap);
        return upload(list);
    }

    // Returns the kernel's row or column at every position of a grid, -1 if there is none. Returns
    // empty memory if they follow each other from position 0 on.
    DeviceMemory run_kernel_taps(const DeviceProgramSpec& spec, int axis) const {
        if (!spec.run_kernel->flip && spec.kernel_shift[axis] == 0) return {};
        const index_t grid = spec.block.grid()[axis], taps = spec.taps.shape[axis],
                      shift = spec.kernel_shift[axis], begin = spec.run_kernel->begin[axis],
                      last = spec.run_kernel->shape[axis] - 1;
        std::vector<std::int32_t> list(static_cast<std::size_t>(grid), -1);
        for (index_t tap = 0; tap < taps; ++tap)
            list[static_cast<std::size_t>(((tap - shift) % grid + grid) % grid)] =
                static_cast<std::int32_t>(spec.run_kernel->flip ? last - begin - tap : begin + tap);
        return upload(list);
    }

    // Returns the taps of a kernel in device memory. A flip along z walks backward through planes.
    DeviceTaps taps_of(const void* kernel) const {
        const RunKernel& form = *spec_.run_kernel;
        const index_t plane = form.shape.y * form.shape.x;
        index_t first = (form.flip ? form.shape.z - 1 - form.begin.z : form.begin.z) * plane;
        if (taps_y_.bytes() == 0) first += form.begin.y * form.shape.x;
        if (taps_x_.bytes() == 0) first += form.begin.x;
        DeviceTaps taps;
        taps.pixels = {
            const_cast<char*>(static_cast<const char*>(kernel)) + first * sample_bytes(form.type),
            form.type, form.flip ? -plane : plane, form.shape.x};
        taps.shape = taps_shape_;
        taps.gather_y = gather_pointer(taps_y_);
        taps.gather_x = gather_pointer(taps_x_);
        return taps;
    }

    void prepare_run_kernel(const DeviceProgramSpec& spec) {
        taps_shape_ = spec.taps.shape;
        taps_y_ = run_kernel_taps(spec, 1);
        taps_x_ = run_kernel_taps(spec, 2);
        const DeviceMemory zeros(device_, bytes_of(spec.run_kernel->shape, spec.run_kernel->type));
        zeros.clear();
        prepare_tables(taps_of(zeros.data()), spec);
    }

    void prepare_kernel(const DeviceProgramSpec& spec) {
        const index_t bytes = bytes_of(spec.taps.shape, spec.taps.type);
        const DeviceMemory taps(device_, bytes);
        check(cudaMemcpy(taps.data(), spec.taps.data, static_cast<std::size_t>(bytes),
                         cudaMemcpyHostToDevice),
              "copying the kernel");
        const Shape3 grid = spec.block.grid();
        const DeviceMemory list_y = shifted_taps(grid.y, spec.taps.shape.y, spec.kernel_shift.y);
        const DeviceMemory list_x = shifted_taps(grid.x, spec.taps.shape.x, spec.kernel_shift.x);
        DeviceTaps source;
        source.pixels = {taps.data(), spec.taps.type, spec.taps.shape.y * spec.taps.shape.x,
                         spec.taps.shape.x};
        source.shape = spec.taps.shape;
        source.gather_y = gather_pointer(list_y);
        source.gather_x = gather_pointer(list_x);
        prepare_tables(source, spec);
    }

    // Transforms the kernel, and makes all tables of the passes, so that run() makes none.
    void prepare_tables(const DeviceTaps& source, const DeviceProgramSpec& spec) {
        const CudaStream stream;
        // Copies from ordinary memory may still be running when they return.
        check(cudaDeviceSynchronize(), "copying the kernel");
        with_workspace(stream, [&](const BlockMemory& memory) {
            transform_->prepare(source, memory, stream);
            // Runs the pass once on arbitrary data.
            transform_->convolve(geometry_.windows(spec.block.axes[0]).front(), memory, stream);
        });
        stream.wait();
    }

    void prepare_fold() {
        extended_ = DeviceMemory(device_, bytes_of(spec_.block.kept(), spec_.block.target_type));
        std::vector<std::int64_t> lists;
        std::array<std::size_t, 3> begins{};
        for (std::size_t a = 0; a < 3; ++a) {
            const index_t extent = spec_.folded[static_cast<int>(a)];
            std::vector<std::vector<std::int64_t>> positions(static_cast<std::size_t>(extent));
            const auto& sources = spec_.fold_sources[a];
            for (std::size_t i = 0; i < sources.size(); ++i)
                if (sources[i] >= 0)
                    positions[static_cast<std::size_t>(sources[i])].push_back(
                        static_cast<std::int64_t>(i));
            begins[a] = lists.size();
            std::int64_t start = 0;
            for (const auto& target_positions : positions) {
                lists.push_back(start);
                start += static_cast<std::int64_t>(target_positions.size());
            }
            lists.push_back(start);
            for (const auto& target_positions : positions)
                lists.insert(lists.end(), target_positions.begin(), target_positions.end());
        }
        fold_lists_ = upload(lists);
        const auto* const at = reinterpret_cast<const std::int64_t*>(fold_lists_.data());
        for (std::size_t a = 0; a < 3; ++a) {
            const auto extent = static_cast<std::size_t>(spec_.folded[static_cast<int>(a)]);
            fold_arguments_.axes[a] = {at + begins[a], at + begins[a] + extent + 1};
        }
        fold_arguments_.extended = extended_.data();
        fold_arguments_.extended_type = spec_.block.target_type;
        fold_arguments_.extended_shape = spec_.block.kept();
        fold_arguments_.target_type = spec_.folded_type;
        fold_arguments_.target_shape = spec_.folded;
    }

    // Loads contiguous planes of the input together, at most as many as the ring has slots.
    void load(const void* input, const BlockMemory& memory, cudaStream_t stream) const {
        const std::vector<index_t>& planes = spec_.gather[0];
        const auto count = static_cast<index_t>(planes.size());
        const index_t plane_samples = spec_.source.y * spec_.source.x;
        const PixelType type = spec_.block.source_type;
        for (index_t begin = 0; begin < count;) {
            const index_t first = planes[static_cast<std::size_t>(begin)];
            index_t run = 1;
            while (begin + run < count && run < geometry_.ring &&
                   planes[static_cast<std::size_t>(begin + run)] == (first < 0 ? -1 : first + run))
                ++run;
            if (first < 0) {
                transform_->load_zeros(begin, run, memory, stream);
            } else {
                RowSource source;
                source.pixels = {const_cast<char*>(static_cast<const char*>(input)) +
                                     first * plane_samples * sample_bytes(type),
                                 type, plane_samples, spec_.source.x};
                source.planes = run;
                source.loaded_y = spec_.block.axes[1].loaded;
                source.loaded_x = spec_.block.axes[2].loaded;
                source.gather_y = gather_pointer(gather_y_);
                source.gather_x = gather_pointer(gather_x_);
                source.subtract = spec_.subtract;
                source.nonfinite_to_zero = spec_.nonfinite_to_zero;
                transform_->load(source, begin, memory, stream);
            }
            begin += run;
        }
    }

    void store(void* output, const BlockMemory& memory, cudaStream_t stream) const {
        const BlockAxis &z = spec_.block.axes[0], &y = spec_.block.axes[1],
                        &x = spec_.block.axes[2];
        const PixelType type = spec_.block.target_type;
        for (index_t begin = 0; begin < z.kept; begin += geometry_.ring) {
            RowTarget target;
            target.pixels = {
                static_cast<char*>(output) + begin * y.kept * x.kept * sample_bytes(type), type,
                y.kept * x.kept, x.kept};
            target.planes = std::min(geometry_.ring, z.kept - begin);
            target.kept_begin_y = y.kept_begin;
            target.kept_y = y.kept;
            target.kept_begin_x = x.kept_begin;
            target.kept_x = x.kept;
            target.add_real = spec_.add.real();
            target.add_imaginary = spec_.add.imag();
            transform_->store(begin, target, memory, stream);
        }
    }

    DeviceProgramSpec spec_;
    int device_;
    std::shared_ptr<Workspace> workspace_;
    BlockGeometry geometry_;
    index_t workspace_grown_ = 0;  ///< bytes by which this program enlarged the workspace
    std::unique_ptr<BlockTransform> transform_;
    DeviceMemory kernel_, gather_y_, gather_x_, taps_y_, taps_x_, extended_, fold_lists_;
    Shape3 taps_shape_;  ///< taps of a kernel that comes with each run
    FoldArguments fold_arguments_;
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

}  // namespace convolume::gpu
