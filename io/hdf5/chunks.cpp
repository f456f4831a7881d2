// SPDX-License-Identifier: Apache-2.0
#include "io/hdf5/chunks.hpp"

#include <algorithm>

#include "io/jobs.hpp"
#include "io/strided.hpp"

namespace convolume::io {
namespace {

constexpr index_t most_cached_bytes = index_t{256} << 20;
/// Decoding fewer bytes takes less time than starting a thread.
constexpr index_t inflated_bytes_a_thread = index_t{256} << 10;

class ChunkReader {
  public:
    ChunkReader(const Hdf5Dataset& dataset, index_t number, ChunkCache& cache)
        : dataset_(dataset), number_(number), cache_(cache) {
        for (const index_t extent : dataset.chunk()) samples_ *= extent;
        bytes_ = samples_ * static_cast<index_t>(size_of(dataset.type()));
    }

    index_t bytes() const { return bytes_; }

    /// The chunk at that place among the chunks.
    ChunkCache::Chunk at(const std::vector<index_t>& place) const {
        index_t key = 0;
        for (std::size_t d = 0; d < place.size(); ++d)
            key = key * ceil_div(dataset_.dims()[d], dataset_.chunk()[d]) + place[d];
        return cache_.get({number_, key}, bytes_, [&] { return decode(place); });
    }

  private:
    ChunkCache::Chunk decode(const std::vector<index_t>& place) const {
        const Hdf5Storage& storage = dataset_.storage();
        const std::shared_ptr<char[]> samples(new char[static_cast<std::size_t>(bytes_)]);
        unsigned skipped = 0;
        const std::vector<char> stored = dataset_.read_stored_chunk(place, skipped);
        if (stored.empty()) {
            dataset_.read_chunk(place, samples.get());
            return samples;
        }
        const std::string wrong = decode_chunk(storage.filters, skipped, stored, samples.get(),
                                               static_cast<std::size_t>(bytes_));
        if (!wrong.empty()) dataset_.refuse(wrong);
        if (storage.swapped) swap_pixels(samples.get(), samples_, dataset_.type());
        return samples;
    }

    const Hdf5Dataset& dataset_;
    index_t number_;
    ChunkCache& cache_;
    index_t samples_ = 1;
    index_t bytes_ = 0;
};

}  // namespace

void read_chunks(const Hdf5Dataset& dataset, index_t number, const Hdf5Volume& place,
                 const Box3& box, const ImageView& target, ChunkCache& cache) {
    const ChunkReader reader(dataset, number, cache);
    const std::vector<index_t>& chunk = dataset.chunk();
    const auto bytes_each = static_cast<index_t>(size_of(dataset.type()));

    // Strides of the samples of a chunk, and where the volume begins in it.
    std::vector<index_t> strides(chunk.size(), 1);
    for (std::size_t d = chunk.size() - 1; d-- > 0;) strides[d] = strides[d + 1] * chunk[d + 1];
    index_t within = 0;
    std::vector<index_t> at(chunk.size());
    for (std::size_t d = 0; d < chunk.size(); ++d) {
        at[d] = place.first[d] / chunk[d];
        within += place.first[d] % chunk[d] * strides[d];
    }
    Shape3 extent{1, 1, 1};
    Index3 volume_strides;
    for (int axis = 0; axis < 3; ++axis) {
        const int d = place.dimension[static_cast<std::size_t>(axis)];
        if (d < 0) continue;
        extent[axis] = chunk[static_cast<std::size_t>(d)];
        volume_strides[axis] = strides[static_cast<std::size_t>(d)];
    }

    Index3 first;
    Shape3 count;
    for (int axis = 0; axis < 3; ++axis) {
        first[axis] = box.begin[axis] / extent[axis];
        count[axis] = ceil_div(box.end[axis], extent[axis]) - first[axis];
    }
    const index_t chunks = element_count(count);
    const index_t bytes = chunks * reader.bytes();
    run_jobs(chunks, job_threads(chunks, bytes, inflated_bytes_a_thread), [&](index_t i) {
        const Index3 number3{first.z + i / (count.y * count.x), first.y + i / count.x % count.y,
                             first.x + i % count.x};
        std::vector<index_t> chunk_at = at;
        Box3 stored;
        for (int axis = 0; axis < 3; ++axis) {
            const int d = place.dimension[static_cast<std::size_t>(axis)];
            if (d >= 0) chunk_at[static_cast<std::size_t>(d)] = number3[axis];
            stored.begin[axis] = number3[axis] * extent[axis];
            stored.end[axis] = stored.begin[axis] + extent[axis];
        }
        const ChunkCache::Chunk samples = reader.at(chunk_at);
        const Box3 common = intersection(stored, box);
        index_t skipped = within;
        Box3 to;
        for (int axis = 0; axis < 3; ++axis) {
            skipped += (common.begin[axis] - stored.begin[axis]) * volume_strides[axis];
            to.begin[axis] = common.begin[axis] - box.begin[axis];
            to.end[axis] = common.end[axis] - box.begin[axis];
        }
        copy_view(
            {samples.get() + skipped * bytes_each, target.type, common.shape(), volume_strides},
            subview(target, to));
    });
}

index_t chunk_cache_bytes(const Hdf5Dataset& dataset, const Hdf5Volume& place) {
    double bytes = 2 * static_cast<double>(size_of(dataset.type()));
    for (std::size_t d = 0; d < dataset.chunk().size(); ++d) {
        const bool across =
            place.dimension[1] == static_cast<int>(d) || place.dimension[2] == static_cast<int>(d);
        bytes *= static_cast<double>(across ? round_up(dataset.dims()[d], dataset.chunk()[d])
                                            : dataset.chunk()[d]);
    }
    return static_cast<index_t>(std::min(bytes, static_cast<double>(most_cached_bytes)));
}

}  // namespace convolume::io
