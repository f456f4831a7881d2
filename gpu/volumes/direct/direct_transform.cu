// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "gpu/runtime/check.hpp"
#include "gpu/runtime/device.hpp"
#include "gpu/volumes/direct/direct_instances.cuh"
#include "gpu/volumes/direct/direct_job.hpp"
#include "gpu/volumes/direct/direct_kernel.hpp"
#include "gpu/volumes/direct/direct_transform.hpp"
#include "gpu/volumes/direct/taps.hpp"

namespace convolume::gpu {

namespace {

template <class T>
__global__ void __launch_bounds__(DirectShape::threads)
    widen_cuda_kernel(const __grid_constant__ WidenJob<T> job) {
    widen(DirectBlock{}, job);
}

template <class T>
class DirectTransform : public RingTransform {
  public:
    DirectTransform(const Block& block, const BlockGeometry& geometry)
        : RingTransform(block, geometry), layout_(tap_layout<T>(block.kernel())) {}

    void prepare(const DeviceTaps&, const BlockMemory&, cudaStream_t) const override {
        throw InternalError("taps for sums in space are arranged on the host");
    }

    void load(const RowSource& source, index_t first_slot, const BlockMemory& memory,
              cudaStream_t stream) const override {
        for_each_run(first_slot, source.planes, [&](index_t slot, index_t begin, index_t count) {
            WidenJob<T> job;
            job.source = source;
            job.source.planes = count;
            job.source.pixels = source.pixels.from_plane(begin);
            job.plane_packs = packs(geometry_.plane);
            job.row_packs = packs(geometry_.pitch);
            job.rows = geometry_.rows;
            job.samples = reinterpret_cast<Pack<T>*>(memory.ring) + slot * job.plane_packs;
            constexpr index_t most = 1 << 16;
            const auto blocks = static_cast<unsigned>(
                std::min(most, ceil_div(count * job.rows, index_t{DirectShape::warps})));
            widen_cuda_kernel<T><<<blocks, DirectShape::threads, 0, stream>>>(job);
            check(cudaGetLastError(), "loading samples");
        });
    }

    // Computes nothing: sums are computed when results are stored.
    void convolve(const ZWindow&, const BlockMemory&, cudaStream_t) const override {}

    void store(index_t first_slot, const RowTarget& target, const BlockMemory& memory,
               cudaStream_t stream) const override {
        const auto* const taps = reinterpret_cast<const Pack<T>*>(memory.kernel);
        if (layout_.template are_constant<T>()) {
            auto job = make_job<ConstantTaps<T>>(first_slot, target, memory);
            std::copy_n(taps, layout_.template packs<T>(), job.taps.packs);
            launch(job, stream);
        } else {
            auto job = make_job<GlobalTaps<T>>(first_slot, target, memory);
            job.taps.packs = taps;
            launch(job, stream);
        }
    }

  private:
    static index_t packs(index_t samples) { return samples / pack_size<T>; }

    template <class Taps>
    DirectJob<T, Taps> make_job(index_t first_slot, const RowTarget& target,
                                const BlockMemory& memory) const {
        DirectJob<T, Taps> job;
        job.samples.data = reinterpret_cast<const Pack<T>*>(memory.ring);
        job.samples.plane_packs = packs(geometry_.plane);
        job.samples.row_packs = packs(geometry_.pitch);
        job.samples.rows = geometry_.rows;
        job.samples.first_slot = first_slot % geometry_.ring;
        job.samples.ring = geometry_.ring;
        job.planes = target.planes;
        set_outputs(layout_, target.kept_y, target.kept_x, job);
        job.target = target.pixels;
        job.whole_packs = can_store_packs<T>(target);
        if constexpr (is_complex_pixel<T>) {
            using Real = real_type_t<T>;
            job.addend = {static_cast<Real>(target.add_real),
                          static_cast<Real>(target.add_imaginary)};
        } else {
            job.addend = static_cast<T>(target.add_real);
        }
        job.clamped = target.clamped;
        return job;
    }

    template <class Job>
    void launch(Job& job, cudaStream_t stream) const {
        const DirectCudaKernel cuda_kernel = direct_cuda_kernel_for<T>(layout_);
        const index_t shared =
            cuda_kernel.shared_bytes + (job.groups_per_sum > 0 ? DirectShape::sums_bytes : 0);
        allow_shared_bytes(cuda_kernel.function, shared,
                           "setting the shared memory of sums in space");
        void* arguments[] = {&job};
        check(cudaLaunchKernel(
                  cuda_kernel.function, dim3(static_cast<unsigned>(thread_blocks(job))),
                  dim3(DirectShape::threads), arguments, static_cast<std::size_t>(shared), stream),
              "launching sums in space");
    }

