// SPDX-License-Identifier: Apache-2.0
#include "io/hdf5/reader.hpp"

#include <algorithm>
#include <deque>
#include <filesystem>
#include <mutex>

#include "io/file_array.hpp"
#include "io/formats.hpp"
#include "io/hdf5/answers.hpp"
#include "io/hdf5/chunks.hpp"
#include "io/hdf5/driver.hpp"
#include "io/hdf5/series.hpp"

namespace convolume::io {
namespace {

class Hdf5Reader : public ImageReader {
  public:
    Hdf5Reader(const PathSpec& spec, const OpenOptions& options, const std::string& bdv_xml)
        : files_(spec.file) {
        const Hdf5Lock lock;
        open_after_trial(
            files_.main(), [&] { open(spec.dataset, options, bdv_xml); },
            [&] {
                datasets_.clear();
                files_.close();
            });
    }

    ~Hdf5Reader() override {
        const Hdf5Lock lock;
        datasets_.clear();
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
            case Hdf5Storage::Kind::contiguous:
                read_contiguous(*data, volume, box, target);
                return;
            case Hdf5Storage::Kind::chunks:
                read_chunks(*data, number, volume, box, target, *cache_);
                return;
            case Hdf5Storage::Kind::library: {
                const Hdf5Lock lock;
                if (data->is_trusted())
                    data->read(volume, box, target);
                else
                    data->read_in_helper(volume, box, target);
            }
        }
    }

  private:
    void open(const std::string& dataset, const OpenOptions& options, const std::string& bdv_xml) {
        try {
            files_.open();
            series_ = find_series({files_, bdv_xml}, dataset, options.axes);
            datasets_.resize(series_.datasets.size());
            tried_.resize(series_.datasets.size());
            const Hdf5Dataset first(files_, series_.datasets[0]);
            const Hdf5Volume volume = first.volume(series_.layout, 0, 0);
            for (int axis = 0; axis < 3; ++axis)
                if (const int d = volume.dimension[static_cast<std::size_t>(axis)]; d >= 0)
                    piece_[axis] = first.chunk()[static_cast<std::size_t>(d)];
            cache_ = std::make_unique<ChunkCache>(chunk_cache_bytes(first, volume));
            throw_failed_hdf5_read();  // of what is there or not, such as attributes
        } catch (...) {
            files_.close();
            throw;
        }
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

    /// Opens the dataset, and closes the one opened first when many are open.
    std::shared_ptr<const Hdf5Dataset> dataset(index_t number) {
        constexpr std::size_t most_open = 8;
        const auto place = static_cast<std::size_t>(number);
        const std::lock_guard own(mutex_);
        if (datasets_[place]) return datasets_[place];
        const Hdf5Lock lock;
        auto data = std::make_shared<const Hdf5Dataset>(files_, series_.datasets[place]);
        if (!tried_[place]) data->try_chunks();
        tried_[place] = true;
        datasets_[place] = std::move(data);
        open_.push_back(place);
        if (open_.size() > most_open) {
            datasets_[open_.front()].reset();
            open_.pop_front();
        }
        return datasets_[place];
    }

    Hdf5Files files_;
    Hdf5Series series_;
    Shape3 piece_{1, 1, 1};
    std::mutex mutex_;
    std::vector<std::shared_ptr<const Hdf5Dataset>> datasets_;  // null: not open
    std::vector<bool> tried_;                                   // whether its chunks were found
    std::deque<std::size_t> open_;
    std::unique_ptr<ChunkCache> cache_;
};

}  // namespace

std::unique_ptr<ImageReader> open_hdf5_file(const PathSpec& spec, const OpenOptions& options,
                                            const std::string& bdv_xml) {
    return std::make_unique<Hdf5Reader>(spec, options, bdv_xml);
}

std::unique_ptr<ImageReader> open_hdf5(const PathSpec& spec, const OpenOptions& options) {
    return open_hdf5_file(spec, options,
                          std::filesystem::path(spec.file).replace_extension(".xml").string());
}

}  // namespace convolume::io
