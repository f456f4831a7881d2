// SPDX-License-Identifier: Apache-2.0
#pragma once
// How a dataset is stored: its type (numbers, and compounds {r, i} for complex ones, as h5py has
// them), its place in the file, and HDF5's filters shuffle and deflate. By these it is read without
// HDF5, which does one thing at a time.

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "convolume/image_view.hpp"
#include "io/hdf5/library.hpp"
#include "io/raw_file.hpp"
#include "io/samples.hpp"

namespace convolume::io {

/// Bytes that a file may need besides its samples.
inline constexpr index_t hdf5_header_bytes = 1 << 16;

/// The type as it lies in this machine's memory.
Hdf5Id memory_type(PixelType type);

/// The pixel type that holds elements of `file_type`, whatever its byte order; nothing if none
/// does. float32 for float16, float64 for integers of 64 bits, uint8 for booleans.
std::optional<PixelType> pixel_type_of_hdf5(hid_t file_type);

/// Whether `file_type` is an integer of 64 bits, which no PixelType is.
WideInteger wide_integer(hid_t file_type);

/// The type in memory as which HDF5 reads elements of `file_type` that are pixels of `type`: that
/// of the pixels, or integers of 64 bits.
Hdf5Id reading_type(hid_t file_type, PixelType type);

/// Whether elements of `file_type` are those of memory_type(type) with their bytes in the other
/// order; nothing if they differ otherwise.
std::optional<bool> stored_swapped(hid_t file_type, PixelType type);

/// A filter that the chunks of a dataset go through.
struct StoredFilter {
    H5Z_filter_t id = 0;  ///< negative if it cannot be read
    std::string name;
    unsigned value = 0;  ///< the first of its values
};
std::vector<StoredFilter> stored_filters(hid_t properties);

/// What a chunk goes through when it is written, in this order; each filter at most once.
struct ChunkFilters {
    enum class Kind { shuffle, deflate };
    std::vector<Kind> kinds;
    std::size_t element_bytes = 1;  ///< as shuffle has it
};

/// Undoes the filters but for those whose bits are set in `skipped`. Says what is wrong with
/// `stored` unless it makes exactly `bytes` bytes; nothing is wrong where the text is empty.
std::string decode_chunk(const ChunkFilters& filters, unsigned skipped,
                         const std::vector<char>& stored, char* to, std::size_t bytes);

/// Shuffled by elements of that size, then deflated. Throws OutOfMemory.
std::vector<char> encode_chunk(const char* from, std::size_t bytes, std::size_t element_bytes,
                               int level);

struct Hdf5Storage {
    enum class Kind {
        library,     ///< only HDF5 can read it
        contiguous,  ///< samples in one run
        chunks,      ///< filtered by shuffle and deflate at the most
    };
    Kind kind = Kind::library;
    bool swapped = false;  ///< bytes in the other order than this machine's
    index_t offset = 0;    ///< in the file, of contiguous samples
    ChunkFilters filters;  ///< of chunks
};

/// `properties` are those the dataset was created with; `bytes` are those of its samples.
Hdf5Storage find_storage(hid_t dataset, hid_t properties, PixelType type, index_t bytes,
                         const RawFile& file);

}  // namespace convolume::io
