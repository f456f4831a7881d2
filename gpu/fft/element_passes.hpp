// SPDX-License-Identifier: Apache-2.0
#pragma once
// The compiled element passes of a functor, by the length of real rows, and their launch.

#include <algorithm>
#include <utility>
#include <vector>

#include "convolume/error.hpp"
#include "gpu/fft/device_table.hpp"
#include "gpu/fft/element_job.hpp"
#include "gpu/runtime/check.hpp"

namespace convolume::gpu {

/// The passes over rows of n complex samples. `cuda_kernels` and
/// `shared_bytes` have an element for each ElementKind.
template <class Elements>
struct ElementPass {
    int n = 0;
    void (*cuda_kernels[element_kinds])(ElementJob<Elements>) = {};
    TransformPlan plan;
    int threads = 0;  ///< threads of a thread block
    int rows = 0;     ///< rows of a thread block
    /// Bytes of shared memory of a thread block, by ElementKind and by the number of arrays that
    /// the pass reads (used_arrays).
    index_t shared_bytes[element_kinds][most_element_arrays + 1] = {};

    const void* cuda_kernel(ElementKind kind) const {
        return reinterpret_cast<const void*>(cuda_kernels[static_cast<int>(kind)]);
    }
    index_t bytes(ElementKind kind, int arrays) const {
        return shared_bytes[static_cast<int>(kind)][arrays];
    }
    /// Returns the number of thread blocks that the current device runs at a time.
    index_t resident(ElementKind kind, int arrays) const {
        const index_t blocks = resident_blocks(cuda_kernel(kind), threads, bytes(kind, arrays));
        if (blocks == 0)
            throw GpuUnavailable(
                message("rows of ", 2 * n, " samples do not fit this device's shared memory"));
        return blocks;
    }
};

template <class Elements>
class ElementPasses {
  public:
    explicit ElementPasses(std::vector<ElementPass<Elements>> passes)
        : passes_(std::move(passes)) {}

    /// Whether there are passes over real rows of that length.
    bool has(index_t length, int device) const {
        constexpr ElementKind largest = ElementKind::update;
        const ElementPass<Elements>* const pass = find(length);
        return pass != nullptr && can_run(pass->cuda_kernel(largest),
                                          pass->bytes(largest, most_arrays(largest)), device);
    }

    /// Returns an upper bound of the number of thread blocks of a pass with sums, on the current
    /// device.
    index_t most_blocks(index_t length) const { return most_resident_blocks(get(length).threads); }

    /// Enqueues a pass over rows 0 … work.rows-1 of `planes` planes of the spectrum, in place, with
    /// the transforms that the kind of work has. Samples are multiplied by `scale` after an inverse
    /// transform. If `sums` is not null, it has room for 2 · most_blocks() sums on the device, and
    /// gets two sums of each thread block. Returns the number of thread blocks.
    index_t run(index_t length, const ElementWork<Elements>& work, index_t planes,
                const SpectrumPlanes<float>& spectrum, double scale, double* sums,
                cudaStream_t stream) const {
        const ElementPass<Elements>& pass = get(length);
        auto job = element_job(work, planes, spectrum, scale, sums);
        const index_t groups = ceil_div(planes * work.rows, pass.rows);
        if (groups == 0) return 0;
        job.rows.twiddles = device_twiddles<float>(pass.plan, stream);
        const int arrays = used_arrays(work);
        const index_t blocks = std::min(groups, pass.resident(work.kind, arrays));
        void* arguments[] = {&job};
        check(cudaLaunchKernel(pass.cuda_kernel(work.kind), dim3(static_cast<unsigned>(blocks)),
                               dim3(static_cast<unsigned>(pass.threads)), arguments,
                               static_cast<std::size_t>(pass.bytes(work.kind, arrays)), stream),
              "launching an element pass");
        return blocks;
    }

  private:
    /// Returns the pass of a length, or null if there is none.
    const ElementPass<Elements>* find(index_t length) const {
        const auto found =
            std::find_if(passes_.begin(), passes_.end(),
                         [&](const ElementPass<Elements>& pass) { return 2 * pass.n == length; });
        return found == passes_.end() ? nullptr : &*found;
    }
    const ElementPass<Elements>& get(index_t length) const {
        const ElementPass<Elements>* const pass = find(length);
        if (pass == nullptr) throw InternalError(message("no element pass for rows of ", length));
        return *pass;
    }

    std::vector<ElementPass<Elements>> passes_;
};

}  // namespace convolume::gpu
