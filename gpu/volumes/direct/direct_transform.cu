// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "gpu/runtime/check.hpp"
#include "gpu/volumes/direct/compiled_kernels.hpp"
#include "gpu/volumes/direct/device_kernels.cuh"
#include "gpu/volumes/direct/direct_transform.hpp"
#include "gpu/volumes/direct/taps.hpp"
#include "gpu/volumes/direct/widen_kernel.hpp"

namespace convolume::gpu {

namespace {

template <class T>
__global__ void __launch_bounds__(DirectTile::threads)
    widen_kernel(const __grid_constant__ WidenJob<T> job) {
    widen(DirectBlock{}, job);
}

template <class T>
class DirectTransform : public BlockTransform {
  public:
    DirectTransform(const Block& block, const BlockGeometry& geometry)
        : block_(block), geometry_(geometry), layout_(tap_layout<T>(block.kernel())) {}

    void prepare(const DeviceTaps&, const BlockMemory&, cudaStream_t) const override {
        throw InternalError("taps for sums in space are arranged on the host");
    }

    void load(const RowSource& source, index_t first_slot, const BlockMemory& memory,
              cudaStream_t stream) const override {
        for_each_run(first_slot, source.planes, [&](index_t slot, index_t begin, index_t count) {
            WidenJob<T> job;
            job.source = source;
            job.source.planes = count;
            job.source.pixels.data = static_cast<char*>(source.pixels.data) +
                                     begin * source.pixels.plane_stride *
                                         static_cast<index_t>(size_of(source.pixels.type));
            job.plane_packs = packs(geometry_.plane);
            job.row_packs = packs(geometry_.pitch);
            job.rows = geometry_.rows;
            job.samples = reinterpret_cast<Pack<T>*>(memory.ring) + slot * job.plane_packs;
            constexpr index_t most = 1 << 16;
            const auto blocks = static_cast<unsigned>(
                std::min(most, ceil_div(count * job.rows, index_t{DirectTile::warps})));
            widen_kernel<T><<<blocks, DirectTile::threads, 0, stream>>>(job);
            check(cudaGetLastError(), "loading samples");
        });
    }

    void load_zeros(index_t first_slot, index_t count, const BlockMemory& memory,
                    cudaStream_t stream) const override {
        for_each_run(first_slot, count, [&](index_t slot, index_t, index_t run) {
            check(cudaMemsetAsync(memory.ring + slot * geometry_.plane_bytes(), 0,
                                  static_cast<std::size_t>(run * geometry_.plane_bytes()), stream),
                  "clearing planes");
        });
    }

    // Results are summed as they leave.
    void convolve(const ZWindow&, const BlockMemory&, cudaStream_t) const override {}

    void store(index_t first_slot, const RowTarget& target, const BlockMemory& memory,
               cudaStream_t stream) const override {
        const auto* const taps = reinterpret_cast<const Pack<T>*>(memory.kernel);
        if (layout_.template are_constant<T>()) {
            auto job = job_of<ConstantTaps<T>>(first_slot, target, memory);
            std::copy_n(taps, layout_.template packs<T>(), job.taps.packs);
            launch(job, stream);
        } else {
            auto job = job_of<GlobalTaps<T>>(first_slot, target, memory);
            job.taps.packs = taps;
            launch(job, stream);
        }
    }

  private:
    static index_t packs(index_t samples) { return samples / pack_size<T>; }

    // A run of planes in the ring is one or two runs of slots.
    template <class Run>
    void for_each_run(index_t first_slot, index_t count, const Run& run) const {
        index_t slot = first_slot % geometry_.ring;
        for (index_t begin = 0; begin < count;) {
            const index_t here = std::min(count - begin, geometry_.ring - slot);
            run(slot, begin, here);
            begin += here;
            slot = 0;
        }
    }

    template <class Taps>
    DirectJob<T, Taps> job_of(index_t first_slot, const RowTarget& target,
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
        job.whole_packs = takes_packs<T>(target);
        if constexpr (is_complex_pixel<T>) {
            using Real = real_part_t<T>;
            job.add = {static_cast<Real>(target.add_real), static_cast<Real>(target.add_imaginary)};
        } else {
            job.add = static_cast<T>(target.add_real);
        }
        job.clamped = target.clamped;
        return job;
    }

    template <class Job>
    void launch(Job& job, cudaStream_t stream) const {
        const DirectKernel kernel = direct_kernel_for<T>(layout_);
        const index_t shared =
            kernel.shared_bytes + (job.groups_per_sum > 0 ? DirectTile::sums_bytes : 0);
        constexpr index_t granted = 48 << 10;
        if (shared > granted)
            check(cudaFuncSetAttribute(kernel.kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                       static_cast<int>(shared)),
                  "setting the shared memory of sums in space");
        void* arguments[] = {&job};
        check(cudaLaunchKernel(kernel.kernel, dim3(static_cast<unsigned>(tiles(job))),
                               dim3(DirectTile::threads), arguments,
                               static_cast<std::size_t>(shared), stream),
              "launching sums in space");
    }

    Block block_;
    BlockGeometry geometry_;
    TapLayout layout_;
};

}  // namespace

std::unique_ptr<BlockTransform> make_direct_transform(const Block& block,
                                                      const BlockGeometry& geometry) {
    return with_sample(block, [&](auto sample) -> std::unique_ptr<BlockTransform> {
        return std::make_unique<DirectTransform<decltype(sample)>>(block, geometry);
    });
}

DevicePool::Lease direct_taps(const Block& block, const ConstImageView& taps, DevicePool& pool,
                              cudaStream_t stream) {
    return with_sample(block, [&](auto sample) -> DevicePool::Lease {
        using T = decltype(sample);
        const TapLayout layout = tap_layout<T>(taps.shape);
        auto packs = arrange_taps<T>(layout, taps.data, taps.shape);
        if (layout.template are_constant<T>()) {
            const auto kept = std::make_shared<std::vector<Pack<T>>>(std::move(packs));
            return {kept, reinterpret_cast<char*>(kept->data())};
        }
        const auto bytes = static_cast<index_t>(packs.size()) * pack_bytes;
        DevicePool::Lease memory = pool.take(bytes, "a kernel");
        check(cudaMemcpyAsync(memory.get(), packs.data(), static_cast<std::size_t>(bytes),
                              cudaMemcpyHostToDevice, stream),
              "copying the kernel");
        check(cudaStreamSynchronize(stream), "copying the kernel");
        return memory;
    });
}

}  // namespace convolume::gpu
