// SPDX-License-Identifier: Apache-2.0
#pragma once
// The bodies of the CUDA kernels of direct sums in space.

#include "gpu/fft/pixel.hpp"
#include "gpu/volumes/direct/direct_job.hpp"

namespace convolume::gpu {

CONVOLUME_DEVICE index_t smaller(index_t a, index_t b) {
    return a < b ? a : b;
}

/// The outputs of a thread block, and the thread's position among them.
struct ThreadPosition {
    int lane, warp;
    index_t first_pack, first_row, plane;  ///< first pack, row and plane of the thread block

    template <class Context>
    CONVOLUME_DEVICE ThreadPosition(const Context& context, index_t blocks_x, index_t blocks_y)
        : lane(context.thread() % DirectShape::lanes), warp(context.thread() / DirectShape::lanes) {
        const index_t row = context.block() / blocks_x;
        first_pack = (context.block() - row * blocks_x) * DirectShape::lanes;
        first_row = row % blocks_y * DirectShape::rows;
        plane = row / blocks_y * DirectShape::planes;
    }
    CONVOLUME_DEVICE index_t row() const {
        return first_row + index_t{warp} * DirectShape::thread_rows;
    }
    CONVOLUME_DEVICE index_t pack() const { return first_pack + lane; }
};

template <class T>
CONVOLUME_DEVICE const Pack<T>* plane_of(const DirectSamples<T>& samples, index_t plane) {
    index_t slot = samples.first_slot + plane;
    if (slot >= samples.ring) slot -= samples.ring;
    return samples.data + slot * samples.plane_packs;
}

/// Samples of a thread's sums, loaded from device memory through the caches. After enter(plane),
/// load(row, pack) counts from the thread's first output. This is the fastest of several variants
/// (bench/gpu_direct.cu): repeated reads of a thread block come from the L1 cache as fast as from
/// shared memory, without barriers.
template <class T, class Context>
class CachedSamples {
  public:
    /// Returns the bytes of shared memory that this source needs.
    static index_t bytes(const TapLayout&) { return 0; }

    CONVOLUME_DEVICE CachedSamples(const Context& context, char* /*shared*/,
                                   const DirectSamples<T>& samples, const ThreadPosition& position,
                                   int /*planes*/)
        : context_(context), samples_(samples), plane_(position.plane) {
        // Threads beyond the last outputs repeat the last outputs.
        own_offset_ = smaller(position.row(), samples.last_row) * samples.row_packs +
                      smaller(position.pack(), samples.last_pack);
    }
    CONVOLUME_DEVICE void enter_plane(int plane) {
        first_sample_ = plane_of(samples_, plane_ + plane) + own_offset_;
    }
    CONVOLUME_DEVICE Pack<T> load(int row, int pack) const {
        return context_.load(first_sample_ + row * samples_.row_packs + pack);
    }

  private:
    const Context& context_;
    const DirectSamples<T>& samples_;
    index_t plane_, own_offset_;
    const Pack<T>* first_sample_ = nullptr;
};

/// A thread's sums. They stay in registers, because every index is known at compile time.
template <class T>
struct ThreadSums {
    static constexpr int planes = DirectShape::planes, rows = DirectShape::thread_rows;
    Pack<T> values[static_cast<unsigned>(planes)][static_cast<unsigned>(rows)];

