// SPDX-License-Identifier: Apache-2.0
// Reads boxes of HDF5 images. HDF5 reads HDF5 chunks one by one; several threads decode them.

#include <algorithm>
#include <deque>
#include <filesystem>
#include <memory>
#include <mutex>
#include <string>

#include "convolume/image_file.hpp"
#include "io/file_array.hpp"
#include "io/hdf5/attributes.hpp"
#include "io/hdf5/dataset.hpp"
#include "io/hdf5/format.hpp"
#include "io/hdf5/library.hpp"
#include "io/hdf5/series.hpp"
#include "io/image_file.hpp"
#include "io/jobs.hpp"
#include "io/pieces.hpp"
#include "io/samples.hpp"

namespace convolume::io {
namespace {

constexpr index_t most_cached_bytes = index_t{256} << 20;
/// Bytes whose decoding takes longer than starting a thread.
constexpr index_t inflated_bytes_a_thread = index_t{256} << 10;

/// Reads and decodes the HDF5 chunks of a dataset, through a cache.
class Hdf5ChunkReader {
  public:
    Hdf5ChunkReader(const Hdf5Dataset& dataset, index_t number, Hdf5ChunkCache& cache)
        : dataset_(dataset), number_(number), cache_(cache) {
        for (const index_t extent : dataset.chunk()) samples_ *= extent;
        bytes_ = samples_ * static_cast<index_t>(size_of(dataset.type()));
    }

    index_t bytes() const { return bytes_; }

    /// Returns the HDF5 chunk with this index along every dimension.
    Hdf5ChunkCache::Chunk at(const std::vector<index_t>& chunk_index) const {
        index_t key = 0;
        for (std::size_t d = 0; d < chunk_index.size(); ++d)
            key = key * ceil_div(dataset_.dims()[d], dataset_.chunk()[d]) + chunk_index[d];
        return cache_.get({number_, key}, bytes_, [&] { return decode(chunk_index); });
    }

  private:
    Hdf5ChunkCache::Chunk decode(const std::vector<index_t>& chunk_index) const {
        const Hdf5Storage& storage = dataset_.storage();
        const std::shared_ptr<char[]> samples(new char[static_cast<std::size_t>(bytes_)]);
        unsigned skipped = 0;
        const std::vector<char> stored = dataset_.read_stored_chunk(chunk_index, skipped);
        if (stored.empty()) {
            dataset_.read_chunk(chunk_index, samples.get());
            return samples;
        }
        const std::string problem = decode_chunk(storage.filters, skipped, stored, samples.get(),
                                                 static_cast<std::size_t>(bytes_));
        if (!problem.empty()) dataset_.refuse(problem);
        if (storage.swapped) swap_pixels(samples.get(), samples_, dataset_.type());
        return samples;
    }

    const Hdf5Dataset& dataset_;
    index_t number_;
    Hdf5ChunkCache& cache_;
    index_t samples_ = 1;
    index_t bytes_ = 0;
};

/// Reads `box` of `volume` from a dataset that is stored in HDF5 chunks. `number` distinguishes the
/// datasets that share `cache`. Throws BadData, or IoError if the file was changed.
void read_chunks(const Hdf5Dataset& dataset, index_t number, const Hdf5Volume& volume,
                 const Box3& box, const ImageView& target, Hdf5ChunkCache& cache) {
    const Hdf5ChunkReader reader(dataset, number, cache);
    const std::vector<index_t>& chunk = dataset.chunk();
    const auto bytes_each = static_cast<index_t>(size_of(dataset.type()));

    // Strides of the samples in an HDF5 chunk, and offset of the volume in it.
    std::vector<index_t> strides(chunk.size(), 1);
    for (std::size_t d = chunk.size() - 1; d-- > 0;) strides[d] = strides[d + 1] * chunk[d + 1];
    index_t volume_offset = 0;
    std::vector<index_t> at(chunk.size());
    for (std::size_t d = 0; d < chunk.size(); ++d) {
        at[d] = volume.first[d] / chunk[d];
        volume_offset += volume.first[d] % chunk[d] * strides[d];
    }
    Shape3 extent{1, 1, 1};
    Index3 volume_strides;
    for (int axis = 0; axis < 3; ++axis) {
        const int d = volume.dimension[static_cast<std::size_t>(axis)];
        if (d < 0) continue;
        extent[axis] = chunk[static_cast<std::size_t>(d)];
        volume_strides[axis] = strides[static_cast<std::size_t>(d)];
    }

    const PieceRange range(box, extent);
    const index_t chunks = element_count(range.counts);
    const index_t bytes = chunks * reader.bytes();
    run_jobs(chunks, job_threads(chunks, bytes, inflated_bytes_a_thread), [&](index_t i) {
        const Index3 number3 = range.at(i);
        std::vector<index_t> chunk_at = at;
        Box3 stored;
        for (int axis = 0; axis < 3; ++axis) {
            const int d = volume.dimension[static_cast<std::size_t>(axis)];
            if (d >= 0) chunk_at[static_cast<std::size_t>(d)] = number3[axis];
            stored.begin[axis] = number3[axis] * extent[axis];
            stored.end[axis] = stored.begin[axis] + extent[axis];
        }
        const Hdf5ChunkCache::Chunk samples = reader.at(chunk_at);
        const Box3 common = intersection(stored, box);
        const Index3 within_chunk = relative_to(common, stored.begin).begin;
        index_t skipped = volume_offset;
        for (int axis = 0; axis < 3; ++axis) skipped += within_chunk[axis] * volume_strides[axis];
        copy_view(
            {samples.get() + skipped * bytes_each, target.type, common.shape(), volume_strides},
            subview(target, relative_to(common, box.begin)));
    });
}

/// Returns the bytes of two layers of HDF5 chunks across the volume, at most 256 MiB. With such a
/// cache, reading along z in small steps decodes every HDF5 chunk once.
index_t chunk_cache_bytes(const Hdf5Dataset& dataset, const Hdf5Volume& volume) {
    double bytes = 2 * static_cast<double>(size_of(dataset.type()));
    for (std::size_t d = 0; d < dataset.chunk().size(); ++d) {
        const bool across = volume.dimension[1] == static_cast<int>(d) ||
                            volume.dimension[2] == static_cast<int>(d);
        bytes *= static_cast<double>(across ? round_up(dataset.dims()[d], dataset.chunk()[d])
                                            : dataset.chunk()[d]);
    }
    return static_cast<index_t>(std::min(bytes, static_cast<double>(most_cached_bytes)));
}

class Hdf5Reader : public ImageReader {
  public:
    Hdf5Reader(const PathSpec& spec, const OpenOptions& options, const std::string& bdv_xml)
        : files_(spec.file) {
        const Hdf5Lock lock;
        files_.open([&] { find_image({files_, bdv_xml}, spec.dataset, options.axes); }, [] {});
    }

