// SPDX-License-Identifier: Apache-2.0
// Reads boxes of TIFF images. Several threads decode pixels that are not stored as they are.

#include <algorithm>
#include <map>

#include "io/file_array.hpp"
#include "io/image_file.hpp"
#include "io/jobs.hpp"
#include "io/ome/document.hpp"
#include "io/pieces.hpp"
#include "io/samples.hpp"
#include "io/tiff/format.hpp"
#include "io/tiff/jpeg2000.hpp"
#include "io/tiff/series.hpp"

namespace convolume::io {
namespace {

/// Bytes that a thread decodes in one job.
constexpr index_t decoded_job_bytes = index_t{1} << 20;
/// Bytes whose decoding takes longer than starting a thread.
constexpr index_t decoded_bytes_a_thread = index_t{256} << 10;

class TiffReader : public ImageReader {
  public:
    TiffReader(const std::string& path, const OpenOptions& options, const OmeDocument* document) {
        files_.add(path);
        series_ = find_series(files_, options, document);
    }

    const ImageMetadata& metadata() const override { return series_.metadata; }
    StackFormat format() const override {
        const TiffPage& page = series_.page;
        return stack_format(series_.metadata, page.raw_offset >= 0
                                                  ? Shape3{1, 1, 1}
                                                  : Shape3{1, page.rows, page.columns});
    }
    void check_unchanged() const override { files_.check_unchanged(); }

    void read_box(index_t t, index_t c, const Box3& box, const ImageView& target) override {
        check_box(format(), t, c, box, target);
        // PlaneReads keeps its files open, and a process may open only few files.
        constexpr std::size_t most_files = 32;
        PlaneReads reads;
        for (index_t z = 0; z < target.shape.z; ++z) {
            add_plane(series_.plane(t, c, box.begin.z + z), box,
                      subview(target, {{z, 0, 0}, {z + 1, target.shape.y, target.shape.x}}), reads);
            if (reads.files.size() == most_files) read_all(box, reads);
        }
        read_all(box, reads);
    }

  private:
    /// A job for one thread: TIFF strips or TIFF tiles of consecutive rows of one page.
    struct DecodeJob {
        std::shared_ptr<OpenTiff> file;
        index_t number;  ///< number of the page
        index_t sample;
        const TiffPage* page;
        index_t y_begin;
        index_t y_end;
        ImageView to;  ///< the plane of the box in memory
    };

    /// Planes that are read together, and the files that contain them.
    struct PlaneReads {
        std::map<index_t, std::shared_ptr<OpenTiff>> files;
        /// uncompressed boxes of each file
        std::map<index_t, std::vector<FileBox<ImageView>>> raw;
        std::vector<DecodeJob> jobs;
    };

    void add_plane(const TiffPlane& plane, const Box3& box, const ImageView& to,
                   PlaneReads& reads) const {
        const TiffPage& page = page_of(plane);
        std::shared_ptr<OpenTiff>& file = reads.files[plane.file];
        if (!file) file = files_.open(plane.file);
        if (page.raw_offset < 0) return add_jobs(file, plane, page, box, to, reads.jobs);
        const index_t skipped = series_.behind_first_page ? plane.page * page.bytes() : 0;
        add_raw(raw_location(page, page.raw_offset + skipped, plane.sample, box, file->is_swapped),
                to, reads.raw[plane.file]);
    }

    void read_all(const Box3& box, PlaneReads& reads) {
        for (const auto& [number, boxes] : reads.raw) read_boxes(reads.files[number]->file, boxes);
        decode(reads.jobs, box);
        reads = {};
    }

    const TiffPage& page_of(const TiffPlane& plane) const {
        if (series_.behind_first_page) return series_.page;
        return files_.pages(plane.file)[static_cast<std::size_t>(plane.page)];
    }

