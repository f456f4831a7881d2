// SPDX-License-Identifier: Apache-2.0
#pragma once
// Samples that no pixel type holds as they are stored: packed bits, half precision, 64-bit
// integers.

#include <cstdint>
#include <optional>

#include "convolume/image_view.hpp"
#include "io/wide_samples.hpp"

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

}  // namespace convolume::io
