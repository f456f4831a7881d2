// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <bit>

#include "io/file_array.hpp"
#include "io/formats.hpp"
#include "io/jobs.hpp"
#include "io/strided.hpp"
#include "io/tiff/pages.hpp"
#include "io/tiff/series.hpp"

namespace convolume::io {
namespace {

/// libtiff's own tables may take this much whatever the file's size.
constexpr index_t table_bytes = index_t{64} << 20;
/// Decoded by one thread between two looks for work.
constexpr index_t decoded_job_bytes = index_t{1} << 20;
/// Decoding fewer bytes takes less time than starting a thread.
constexpr index_t decoded_bytes_a_thread = index_t{256} << 10;

bool is_swapped(const RawFile& file) {
    return (file.head(1) == "I") != (std::endian::native == std::endian::little);
}

class TiffReader : public ImageReader {
  public:
    TiffReader(const std::string& path, const OpenOptions& options)
        : file_(path),
          handles_(file_, checked_add(checked_multiply(file_.size(), 64), table_bytes)),
          swapped_(is_swapped(file_)) {
        auto tiff = handles_.take();
        pages_ = scan_pages(*tiff, file_);
        tiff->go_to(pages_.front().directory);
        series_ = find_series(*tiff, file_, pages_, options.axes);
        handles_.give_back(std::move(tiff));
    }

    const ImageMetadata& metadata() const override { return series_.metadata; }
    StackFormat format() const override {
        const TiffPage& page = series_.page;
        return stack_format(series_.metadata, page.raw_offset >= 0
                                                  ? Shape3{1, 1, 1}
                                                  : Shape3{1, page.rows, page.columns});
    }
    void check_unchanged() const override { file_.check_unchanged(); }

    void read_box(index_t t, index_t c, const Box3& box, const ImageView& target) override {
        check_box(format(), t, c, box, target);
        const index_t samples = series_.page.samples;
        const index_t sample = c % samples;
        std::vector<FilePart<ImageView>> raw;
        std::vector<CodedJob> coded;
        for (index_t z = 0; z < target.shape.z; ++z) {
            const index_t plane = series_.plane(t, c / samples, box.begin.z + z);
            const TiffPage& page =
                series_.single_page ? series_.page : pages_[static_cast<std::size_t>(plane)];
            const ImageView to =
                subview(target, {{z, 0, 0}, {z + 1, target.shape.y, target.shape.x}});
            if (page.raw_offset >= 0) {
                const index_t skipped = series_.single_page ? plane * page.bytes() : 0;
                add_raw(raw_place(page, page.raw_offset + skipped, sample, box), to, raw);
            } else {
                add_coded(plane, page, box, to, coded);
            }
        }
        read_parts(file_, raw);
        decode(coded, sample, box);
    }

  private:
    /// Strips or tiles of consecutive rows of one page.
    struct CodedJob {
        index_t number;
        const TiffPage* page;
        index_t y_begin;
        index_t y_end;
        ImageView to;  ///< the box's plane
    };

    /// The first wanted sample of a page that lies in the file as it is.
    FileArray raw_place(const TiffPage& page, index_t offset, index_t sample,
                        const Box3& box) const {
        const index_t step = page.planar ? 1 : page.samples;
        const index_t first = page.planar ? sample * page.height * page.width : sample;
        const auto bytes_each = static_cast<index_t>(size_of(page.type));
        const FileArray whole{offset + first * bytes_each, {0, page.width * step, step}, swapped_};
        return whole.from({0, box.begin.y, box.begin.x}, bytes_each);
    }

    /// Planes at equal distances in the file make one part.
    static void add_raw(const FileArray& place, const ImageView& plane,
                        std::vector<FilePart<ImageView>>& parts) {
        const auto bytes_each = static_cast<index_t>(size_of(plane.type));
        if (!parts.empty()) {
            auto& [array, view] = parts.back();
            const index_t planes = view.shape.z;
            const index_t apart =
                place.offset - (array.offset + (planes - 1) * array.strides.z * bytes_each);
            const bool even = apart > 0 && apart % bytes_each == 0 &&
                              array.strides.y == place.strides.y &&
                              array.strides.x == place.strides.x;
            if (even && (planes == 1 || apart == array.strides.z * bytes_each)) {
                array.strides.z = apart / bytes_each;
                ++view.shape.z;
                return;
            }
        }
        parts.push_back({place, plane});
    }

