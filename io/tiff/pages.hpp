// SPDX-License-Identifier: Apache-2.0
#pragma once
// The pages of a TIFF: size, type and location of pixels, checked against the size of the file.

#include <cstdint>
#include <optional>
#include <vector>

#include "convolume/image_view.hpp"
#include "io/raw_file.hpp"
#include "io/samples.hpp"
#include "io/tiff/handle.hpp"

namespace convolume::io {

/// Form of the samples in a TIFF strip or TIFF tile, after libtiff has decompressed it and put
/// numbers into this machine's byte order.
enum class SampleForm {
    pixels,  ///< numbers of the pixel type
    packed,  ///< unsigned numbers of 1 to 31 bits, highest bit first; rows begin on whole bytes
    half,    ///< IEEE half precision
    int64,   ///< signed integers of 64 bits
    uint64,  ///< unsigned integers of 64 bits
};

/// The form in which a page stores its samples, and the pixel type that they are read as.
struct StoredSamples {
    PixelType type = PixelType::uint8;
    SampleForm form = SampleForm::pixels;
    int bits = 8;  ///< bits of one sample

    index_t row_bytes(index_t samples) const;
};

/// Returns the form for TIFF's BitsPerSample and SampleFormat, or nothing if no pixel type fits.
std::optional<StoredSamples> stored_samples(int bits, int sample_format);

/// Converts `rows` rows of `samples` samples. Returns the first integer that does not fit, if any.
std::optional<InexactInteger> convert_stored(const StoredSamples& stored, const void* from,
                                             index_t rows, index_t samples, void* to);

struct TiffPage {
    std::uint64_t directory = 0;  ///< offset of the page's directory (IFD) in the file
    index_t width = 0;
    index_t height = 0;
    index_t samples = 1;
    StoredSamples stored;
    /// true if each sample has a plane of its own, false if samples of a pixel are adjacent
    bool planar = false;
    bool reduced = false;  ///< true for a thumbnail or a level of a pyramid
    bool tiled = false;
    bool jpeg2000 = false;
    /// true if viewers show 0 as white; samples are read as they are stored
    bool white_is_zero = false;
    bool red_green_blue = false;   ///< three samples of a pixel are these colors
    index_t rows = 0;              ///< rows of a TIFF strip or TIFF tile
    index_t columns = 0;           ///< columns of a TIFF strip or TIFF tile
    index_t raw_offset = -1;       ///< offset of uncompressed, contiguous pixels; -1 for others
    index_t least_file_bytes = 0;  ///< least number of bytes of the file that the pixels take
    /// least number of bytes that the tables of its TIFF strips or TIFF tiles take
    index_t table_bytes = 0;
    /// Reason why the pixels cannot be read, and the cure; empty if they can.
    std::string problem;

    PixelType type() const { return stored.type; }
    /// Returns the bytes of the pixels as the file stores them, without compression.
    index_t bytes() const {
        const index_t planes = planar ? samples : 1;
        return planes * height * stored.row_bytes(width * (samples / planes));
    }
    bool same_pixels(const TiffPage& other) const {
        return width == other.width && height == other.height && samples == other.samples &&
               type() == other.type() && planar == other.planar;
    }
};

/// Returns all pages in the order of the file. Each page is checked: its type must be supported,
/// and the file's bytes must suffice for its pixels. A failed check becomes the `problem` of the
/// page. Throws BadData if pages cannot be found, or claim more than the file can hold.
std::vector<TiffPage> scan_pages(TiffHandle& tiff, const RawFile& file);

/// Returns the maximum number of bytes that one byte of the file can decompress to. It follows from
/// the codes and runs of the compression.
index_t expansion_limit(std::uint16_t compression);

}  // namespace convolume::io
