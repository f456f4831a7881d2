// SPDX-License-Identifier: Apache-2.0
#pragma once
// Storage of a dataset: its type (also compounds {r, i} for complex numbers, as in h5py), its
// location in the file, and HDF5's filters shuffle and deflate. So several threads can read it.

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "convolume/image_view.hpp"
#include "io/hdf5/library.hpp"
#include "io/raw_file.hpp"
#include "io/samples.hpp"

namespace convolume::io {

/// Bytes that a file may need beside its samples.
inline constexpr index_t hdf5_header_bytes = 1 << 16;

/// Returns the HDF5 type of pixels in this machine's memory.
Hdf5Id memory_type(PixelType type);

/// Returns the pixel type that can hold elements of `file_type` in any byte order, or nothing if
/// none can. It is float32 for float16, float64 for integers of 64 bits, uint8 for booleans.
std::optional<PixelType> pixel_type_of_hdf5(hid_t file_type);

/// Returns the type of integers of 64 bits, which no PixelType holds; none for other types.
WideInteger wide_integer(hid_t file_type);

/// Returns the type in memory as which HDF5 reads elements of `file_type`. It is that of the
/// pixels, or integers of 64 bits.
Hdf5Id reading_type(hid_t file_type, PixelType type);

/// Returns true if elements of `file_type` equal memory_type(type) but for the byte order, false if
/// they are equal, nothing if they differ otherwise.
std::optional<bool> stored_swapped(hid_t file_type, PixelType type);

/// A filter that is applied to the HDF5 chunks of a dataset.
struct StoredFilter {
    H5Z_filter_t id = 0;  ///< HDF5's number of the filter; negative if it cannot be read
    std::string name;
    unsigned value = 0;  ///< first parameter of the filter
};
std::vector<StoredFilter> stored_filters(hid_t properties);

/// Filters in the order in which they are applied to a written HDF5 chunk; each at most once.
struct ChunkFilters {
    enum class FilterKind { shuffle, deflate };
    std::vector<FilterKind> kinds;
    std::size_t element_bytes = 1;  ///< bytes of the elements that shuffle rearranges
};

/// Undoes the filters, except those whose bits are set in `skipped`, to get the `bytes` bytes of an
/// HDF5 chunk. Returns what is wrong with `stored`; empty if it decodes to exactly `bytes` bytes.
std::string decode_chunk(const ChunkFilters& filters, unsigned skipped,
                         const std::vector<char>& stored, char* to, std::size_t bytes);

/// Returns the stored bytes of an HDF5 chunk: shuffled, then deflated. Throws OutOfMemory.
std::vector<char> encode_chunk(const char* from, std::size_t bytes, std::size_t element_bytes,
                               int level);

/// Location and coding of the samples of a dataset.
struct Hdf5Storage {
    enum class StorageKind {
        library,     ///< only HDF5 can read the samples
        contiguous,  ///< samples are contiguous in the file
        chunks,      ///< HDF5 chunks with no other filters than shuffle and deflate
    };
    StorageKind kind = StorageKind::library;
    bool swapped = false;  ///< true if the byte order differs from this machine's
    index_t offset = 0;    ///< offset of contiguous samples in the file
    ChunkFilters filters;  ///< filters of HDF5 chunks
};

/// Returns the storage of a dataset with these creation properties and `bytes` bytes of samples.
Hdf5Storage find_storage(hid_t dataset, hid_t properties, PixelType type, index_t bytes,
                         const RawFile& file);

}  // namespace convolume::io