    /// Returns the location of the box in a page that is not compressed.
    static FileArray raw_location(const TiffPage& page, index_t offset, index_t sample,
                                  const Box3& box, bool is_swapped) {
        const index_t step = page.planar ? 1 : page.samples;
        const index_t first = page.planar ? sample * page.height * page.width : sample;
        const auto bytes_each = static_cast<index_t>(size_of(page.type()));
        const FileArray whole{
            offset + first * bytes_each, {0, page.width * step, step}, is_swapped};
        return whole.from({0, box.begin.y, box.begin.x}, bytes_each);
    }

    /// Adds a plane to be read. Planes at even distances in file and memory become one box.
    static void add_raw(const FileArray& array_of_plane, const ImageView& plane,
                        std::vector<FileBox<ImageView>>& boxes) {
        const auto bytes_each = static_cast<index_t>(size_of(plane.type));
        if (!boxes.empty()) {
            auto& [array, view] = boxes.back();
            const index_t planes = view.shape.z;
            const index_t distance = array_of_plane.offset -
                                     (array.offset + (planes - 1) * array.strides.z * bytes_each);
            const bool even = plane.data == view.at(planes, 0, 0) && distance > 0 &&
                              distance % bytes_each == 0 &&
                              array.strides.y == array_of_plane.strides.y &&
                              array.strides.x == array_of_plane.strides.x;
            if (even && (planes == 1 || distance == array.strides.z * bytes_each)) {
                array.strides.z = distance / bytes_each;
                ++view.shape.z;
                return;
            }
        }
        boxes.push_back({array_of_plane, plane});
    }

    static void add_jobs(std::shared_ptr<OpenTiff> file, const TiffPlane& plane,
                         const TiffPage& page, const Box3& box, const ImageView& to,
                         std::vector<DecodeJob>& jobs) {
        if (page.rows < 1 || page.columns < 1)
            throw BadData(message("page ", plane.page, " of ", file->file.path(),
                                  " has empty strips or tiles"));
        if (to.shape.y == 0 || to.shape.x == 0) return;
        const index_t band_bytes = page.rows * page.width * (page.planar ? 1 : page.samples) *
                                   static_cast<index_t>(size_of(page.type()));
        const index_t rows = page.rows * std::max<index_t>(decoded_job_bytes / band_bytes, 1);
        for (index_t y = box.begin.y / page.rows * page.rows; y < box.end.y; y += rows)
            jobs.push_back(
                {file, plane.page, plane.sample, &page, y, std::min(y + rows, box.end.y), to});
    }

    void decode(const std::vector<DecodeJob>& jobs, const Box3& box) {
        index_t bytes = 0;
        for (const DecodeJob& job : jobs)
            bytes += (job.y_end - job.y_begin) * job.to.shape.x *
                     static_cast<index_t>(size_of(job.to.type));
        const auto count = static_cast<index_t>(jobs.size());
        run_jobs(count, job_threads(count, bytes, decoded_bytes_a_thread), [&](index_t i) {
            const DecodeJob& job = jobs[static_cast<std::size_t>(i)];
            auto tiff = job.file->handles.take();
            decode(*tiff, job, box);
            job.file->handles.give_back(std::move(tiff));
        });
    }

    /// Decodes the TIFF strips or TIFF tiles of a job, and copies their samples in `box`.
    void decode(TiffHandle& tiff, const DecodeJob& job, const Box3& box) const {
        tiff.go_to(job.page->directory);
        const TiffPage& page = *job.page;
        const auto bytes_each = static_cast<index_t>(size_of(page.type()));
        const index_t step = page.planar ? 1 : page.samples;
        const index_t across = ceil_div(page.width, page.columns);
        const index_t first =
            page.planar ? job.sample * ceil_div(page.height, page.rows) * across : 0;
        std::vector<char> pixels(
            static_cast<std::size_t>(page.rows * page.columns * step * bytes_each));
        for (index_t y = job.y_begin; y < job.y_end; y += page.rows)
            for (index_t x = box.begin.x / page.columns * page.columns; x < box.end.x;
                 x += page.columns) {
                const Box3 stored{{0, y, x},
                                  {1, std::min(y + page.rows, page.height),
                                   std::min(x + page.columns, page.width)}};
                // TIFF tiles at the end of an axis are stored whole, the last TIFF strip is not.
                const index_t rows = page.tiled ? page.rows : stored.shape().y;
                decode_one(tiff, job, first + y / page.rows * across + x / page.columns, y, rows,
                           pixels.data());
                const Box3 wanted = intersection(
                    stored, {{0, box.begin.y, box.begin.x}, {1, box.end.y, box.end.x}});
                const index_t skipped = (wanted.begin.y - y) * page.columns + wanted.begin.x - x;
                const char* from =
                    pixels.data() + (skipped * step + (page.planar ? 0 : job.sample)) * bytes_each;
                copy_view({from, page.type(), wanted.shape(), {0, page.columns * step, step}},
                          subview(job.to, relative_to(wanted, {0, box.begin.y, box.begin.x})));
            }
    }