    const ImageMetadata& metadata() const override { return series_.metadata; }
    StackFormat format() const override { return stack_format(series_.metadata, piece_); }
    void check_unchanged() const override {
        const Hdf5Lock lock;
        files_.check_unchanged();
    }

    void read_box(index_t t, index_t c, const Box3& box, const ImageView& target) override {
        check_box(format(), t, c, box, target);
        if (box.empty()) return;
        const index_t number = series_.datasets.size() == 1 ? 0 : t * series_.metadata.channels + c;
        const std::shared_ptr<const Hdf5Dataset> data = dataset(number);
        const Hdf5Volume volume = data->volume(series_.layout, t, c);
        switch (data->storage().kind) {
            case Hdf5Storage::StorageKind::contiguous:
                read_contiguous(*data, volume, box, target);
                return;
            case Hdf5Storage::StorageKind::chunks:
                read_chunks(*data, number, volume, box, target, *cache_);
                return;
            case Hdf5Storage::StorageKind::library: {
                const Hdf5Lock lock;
                data->read(volume, box, target);
            }
        }
    }

  private:
    /// Finds the image and opens its first dataset.
    void find_image(const Hdf5Source& source, const std::string& dataset, const std::string& axes) {
        series_ = find_series(source, dataset, axes);
        datasets_.resize(series_.datasets.size());
        has_found_chunks_.resize(series_.datasets.size());
        const Hdf5Dataset first(files_, series_.datasets[0]);
        const Hdf5Volume volume = first.volume(series_.layout, 0, 0);
        for (int axis = 0; axis < 3; ++axis)
            if (const int d = volume.dimension[static_cast<std::size_t>(axis)]; d >= 0)
                piece_[axis] = first.chunk()[static_cast<std::size_t>(d)];
        cache_ = std::make_unique<Hdf5ChunkCache>(chunk_cache_bytes(first, volume));
    }

    void read_contiguous(const Hdf5Dataset& data, const Hdf5Volume& volume, const Box3& box,
                         const ImageView& target) const {
        const auto bytes_each = static_cast<index_t>(size_of(data.type()));
        FileArray array{data.storage().offset, {0, 0, 0}, data.storage().swapped};
        index_t stride = 1;
        for (std::size_t d = data.dims().size(); d-- > 0; stride *= data.dims()[d]) {
            array.offset += volume.first[d] * stride * bytes_each;
            for (int axis = 0; axis < 3; ++axis)
                if (volume.dimension[static_cast<std::size_t>(axis)] == static_cast<int>(d))
                    array.strides[axis] = stride;
        }
        read_array(data.file(), array.from(box.begin, bytes_each), target);
    }

    /// Returns the dataset with this number, opened if needed. At most `most_open` stay open.
    std::shared_ptr<const Hdf5Dataset> dataset(index_t number) {
        constexpr std::size_t most_open = 8;
        const auto index = static_cast<std::size_t>(number);
        const std::lock_guard own(mutex_);
        if (datasets_[index]) return datasets_[index];
        const Hdf5Lock lock;
        auto data = std::make_shared<const Hdf5Dataset>(files_, series_.datasets[index]);
        if (!has_found_chunks_[index]) data->try_chunks();
        has_found_chunks_[index] = true;
        datasets_[index] = std::move(data);
        open_.push_back(index);
        if (open_.size() > most_open) {
            datasets_[open_.front()].reset();
            open_.pop_front();
        }
        return datasets_[index];
    }

    Hdf5Files files_;
    Hdf5Series series_;
    Shape3 piece_{1, 1, 1};
    std::mutex mutex_;
    std::vector<std::shared_ptr<const Hdf5Dataset>> datasets_;  // null if closed
    std::vector<bool> has_found_chunks_;  // true if all HDF5 chunks of the dataset were found
    std::deque<std::size_t> open_;
    std::unique_ptr<Hdf5ChunkCache> cache_;
};

}  // namespace

std::unique_ptr<ImageReader> open_hdf5(const PathSpec& spec, const OpenOptions& options) {
    return open_hdf5(spec, options,
                     std::filesystem::path(spec.file).replace_extension(".xml").string());
}

std::unique_ptr<ImageReader> open_hdf5(const PathSpec& spec, const OpenOptions& options,
                                       const std::string& bdv_xml) {
    return std::make_unique<Hdf5Reader>(spec, options, bdv_xml);
}

}  // namespace convolume::io
