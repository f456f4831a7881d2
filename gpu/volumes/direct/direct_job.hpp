// SPDX-License-Identifier: Apache-2.0
#pragma once
// The arguments of the CUDA kernels of direct sums in space, and how thread blocks share an image.
//
// Samples include all those that sums need beyond the outputs. Output (z, y, x) is the sum of
// samples (z + k, y + i, x + j) times flipped taps (k, i, j), so that the sums need no checks at
// borders.

#include <type_traits>

#include "convolume/cuda/detail/complex.hpp"
#include "gpu/fft/pass_types.hpp"

namespace convolume::gpu {

/// Bytes of samples that are read and written together: a pack.
inline constexpr int pack_bytes = 16;
template <class T>
inline constexpr int pack_size = pack_bytes / static_cast<int>(sizeof(T));
template <class T>
struct alignas(pack_bytes) Pack {
    T v[static_cast<unsigned>(pack_size<T>)];
};
template <class T>
CONVOLUME_CONSTEXPR index_t pack_count(index_t samples) {
    return (samples + pack_size<T> - 1) / pack_size<T>;
}

/// The outputs of a thread block. Each thread computes one pack in each of some rows of some
/// planes, so that a sample in a register is used in many sums. The packs of a warp are
/// consecutive.
struct DirectShape {
    static constexpr int lanes = 32, warps = 8, threads = lanes * warps;
    static constexpr int thread_rows = 4, planes = 2;
    static constexpr int rows = thread_rows * warps;
    /// Bytes of the sums of all threads.
    static constexpr index_t sums_bytes = index_t{threads} * thread_rows * planes * pack_bytes;
};

/// Layout of taps in tap groups of `width` × `height` whose products are summed by unrolled code.
/// Zeros fill the last groups, so that a NaN spreads as far as the groups. The order in memory is
/// planes, groups along y, groups along x, and a group's rows of whole packs.
struct TapLayout {
    int width = 1, height = 1;
    index_t groups_y = 1, groups_x = 1, planes = 1;

    /// Return the rows and packs of samples that a sum reads after its own.
    index_t reach_y() const { return height * groups_y - 1; }
    template <class T>
    index_t reach_packs() const {
        return (groups_x - 1) * (width / pack_size<T>)+pack_count<T>(width + pack_size<T> - 1) - 1;
    }
    template <class T>
    index_t packs() const {
        return planes * groups_y * groups_x * height * pack_count<T>(width);
    }
    /// Whether the taps are ConstantTaps; otherwise they are GlobalTaps.
    template <class T>
    bool are_constant() const;
};

/// Widened planes in device memory: plane p is in slot (first_slot + p) mod ring.
template <class T>
struct DirectSamples {
    const Pack<T>* data = nullptr;
    index_t plane_packs = 0, row_packs = 0, rows = 0;
    index_t first_slot = 0, ring = 1;
    index_t last_row = 0, last_pack = 0;  ///< first output of the last thread
    int reach_rows = 0, reach_packs = 0;
};

/// Taps in device memory.
template <class T>
struct GlobalTaps {
    const Pack<T>* packs = nullptr;

    template <class Context>
    CONVOLUME_DEVICE Pack<T> load(const Context& context, index_t i) const {
        return context.load(packs + i);
    }
};

/// Taps among the parameters of a launch, which are in constant memory. Concurrent launches have
/// separate copies. A launch has room for 4 KiB of parameters.
template <class T>
struct ConstantTaps {
    static constexpr index_t most_packs = 232;
    Pack<T> packs[static_cast<unsigned>(most_packs)];

    template <class Context>
    CONVOLUME_DEVICE Pack<T> load(const Context&, index_t i) const {
        return packs[i];
    }
};

template <class T>
bool TapLayout::are_constant() const {
    return packs<T>() <= ConstantTaps<T>::most_packs;
}

/// Arguments for the sums of `planes` planes of outputs.
template <class T, class Taps = GlobalTaps<T>>
struct DirectJob {
    DirectSamples<T> samples;
    Taps taps;
    int kernel_planes = 1, groups_y = 1, groups_x = 1;
    /// Tap groups whose products are summed before they are added to the total, because the error
    /// of a sum grows with its length; 0: all tap groups.
    int groups_per_sum = 0;
    index_t planes = 1, kept_y = 1, kept_x = 1;
    index_t blocks_y = 1, blocks_x = 1;
    PixelRows target;
    bool whole_packs = false;  ///< packs are stored without conversion
    T addend{};
    unsigned long long* clamped = nullptr;
};

static_assert(sizeof(DirectJob<Complex<double>, ConstantTaps<Complex<double>>>) <= 4096);

/// Sets the members that depend on the layout of taps and on the kept_y × kept_x outputs.
template <class T, class Taps>
void set_outputs(const TapLayout& layout, index_t kept_y, index_t kept_x, DirectJob<T, Taps>& job) {
    constexpr index_t longest_sum = 256;  // products in a sum
    job.kernel_planes = static_cast<int>(layout.planes);
    job.groups_y = static_cast<int>(layout.groups_y);
    job.groups_x = static_cast<int>(layout.groups_x);
    const index_t taps_per_group = index_t{layout.width} * layout.height;
    if (taps_per_group * layout.groups_y * layout.groups_x * layout.planes > 2 * longest_sum)
        job.groups_per_sum = static_cast<int>(ceil_div(longest_sum, taps_per_group));
    job.kept_y = kept_y;
    job.kept_x = kept_x;
    job.blocks_y = ceil_div(kept_y, index_t{DirectShape::rows});
    job.blocks_x = ceil_div(pack_count<T>(kept_x), index_t{DirectShape::lanes});
    job.samples.last_row = (kept_y - 1) / DirectShape::thread_rows * DirectShape::thread_rows;
    job.samples.last_pack = pack_count<T>(kept_x) - 1;
    job.samples.reach_rows = static_cast<int>(layout.reach_y());
    job.samples.reach_packs = static_cast<int>(layout.reach_packs<T>());
}

/// Returns the thread blocks that a job needs.
template <class T, class Taps>
index_t thread_blocks(const DirectJob<T, Taps>& job) {
    return job.blocks_x * job.blocks_y * ceil_div(job.planes, index_t{DirectShape::planes});
}

/// The real type of a sample.
template <class T>
struct RealTypeOf {
    using type = T;
};
template <class Real>
struct RealTypeOf<Complex<Real>> {
    using type = Real;
};
template <class T>
using real_type_t = typename RealTypeOf<T>::type;

/// Whether packs can be stored to the target without conversion.
template <class T>
bool can_store_packs(const RowTarget& target) {
    using Real = real_type_t<T>;
    using HostSample = std::conditional_t<std::is_same_v<T, Real>, Real, std::complex<Real>>;
    return target.pixels.type == pixel_type_of_v<HostSample> && target.kept_x % pack_size<T> == 0 &&
           target.pixels.row_stride % pack_size<T> == 0 &&
           target.pixels.plane_stride % pack_size<T> == 0 &&
           reinterpret_cast<std::uintptr_t>(target.pixels.data) % pack_bytes == 0;
}

struct DirectCudaKernel {
    /// A CUDA kernel; its argument is a DirectJob with ConstantTaps if the layout has them,
    /// otherwise with GlobalTaps.
    const void* function = nullptr;
    index_t shared_bytes = 0;  ///< shared memory, without the totals of tap groups
};
template <class T>
DirectCudaKernel direct_cuda_kernel_for(const TapLayout& layout);

}  // namespace convolume::gpu