    void add_coded(index_t number, const TiffPage& page, const Box3& box, const ImageView& to,
                   std::vector<CodedJob>& jobs) const {
        if (page.rows < 1 || page.columns < 1)
            throw BadData(
                message("page ", number, " of ", file_.path(), " has empty strips or tiles"));
        if (to.shape.y == 0 || to.shape.x == 0) return;
        const index_t band_bytes = page.rows * page.width * (page.planar ? 1 : page.samples) *
                                   static_cast<index_t>(size_of(page.type));
        const index_t rows = page.rows * std::max<index_t>(decoded_job_bytes / band_bytes, 1);
        for (index_t y = box.begin.y / page.rows * page.rows; y < box.end.y; y += rows)
            jobs.push_back({number, &page, y, std::min(y + rows, box.end.y), to});
    }

    void decode(const std::vector<CodedJob>& jobs, index_t sample, const Box3& box) {
        index_t bytes = 0;
        for (const CodedJob& job : jobs)
            bytes += (job.y_end - job.y_begin) * job.to.shape.x *
                     static_cast<index_t>(size_of(job.to.type));
        const auto count = static_cast<index_t>(jobs.size());
        run_jobs(count, job_threads(count, bytes, decoded_bytes_a_thread), [&](index_t i) {
            auto tiff = handles_.take();
            decode(*tiff, jobs[static_cast<std::size_t>(i)], sample, box);
            handles_.give_back(std::move(tiff));
        });
    }

    /// Decodes the strips or tiles of a job that meet `box`.
    void decode(TiffHandle& tiff, const CodedJob& job, index_t sample, const Box3& box) const {
        tiff.go_to(job.page->directory);
        const TiffPage& page = *job.page;
        const auto bytes_each = static_cast<index_t>(size_of(page.type));
        const index_t step = page.planar ? 1 : page.samples;
        const index_t across = ceil_div(page.width, page.columns);
        const index_t first = page.planar ? sample * ceil_div(page.height, page.rows) * across : 0;
        std::vector<char> buffer(
            static_cast<std::size_t>(page.rows * page.columns * step * bytes_each));
        for (index_t y = job.y_begin; y < job.y_end; y += page.rows)
            for (index_t x = box.begin.x / page.columns * page.columns; x < box.end.x;
                 x += page.columns) {
                const Box3 stored{{0, y, x},
                                  {1, std::min(y + page.rows, page.height),
                                   std::min(x + page.columns, page.width)}};
                // The last tiles are stored whole, the last strip is not.
                const index_t rows = page.tiled ? page.rows : stored.shape().y;
                decode_one(tiff, job, first + y / page.rows * across + x / page.columns, y,
                           buffer.data(), rows * page.columns * step * bytes_each);
                const Box3 wanted = intersection(
                    stored, {{0, box.begin.y, box.begin.x}, {1, box.end.y, box.end.x}});
                const index_t skipped = (wanted.begin.y - y) * page.columns + wanted.begin.x - x;
                const char* from =
                    buffer.data() + (skipped * step + (page.planar ? 0 : sample)) * bytes_each;
                copy_view({from, page.type, wanted.shape(), {0, page.columns * step, step}},
                          subview(job.to,
                                  {{0, wanted.begin.y - box.begin.y, wanted.begin.x - box.begin.x},
                                   {1, wanted.end.y - box.begin.y, wanted.end.x - box.begin.x}}));
            }
    }

    void decode_one(TiffHandle& tiff, const CodedJob& job, index_t strile, index_t y, void* to,
                    index_t bytes) const {
        tiff.clear_error();
        const auto number = static_cast<std::uint32_t>(strile);
        const index_t got = job.page->tiled ? TIFFReadEncodedTile(tiff, number, to, bytes)
                                            : TIFFReadEncodedStrip(tiff, number, to, bytes);
        if (got == bytes) return;
        tiff.rethrow();
        throw BadData(message("page ", job.number, " of ", file_.path(),
                              " cannot be decoded at row ", y,
                              tiff.error().empty() ? "" : ": " + tiff.error(),
                              "; the file is damaged, copy it again"));
    }

    RawFile file_;
    TiffHandles handles_;
    bool swapped_;
    std::vector<TiffPage> pages_;
    TiffSeries series_;
};

}  // namespace

std::unique_ptr<ImageReader> open_tiff(const std::string& path, const OpenOptions& options) {
    return std::make_unique<TiffReader>(path, options);
}

}  // namespace convolume::io