    CONVOLUME_DEVICE void clear() {
        CONVOLUME_UNROLL
        for (int p = 0; p < planes; ++p) {
            CONVOLUME_UNROLL
            for (int r = 0; r < rows; ++r) {
                CONVOLUME_UNROLL
                for (int i = 0; i < pack_size<T>; ++i) values[p][r].v[i] = T{};
            }
        }
    }
    /// Moves the sums to `total` (the first time), or adds them to it.
    CONVOLUME_DEVICE void add_to_total(Pack<T>* total, bool first) {
        CONVOLUME_UNROLL
        for (int p = 0; p < planes; ++p) {
            CONVOLUME_UNROLL
            for (int r = 0; r < rows; ++r) {
                Pack<T>& slot = total[(p * rows + r) * DirectShape::threads];
                CONVOLUME_UNROLL
                for (int i = 0; i < pack_size<T>; ++i) {
                    if (!first) values[p][r].v[i] = values[p][r].v[i] + slot.v[i];
                    slot.v[i] = values[p][r].v[i];
                }
            }
        }
    }
};

/// Adds the products of one tap group with one plane of samples to the sums of the first plane of
/// outputs, of the second, or of both. `tap(which, i)` returns pack i of the group for that plane
/// of outputs.
template <class T, int Width, int Height, bool first, bool second, class Source, class Tap>
CONVOLUME_DEVICE void add_tap_group(ThreadSums<T>& sums, const Source& source,
                                    const Tap& tap_pack) {
    constexpr int size = pack_size<T>, packs = static_cast<int>(pack_count<T>(Width + size - 1));
    constexpr int tap_packs = static_cast<int>(pack_count<T>(Width));
    constexpr int thread_rows = DirectShape::thread_rows;
    struct {
        Pack<T> packs[static_cast<unsigned>(tap_packs)];
    } taps[2][static_cast<unsigned>(Height)];
    CONVOLUME_UNROLL
    for (int row = 0; row < thread_rows + Height - 1; ++row) {
        if (row < Height) {
            CONVOLUME_UNROLL
            for (int i = 0; i < tap_packs; ++i) {
                if (first) taps[0][row].packs[i] = tap_pack(0, row * tap_packs + i);
                if (second) taps[1][row].packs[i] = tap_pack(1, row * tap_packs + i);
            }
        }
        Pack<T> window[static_cast<unsigned>(packs)];
        CONVOLUME_UNROLL
        for (int i = 0; i < packs; ++i) window[i] = source.load(row, i);
        CONVOLUME_UNROLL
        for (int out = 0; out < thread_rows; ++out) {
            const int tap_row = row - out;  // row of the taps
            if (tap_row < 0 || tap_row >= Height) continue;
            CONVOLUME_UNROLL
            for (int w = 0; w < Width; ++w) {
                CONVOLUME_UNROLL
                for (int i = 0; i < size; ++i) {
                    const T sample = window[(i + w) / size].v[(i + w) % size];
                    if (first)
                        multiply_add(sums.values[0][out].v[i], sample,
                                     taps[0][tap_row].packs[w / size].v[w % size]);
                    if (second)
                        multiply_add(sums.values[1][out].v[i], sample,
                                     taps[1][tap_row].packs[w / size].v[w % size]);
                }
            }
        }
    }
}

/// Stores a pack of results one by one, as pixels of any type.
template <class T>
CONVOLUME_NOINLINE void store_pixels(const PixelRows& target, index_t at, Pack<T> pack, int count,
                                     unsigned long long (&clamped)[2]) {
    using Real = real_type_t<T>;
    ClampTally tally;
    for (int i = 0; i < count; ++i) {
        Complex<Real> value{};
        if constexpr (is_complex_pixel<T>)
            value = pack.v[i];
        else
            value = {pack.v[i], 0};
        store_pixel(target.data, target.type, at + i, value, tally);
    }
    clamped[0] += tally.low;
    clamped[1] += tally.high;
}

template <class T, class Taps>
CONVOLUME_DEVICE void store_sums(const DirectJob<T, Taps>& job, const ThreadPosition& position,
                                 const ThreadSums<T>& sums, unsigned long long (&clamped)[2]) {
    const index_t x = position.pack() * pack_size<T>;
    const index_t count = smaller(job.kept_x - x, pack_size<T>);
    if (count <= 0) return;
    CONVOLUME_UNROLL
    for (int p = 0; p < DirectShape::planes; ++p) {
        CONVOLUME_UNROLL
        for (int r = 0; r < DirectShape::thread_rows; ++r) {
            const index_t plane = position.plane + p, y = position.row() + r;
            if (plane >= job.planes || y >= job.kept_y) continue;
            Pack<T> pack = sums.values[p][r];
            CONVOLUME_UNROLL
            for (int i = 0; i < pack_size<T>; ++i) pack.v[i] = pack.v[i] + job.addend;
            const index_t at = plane * job.target.plane_stride + y * job.target.row_stride + x;
            if (job.whole_packs)
                *reinterpret_cast<Pack<T>*>(static_cast<T*>(job.target.data) + at) = pack;
            else
                store_pixels(job.target, at, pack, static_cast<int>(count), clamped);
        }
    }
}

/// The section of a source that a tap group is multiplied with.
template <class Source>
struct TapGroupSource {
    const Source& source;
    int row, pack;
    CONVOLUME_DEVICE auto load(int r, int p) const { return source.load(row + r, pack + p); }
};

/// The body of the CUDA kernel for tap groups of Width × Height: sums for the outputs of one thread
/// block. `Source` is like CachedSamples. Shared memory holds the totals of every groups_per_sum
/// groups, if that is not 0, and the memory of the source.
template <int Width, int Height, template <class, class> class Source, class T, class Taps,
          class Context>
CONVOLUME_DEVICE void direct_sums(const Context& context, const DirectJob<T, Taps>& job) {
    constexpr index_t group_packs = Height * pack_count<T>(Width);
    const ThreadPosition position(context, job.blocks_x, job.blocks_y);
    const bool has_second_plane = position.plane + 1 < job.planes;
    const int planes = job.kernel_planes + (has_second_plane ? 1 : 0);
    char* const shared = context.shared();
    Source<T, Context> source(context,
                              shared + (job.groups_per_sum > 0 ? DirectShape::sums_bytes : 0),
                              job.samples, position, planes);
    auto* const total = reinterpret_cast<Pack<T>*>(shared) + context.thread();

    ThreadSums<T> sums;
    sums.clear();
    int groups = 0;
    bool has_total = false;
    const index_t plane_packs = group_packs * job.groups_y * job.groups_x;
    for (int plane = 0; plane < planes; ++plane) {
        source.enter_plane(plane);
        const bool first = plane < job.kernel_planes, second = has_second_plane && plane > 0;
        index_t at = plane * plane_packs;
        for (int y = 0; y < job.groups_y; ++y) {
            for (int x = 0; x < job.groups_x; ++x, at += group_packs) {
                const TapGroupSource<Source<T, Context>> group_source{source, y * Height,
                                                                      x * (Width / pack_size<T>)};
                const auto tap_pack = [&](int which, int i) {
                    return job.taps.load(context, (which == 0 ? at : at - plane_packs) + i);
                };
                if (first && second)
                    add_tap_group<T, Width, Height, true, true>(sums, group_source, tap_pack);
                else if (first)
                    add_tap_group<T, Width, Height, true, false>(sums, group_source, tap_pack);
                else
                    add_tap_group<T, Width, Height, false, true>(sums, group_source, tap_pack);
                if (job.groups_per_sum > 0 && ++groups == job.groups_per_sum) {
                    sums.add_to_total(total, !has_total);
                    sums.clear();
                    has_total = true;
                    groups = 0;
                }
            }
        }
    }
    if (has_total) sums.add_to_total(total, false);

    unsigned long long clamped[2] = {0, 0};
    store_sums(job, position, sums, clamped);
    if (clamped[0] > 0) context.add(job.clamped, clamped[0]);
    if (clamped[1] > 0) context.add(job.clamped + 1, clamped[1]);
}

/// Arguments for widening: pixels of source.planes planes are converted to samples in consecutive
/// slots.
template <class T>
struct WidenJob {
    RowSource source;
    Pack<T>* samples = nullptr;  ///< converted samples, from the first plane's slot on
    index_t plane_packs = 0, row_packs = 0, rows = 0;
};

template <class T, class Context>
CONVOLUME_DEVICE void widen(const Context& context, const WidenJob<T>& job) {
    using Real = real_type_t<T>;
    constexpr int size = pack_size<T>;
    const RowSource& source = job.source;
    const LoadRule<Real> rule{static_cast<Real>(source.subtract), source.nonfinite_to_zero};
    const int lane = context.thread() % DirectShape::lanes;
    const index_t warp =
        context.block() * DirectShape::warps + context.thread() / DirectShape::lanes;
    with_pixel(source.pixels.type, [&](auto tag) {
        using S = decltype(tag);
        for (index_t row = warp; row < source.planes * job.rows;
             row += context.blocks() * DirectShape::warps) {
            const index_t plane = row / job.rows, y = row - plane * job.rows;
            index_t from = y < source.loaded_y ? y : -1;
            if (from >= 0 && source.gather_y != nullptr) from = source.gather_y[y];
            const S* const pixels = static_cast<const S*>(source.pixels.data) +
                                    plane * source.pixels.plane_stride +
                                    (from < 0 ? 0 : from * source.pixels.row_stride);
            Pack<T>* const to = job.samples + plane * job.plane_packs + y * job.row_packs;
            for (index_t pack = lane; pack < job.row_packs; pack += DirectShape::lanes) {
                Pack<T> values{};
                CONVOLUME_UNROLL
                for (int i = 0; i < size; ++i) {
                    const index_t x = pack * size + i;
                    index_t at = from >= 0 && x < source.loaded_x ? x : -1;
                    if (at >= 0 && source.gather_x != nullptr) at = source.gather_x[x];
                    if (at < 0) continue;
                    const Complex<Real> sample = load_sample<Real>(context.load(pixels + at), rule);
                    if constexpr (is_complex_pixel<T>)
                        values.v[i] = sample;
                    else
                        values.v[i] = sample.re;
                }
                to[pack] = values;
            }
        }
    });
}

}  // namespace convolume::gpu
