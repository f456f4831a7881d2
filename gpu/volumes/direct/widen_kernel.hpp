// SPDX-License-Identifier: Apache-2.0
#pragma once
// Pixels to widened planes of samples: each warp takes one row after another.

#include "gpu/fft/pixel.hpp"
#include "gpu/volumes/direct/direct_job.hpp"

namespace convolume::gpu {

/// Pixels that become source.planes planes of samples, in slots that follow each other.
template <class T>
struct WidenJob {
    RowSource source;
    Pack<T>* samples = nullptr;  ///< of the first slot
    index_t plane_packs = 0, row_packs = 0, rows = 0;
};

template <class T, class Context>
CONVOLUME_DEVICE void widen(const Context& context, const WidenJob<T>& job) {
    using Real = real_part_t<T>;
    constexpr int size = pack_size<T>;
    const RowSource& source = job.source;
    const LoadRule<Real> rule{static_cast<Real>(source.subtract), source.nonfinite_to_zero};
    const int lane = context.thread() % DirectTile::lanes;
    const index_t warp = context.block() * DirectTile::warps + context.thread() / DirectTile::lanes;
    with_pixel(source.pixels.type, [&](auto tag) {
        using S = decltype(tag);
        for (index_t row = warp; row < source.planes * job.rows;
             row += context.blocks() * DirectTile::warps) {
            const index_t plane = row / job.rows, y = row - plane * job.rows;
            index_t from = y < source.loaded_y ? y : -1;
            if (from >= 0 && source.gather_y != nullptr) from = source.gather_y[y];
            const S* const pixels = static_cast<const S*>(source.pixels.data) +
                                    plane * source.pixels.plane_stride +
                                    (from < 0 ? 0 : from * source.pixels.row_stride);
            Pack<T>* const to = job.samples + plane * job.plane_packs + y * job.row_packs;
            for (index_t pack = lane; pack < job.row_packs; pack += DirectTile::lanes) {
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