    TapLayout layout_;
};

}  // namespace

std::unique_ptr<BlockTransform> make_direct_transform(const Block& block,
                                                      const BlockGeometry& geometry) {
    return with_sample(block, [&](auto sample) -> std::unique_ptr<BlockTransform> {
        return std::make_unique<DirectTransform<decltype(sample)>>(block, geometry);
    });
}

DevicePool::BorrowedMemory direct_taps(const Block& block, const ConstImageView& taps,
                                       DevicePool& pool, cudaStream_t stream) {
    return with_sample(block, [&](auto sample) -> DevicePool::BorrowedMemory {
        using T = decltype(sample);
        const TapLayout layout = tap_layout<T>(taps.shape);
        auto packs = arrange_taps<T>(layout, taps.data, taps.shape);
        if (layout.template are_constant<T>()) {
            const auto kept = std::make_shared<std::vector<Pack<T>>>(std::move(packs));
            return {kept, reinterpret_cast<char*>(kept->data())};
        }
        const auto bytes = static_cast<index_t>(packs.size()) * pack_bytes;
        DevicePool::BorrowedMemory memory = pool.take(bytes, "a kernel");
        check(cudaMemcpyAsync(memory.get(), packs.data(), static_cast<std::size_t>(bytes),
                              cudaMemcpyHostToDevice, stream),
              "copying the kernel");
        check(cudaStreamSynchronize(stream), "copying the kernel");
        return memory;
    });
}

Block widened_block(const Block& block) {
    Block wide = block;
    for (BlockAxis& axis : wide.axes) {
        axis.loaded = axis.grid = axis.kept + axis.kernel - 1;
        axis.kept_begin = axis.kernel - 1;
    }
    return wide;
}

BlockInput widened_block(const Block& block, const BlockInput& input) {
    BlockInput wide = input;
    for (std::size_t a = 0; a < 3; ++a) {
        const BlockAxis& axis = block.axes[a];
        const std::vector<index_t>& gather = input.gather[a];
        std::vector<index_t>& indices = wide.gather[a];
        indices.assign(static_cast<std::size_t>(axis.kept + axis.kernel - 1), -1);
        const index_t first = axis.kept_begin - (axis.kernel - 1);
        const index_t end = std::min(first + static_cast<index_t>(indices.size()),
                                     static_cast<index_t>(gather.size()));
        for (index_t i = std::max<index_t>(first, 0); i < end; ++i)
            indices[static_cast<std::size_t>(i - first)] = gather[static_cast<std::size_t>(i)];
    }
    return wide;
}

void describe_direct(const Block& block, BlockGeometry& geometry) {
    with_sample(block, [&](auto sample) {
        using T = decltype(sample);
        const TapLayout taps = tap_layout<T>(block.kernel());
        geometry.sample_bytes = static_cast<index_t>(sizeof(T));
        geometry.rows =
            round_up(block.axes[1].kept, index_t{DirectShape::thread_rows}) + taps.reach_y();
        const index_t packs = pack_count<T>(block.axes[2].kept) + taps.template reach_packs<T>();
        geometry.pitch = geometry.spectrum_row_samples = packs * pack_size<T>;
        if (!taps.template are_constant<T>())
            geometry.kernel_bytes =
                round_up(taps.template packs<T>() * pack_bytes, DeviceMemory::alignment);
    });
    geometry.plane = checked_multiply(geometry.rows, geometry.pitch);
    geometry.kernel_planes = block.axes[0].kernel;
    const Block wide = widened_block(block);
    geometry.lists_bytes =
        round_up(4 * (wide.axes[1].loaded + wide.axes[2].loaded), DeviceMemory::alignment) +
        DeviceMemory::alignment;
}

double direct_seconds(const Block& block, double multiply_adds) {
    return with_sample(block, [&](auto sample) {
        using T = decltype(sample);
        const TapLayout taps = tap_layout<T>(block.kernel());
        const auto warps =
            static_cast<double>(pack_count<T>(block.axes[2].kept)) / DirectShape::lanes *
            static_cast<double>(ceil_div(block.axes[1].kept, index_t{DirectShape::thread_rows})) *
            static_cast<double>(block.axes[0].kept * block.axes[0].kernel);
        constexpr double products_a_cycle = 128;
        return warps * tap_plane_cycles<T>(taps) / (multiply_adds / products_a_cycle);
    });
}

}  // namespace convolume::gpu
