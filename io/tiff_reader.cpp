// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <bit>

#include "io/formats.hpp"
#include "io/strided.hpp"
#include "io/tiff_pages.hpp"
#include "io/tiff_series.hpp"

namespace convolume::io {
namespace {

/// libtiff's own tables may take this much whatever the file's size.
constexpr index_t table_bytes = index_t{64} << 20;

bool is_swapped(const RawFile& file) {
    return (file.head(1) == "I") != (std::endian::native == std::endian::little);
}

class TiffReader : public ImageReader {
  public:
    TiffReader(const std::string& path, const OpenOptions& options)
        // r: read, m: no memory mapping, c: strips as they are in the file
        : file_(path),
          tiff_(path, "rmc", checked_add(checked_multiply(file_.size(), 64), table_bytes)),
          swapped_(is_swapped(file_)),
          pages_(scan_pages(tiff_, file_)) {
        go_to(pages_.front());
        series_ = find_series(tiff_, file_, pages_, options.axes);
    }

    const ImageMetadata& metadata() const override { return series_.metadata; }

    void read_planes(index_t t, index_t c, index_t z_begin, const ImageView& target) override {
        check_request(series_.metadata, t, c, z_begin, target);
        const index_t samples = series_.page.samples;
        for (index_t z = 0; z < target.shape.z; ++z) {
            const index_t plane = series_.plane(t, c / samples, z_begin + z);
            const ImageView to =
                subview(target, {{z, 0, 0}, {z + 1, target.shape.y, target.shape.x}});
            const TiffPage& page =
                series_.single_page ? series_.page : pages_[static_cast<std::size_t>(plane)];
            const index_t skipped = series_.single_page ? plane * page.bytes() : 0;
            if (page.raw_offset >= 0)
                read_raw(page, page.raw_offset + skipped, c % samples, to);
            else
                read_coded(plane, page, c % samples, to);
        }
    }

  private:
    void go_to(const TiffPage& page) {
        if (TIFFSetSubDirectory(tiff_, page.directory) == 0)
            throw BadData(
                message(file_.path(), " cannot be read: ", tiff_.error(), "; copy it again"));
    }

    void read_raw(const TiffPage& page, index_t offset, index_t sample, const ImageView& to) const {
        const index_t step = page.planar ? 1 : page.samples;
        const index_t first = page.planar ? sample * page.height * page.width : sample;
        read_array(file_,
                   {offset + first * static_cast<index_t>(size_of(page.type)),
                    {0, page.width * step, step},
                    swapped_},
                   to);
    }

    /// Pages that libtiff decodes, strip by strip or tile by tile.
    void read_coded(index_t number, const TiffPage& page, index_t sample, const ImageView& to) {
        go_to(page);
        const bool tiled = TIFFIsTiled(tiff_) != 0;
        const index_t rows =
            tiled ? tiff_.get<std::uint32_t>(TIFFTAG_TILELENGTH, 0)
                  : std::min<index_t>(tiff_.get<std::uint32_t>(TIFFTAG_ROWSPERSTRIP, UINT32_MAX),
                                      page.height);
        const index_t columns = tiled ? tiff_.get<std::uint32_t>(TIFFTAG_TILEWIDTH, 0) : page.width;
        if (rows < 1 || columns < 1)
            throw BadData(
                message("page ", number, " of ", file_.path(), " has empty strips or tiles"));
        const index_t step = page.planar ? 1 : page.samples;
        std::vector<char> buffer(static_cast<std::size_t>(rows * columns * step) *
                                 size_of(page.type));
        auto strile = static_cast<std::uint32_t>(
            page.planar ? sample * ceil_div(page.height, rows) * ceil_div(page.width, columns) : 0);
        for (index_t y = 0; y < page.height; y += rows)
            for (index_t x = 0; x < page.width; x += columns, ++strile) {
                const index_t height = std::min(rows, page.height - y);
                const index_t width = std::min(columns, page.width - x);
                const index_t wanted = (tiled ? rows : height) * columns * step *
                                       static_cast<index_t>(size_of(page.type));
                tiff_.clear_error();
                const index_t got =
                    tiled ? TIFFReadEncodedTile(tiff_, strile, buffer.data(), wanted)
                          : TIFFReadEncodedStrip(tiff_, strile, buffer.data(), wanted);
                if (got != wanted)
                    throw BadData(message("page ", number, " of ", file_.path(),
                                          " cannot be decoded at row ", y,
                                          tiff_.error().empty() ? "" : ": " + tiff_.error(),
                                          "; the file is damaged, copy it again"));
                const char* first = buffer.data() + (page.planar ? 0 : sample) *
                                                        static_cast<index_t>(size_of(page.type));
                copy_view({first, page.type, {1, height, width}, {0, columns * step, step}},
                          subview(to, {{0, y, x}, {1, y + height, x + width}}));
            }
    }

    RawFile file_;
    TiffHandle tiff_;
    bool swapped_;
    std::vector<TiffPage> pages_;
    TiffSeries series_;
};

}  // namespace

std::unique_ptr<ImageReader> open_tiff(const std::string& path, const OpenOptions& options) {
    return std::make_unique<TiffReader>(path, options);
}

}  // namespace convolume::io
