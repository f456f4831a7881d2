// SPDX-License-Identifier: Apache-2.0
#pragma once
// The pages of a TIFF: what each holds and where, checked against the size of the file.

#include <cstdint>
#include <optional>
#include <vector>

#include "convolume/image_view.hpp"
#include "io/raw_file.hpp"
#include "io/samples.hpp"
#include "io/tiff/handle.hpp"

namespace convolume::io {

/// Form of the samples in a strip or tile, once libtiff has decompressed it and put the bytes of
/// numbers into this machine's order.
enum class SampleForm {
    pixels,  ///< numbers of the pixel type
    packed,  ///< unsigned numbers of 1 to 31 bits, highest bit first; rows begin on whole bytes
    half,    ///< IEEE half precision
    int64,   ///< signed integers of 64 bits
    uint64,  ///< unsigned integers of 64 bits
};

/// How a page stores its samples, and the pixel type that they are read as.
struct StoredSamples {
    PixelType type = PixelType::uint8;
    SampleForm form = SampleForm::pixels;
    int bits = 8;  ///< of one sample

    index_t row_bytes(index_t samples) const;
};

/// Returns the stored form for TIFF's BitsPerSample and SampleFormat; nothing if no pixel type can
/// hold the values.
std::optional<StoredSamples> stored_samples(int bits, int sample_format);

/// Converts `rows` rows of `samples` samples each. Returns the first integer that the pixel type
/// does not hold, if any.
std::optional<InexactInteger> convert_stored(const StoredSamples& stored, const void* from,
                                             index_t rows, index_t samples, void* to);

struct TiffPage {
    std::uint64_t directory = 0;  ///< offset of its IFD
    index_t width = 0;
    index_t height = 0;
    index_t samples = 1;
    StoredSamples stored;
    bool planar = false;   ///< samples in planes of their own, not side by side
    bool reduced = false;  ///< a thumbnail or a level of a pyramid
    bool tiled = false;
    bool jpeg2000 = false;
    bool white_is_zero = false;  ///< shown so; samples are read as they are stored
    index_t rows = 0;            ///< of a strip or tile
    index_t columns = 0;
    index_t raw_offset = -1;  ///< where its pixels lie as they are; -1: coded, or not in one run
    index_t least_file_bytes = 0;  ///< bytes of the file its pixels take at the least
    index_t table_bytes = 0;       ///< that the tables of its strips or tiles take at least
    /// Reason why its pixels cannot be read, and the cure; empty if they can. Readers of other
    /// pages need not care.
    std::string problem;

    PixelType type() const { return stored.type; }
    /// Bytes of the pixels as the file stores them, without compression.
    index_t bytes() const {
        const index_t planes = planar ? samples : 1;
        return planes * height * stored.row_bytes(width * (samples / planes));
    }
    bool same_pixels(const TiffPage& other) const {
        return width == other.width && height == other.height && samples == other.samples &&
               type() == other.type() && planar == other.planar;
    }
};

/// Returns all pages in the order of the file. Pages that are not reduced are checked: supported
/// type, and no more pixels than the file's bytes can stand for. What keeps a page from being read
/// is its `problem`. Throws BadData for a file whose pages cannot be found, or claim more than the
/// file can hold.
std::vector<TiffPage> scan_pages(TiffHandle& tiff, const RawFile& file);

/// How many bytes one byte of the file can stand for in that compression, at the most: what codes
/// and runs of each can express.
index_t expansion_limit(std::uint16_t compression);

}  // namespace convolume::io
