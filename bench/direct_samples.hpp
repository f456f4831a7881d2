// SPDX-License-Identifier: Apache-2.0
#pragma once
// Two access patterns for the samples of direct sums, which were slower than CachedSamples
// (gpu/volumes/direct/direct_kernel.hpp). They follow Hwu, Kirk and El Hajj (Programming Massively
// Parallel Processors, 4th ed., chapter 7). gpu_direct.cu compares all three.

#include "gpu/volumes/direct/direct_kernel.hpp"

namespace convolume::gpu {

/// Samples in two tiles of shared memory: one tile is loaded while the other is summed.
template <class T, class Context>
class StagedTiles {
  public:
    CONVOLUME_DEVICE StagedTiles(const Context& context, char* shared,
                                 const DirectSamples<T>& samples, const ThreadPosition& position,
                                 int planes, int rows, int packs)
        : context_(context),
          samples_(samples),
          position_(position),
          tiles_(reinterpret_cast<Pack<T>*>(shared)),
          tile_planes_(planes),
          tile_rows_(rows),
          tile_packs_(packs) {
        stage_plane(0);
    }
    CONVOLUME_DEVICE void enter_plane(int plane) {
        context_.wait_copies();
        context_.sync();
        if (plane + 1 < tile_planes_) stage_plane(plane + 1);
        row_in_tile_ = plane_tile(plane) + position_.warp * DirectShape::thread_rows * tile_packs_ +
                       position_.lane;
    }
    CONVOLUME_DEVICE Pack<T> load(int row, int pack) const {
        return row_in_tile_[row * tile_packs_ + pack];
    }

    static CONVOLUME_DEVICE index_t bytes(index_t rows, index_t packs) {
        return 2 * pack_bytes * rows * packs;
    }

  private:
    CONVOLUME_DEVICE Pack<T>* plane_tile(int plane) const {
        return tiles_ + plane % 2 * tile_rows_ * tile_packs_;
    }
    CONVOLUME_DEVICE void stage_plane(int plane) const {
        const Pack<T>* const from = plane_of(samples_, position_.plane + plane);
        for (int row = position_.warp; row < tile_rows_; row += DirectShape::warps) {
            const Pack<T>* const line =
                from + smaller(position_.first_row + row, samples_.rows - 1) * samples_.row_packs;
            for (int pack = position_.lane; pack < tile_packs_; pack += DirectShape::lanes)
                context_.copy_async(
                    plane_tile(plane) + row * tile_packs_ + pack,
                    line + smaller(position_.first_pack + pack, samples_.row_packs - 1));
        }
    }

    const Context& context_;
    const DirectSamples<T>& samples_;
    ThreadPosition position_;
    Pack<T>* tiles_;
    int tile_planes_, tile_rows_, tile_packs_;
    const Pack<T>* row_in_tile_ = nullptr;
};

/// Samples in tiles of shared memory that include the halo.
template <class T, class Context>
class SharedSamples : public StagedTiles<T, Context> {
  public:
    static index_t bytes(const TapLayout& taps) {
        return StagedTiles<T, Context>::bytes(DirectShape::rows + taps.reach_y(),
                                              DirectShape::lanes + taps.template reach_packs<T>());
    }
    CONVOLUME_DEVICE SharedSamples(const Context& context, char* shared,
                                   const DirectSamples<T>& samples, const ThreadPosition& position,
                                   int planes)
        : StagedTiles<T, Context>(context, shared, samples, position, planes,
                                  DirectShape::rows + samples.reach_rows,
                                  DirectShape::lanes + samples.reach_packs) {}
};

/// Samples in tiles of shared memory without the halo, which is read through the caches: loads of
/// neighboring thread blocks have brought it there.
template <class T, class Context>
class CachedHaloSamples : public StagedTiles<T, Context> {
  public:
    static index_t bytes(const TapLayout&) {
        return StagedTiles<T, Context>::bytes(DirectShape::rows, DirectShape::lanes);
    }
    CONVOLUME_DEVICE CachedHaloSamples(const Context& context, char* shared,
                                       const DirectSamples<T>& samples,
                                       const ThreadPosition& position, int planes)
        : StagedTiles<T, Context>(context, shared, samples, position, planes, DirectShape::rows,
                                  DirectShape::lanes),
          cached_samples_(context, shared, samples, position, planes),
          rows_inside_(DirectShape::rows - position.warp * DirectShape::thread_rows),
          packs_inside_(DirectShape::lanes - position.lane) {}
    CONVOLUME_DEVICE void enter_plane(int plane) {
        StagedTiles<T, Context>::enter_plane(plane);
        cached_samples_.enter_plane(plane);
    }
    CONVOLUME_DEVICE Pack<T> load(int row, int pack) const {
        return row < rows_inside_ && pack < packs_inside_ ? StagedTiles<T, Context>::load(row, pack)
                                                          : cached_samples_.load(row, pack);
    }

  private:
    CachedSamples<T, Context> cached_samples_;
    int rows_inside_, packs_inside_;
};

}  // namespace convolume::gpu