    /// Decodes `rows` rows of a TIFF strip or TIFF tile to `pixels`.
    static void decode_one(TiffHandle& tiff, const DecodeJob& job, index_t strile, index_t y,
                           index_t rows, char* pixels) {
        const TiffPage& page = *job.page;
        const index_t row_samples = page.columns * (page.planar ? 1 : page.samples);
        const index_t bytes = rows * page.stored.row_bytes(row_samples);
        if (page.jpeg2000) return decode_one_jpeg2000(tiff, job, strile, y, rows, pixels);
        if (page.stored.form == SampleForm::pixels)
            return decompress(tiff, job, strile, y, pixels, bytes);
        std::vector<char> stored(static_cast<std::size_t>(bytes));
        decompress(tiff, job, strile, y, stored.data(), bytes);
        const auto inexact = convert_stored(page.stored, stored.data(), rows, row_samples, pixels);
        if (inexact)
            throw BadData(message("page ", job.number, " of ", job.file->file.path(), " holds ",
                                  inexact->text, " in row ", y + inexact->element / row_samples,
                                  inexact_integer_cure));
    }

    static void decode_one_jpeg2000(TiffHandle& tiff, const DecodeJob& job, index_t strile,
                                    index_t y, index_t rows, char* pixels) {
        const TiffPage& page = *job.page;
        const auto number = static_cast<std::uint32_t>(strile);
        // scan_pages() has checked both numbers against the size of the file.
        std::string coded(TIFFGetStrileByteCount(tiff, number), '\0');
        job.file->file.read(static_cast<index_t>(TIFFGetStrileOffset(tiff, number)), coded.data(),
                            static_cast<index_t>(coded.size()));
        const std::string reason = decode_jpeg2000(
            coded, rows, page.columns, page.planar ? 1 : page.samples, page.type(), pixels);
        if (!reason.empty())
            throw BadData(message("page ", job.number, " of ", job.file->file.path(),
                                  " cannot be decoded at row ", y, ": ", reason,
                                  "; the file is damaged, copy it again"));
    }

    static void decompress(TiffHandle& tiff, const DecodeJob& job, index_t strile, index_t y,
                           void* to, index_t bytes) {
        tiff.clear_error();
        const auto number = static_cast<std::uint32_t>(strile);
        const index_t got = job.page->tiled ? TIFFReadEncodedTile(tiff, number, to, bytes)
                                            : TIFFReadEncodedStrip(tiff, number, to, bytes);
        if (got == bytes) return;
        tiff.rethrow();
        throw BadData(message("page ", job.number, " of ", job.file->file.path(),
                              " cannot be decoded at row ", y,
                              tiff.error().empty() ? "" : ": " + tiff.error(),
                              "; the file is damaged, copy it again"));
    }

    TiffFiles files_;
    TiffSeries series_;
};

}  // namespace

std::unique_ptr<ImageReader> open_tiff(const PathSpec& spec, const OpenOptions& options) {
    return std::make_unique<TiffReader>(spec.file, options, nullptr);
}

std::unique_ptr<ImageReader> open_ome_companion(const PathSpec& spec, const OpenOptions& options) {
    const auto document = read_ome_file(RawFile(spec.file));
    return std::make_unique<TiffReader>(first_file_of(*document, spec.file), options,
                                        document.get());
}

}  // namespace convolume::io
