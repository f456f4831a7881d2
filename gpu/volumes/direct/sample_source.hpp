// SPDX-License-Identifier: Apache-2.0
#pragma once
// Where a thread's sums find their samples: the three ways of Hwu, Kirk and El Hajj (Programming
// Massively Parallel Processors, 4th ed., chapter 7). Each offers enter(plane) and then load(row,
// pack) of that plane, counted from the thread's own first output.

#include "gpu/volumes/direct/direct_job.hpp"

namespace convolume::gpu {

CONVOLUME_DEVICE index_t least(index_t a, index_t b) {
    return a < b ? a : b;
}

/// The tile of a block, and the thread's place in it.
struct DirectPlace {
    int lane, warp;
    index_t tile_pack, tile_row, plane;  ///< first ones of the tile

    template <class Context>
    CONVOLUME_DEVICE DirectPlace(const Context& context, index_t tiles_x, index_t tiles_y)
        : lane(context.thread() % DirectTile::lanes), warp(context.thread() / DirectTile::lanes) {
        const index_t row = context.block() / tiles_x;
        tile_pack = (context.block() - row * tiles_x) * DirectTile::lanes;
        tile_row = row % tiles_y * DirectTile::rows;
        plane = row / tiles_y * DirectTile::planes;
    }
    CONVOLUME_DEVICE index_t row() const {
        return tile_row + index_t{warp} * DirectTile::thread_rows;
    }
    CONVOLUME_DEVICE index_t pack() const { return tile_pack + lane; }
};

template <class T>
CONVOLUME_DEVICE const Pack<T>* plane_of(const DirectSamples<T>& samples, index_t plane) {
    index_t slot = samples.first_slot + plane;
    if (slot >= samples.ring) slot -= samples.ring;
    return samples.data + slot * samples.plane_packs;
}

/// Straight from device memory, through the caches.
template <class T, class Context>
class CachedSamples {
  public:
    /// Of shared memory.
    static index_t bytes(const TapLayout&) { return 0; }

    CONVOLUME_DEVICE CachedSamples(const Context& context, char* /*shared*/,
                                   const DirectSamples<T>& samples, const DirectPlace& place,
                                   int /*planes*/)
        : context_(context), samples_(samples), plane_(place.plane) {
        // Threads beyond the last outputs repeat those.
        own_ = least(place.row(), samples.last_row) * samples.row_packs +
               least(place.pack(), samples.last_pack);
    }
    CONVOLUME_DEVICE void enter(int plane) { at_ = plane_of(samples_, plane_ + plane) + own_; }
    CONVOLUME_DEVICE Pack<T> load(int row, int pack) const {
        return context_.load(at_ + row * samples_.row_packs + pack);
    }

  private:
    const Context& context_;
    const DirectSamples<T>& samples_;
    index_t plane_, own_;
    const Pack<T>* at_ = nullptr;
};

/// Tiles in shared memory, of which one comes while one is summed.
template <class T, class Context>
class StagedTiles {
  public:
    CONVOLUME_DEVICE StagedTiles(const Context& context, char* shared,
                                 const DirectSamples<T>& samples, const DirectPlace& place,
                                 int planes, int rows, int packs)
        : context_(context),
          samples_(samples),
          place_(place),
          tiles_(reinterpret_cast<Pack<T>*>(shared)),
          planes_(planes),
          rows_(rows),
          packs_(packs) {
        stage(0);
    }
    CONVOLUME_DEVICE void enter(int plane) {
        context_.wait_copies();
        context_.sync();
        if (plane + 1 < planes_) stage(plane + 1);
        at_ = tile(plane) + place_.warp * DirectTile::thread_rows * packs_ + place_.lane;
    }
    CONVOLUME_DEVICE Pack<T> load(int row, int pack) const { return at_[row * packs_ + pack]; }

    static CONVOLUME_DEVICE index_t bytes(index_t rows, index_t packs) {
        return 2 * pack_bytes * rows * packs;
    }

  private:
    CONVOLUME_DEVICE Pack<T>* tile(int plane) const { return tiles_ + plane % 2 * rows_ * packs_; }
    CONVOLUME_DEVICE void stage(int plane) const {
        const Pack<T>* const from = plane_of(samples_, place_.plane + plane);
        for (int row = place_.warp; row < rows_; row += DirectTile::warps) {
            const Pack<T>* const line =
                from + least(place_.tile_row + row, samples_.rows - 1) * samples_.row_packs;
            for (int pack = place_.lane; pack < packs_; pack += DirectTile::lanes)
                context_.copy_async(tile(plane) + row * packs_ + pack,
                                    line + least(place_.tile_pack + pack, samples_.row_packs - 1));
        }
    }

    const Context& context_;
    const DirectSamples<T>& samples_;
    DirectPlace place_;
    Pack<T>* tiles_;
    int planes_, rows_, packs_;
    const Pack<T>* at_ = nullptr;
};

/// Tiles with their halo in shared memory.
template <class T, class Context>
class SharedSamples : public StagedTiles<T, Context> {
  public:
    static index_t bytes(const TapLayout& taps) {
        return StagedTiles<T, Context>::bytes(DirectTile::rows + taps.reach_y(),
                                              DirectTile::lanes + taps.template reach_packs<T>());
    }
    CONVOLUME_DEVICE SharedSamples(const Context& context, char* shared,
                                   const DirectSamples<T>& samples, const DirectPlace& place,
                                   int planes)
        : StagedTiles<T, Context>(context, shared, samples, place, planes,
                                  DirectTile::rows + samples.reach_rows,
                                  DirectTile::lanes + samples.reach_packs) {}
};

/// The tile's interior in shared memory, its halo through the caches, where the neighbors' loads
/// have brought it.
template <class T, class Context>
class CachedHaloSamples : public StagedTiles<T, Context> {
  public:
    static index_t bytes(const TapLayout&) {
        return StagedTiles<T, Context>::bytes(DirectTile::rows, DirectTile::lanes);
    }
    CONVOLUME_DEVICE CachedHaloSamples(const Context& context, char* shared,
                                       const DirectSamples<T>& samples, const DirectPlace& place,
                                       int planes)
        : StagedTiles<T, Context>(context, shared, samples, place, planes, DirectTile::rows,
                                  DirectTile::lanes),
          cached_(context, shared, samples, place, planes),
          rows_inside_(DirectTile::rows - place.warp * DirectTile::thread_rows),
          packs_inside_(DirectTile::lanes - place.lane) {}
    CONVOLUME_DEVICE void enter(int plane) {
        StagedTiles<T, Context>::enter(plane);
        cached_.enter(plane);
    }
    CONVOLUME_DEVICE Pack<T> load(int row, int pack) const {
        return row < rows_inside_ && pack < packs_inside_ ? StagedTiles<T, Context>::load(row, pack)
                                                          : cached_.load(row, pack);
    }

  private:
    CachedSamples<T, Context> cached_;
    int rows_inside_, packs_inside_;
};

}  // namespace convolume::gpu
