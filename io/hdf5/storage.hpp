// SPDX-License-Identifier: Apache-2.0
#pragma once
// How a dataset is stored, for reading it without HDF5, which does one thing at a time: its place
// in the file, or HDF5's filters shuffle and deflate, which several threads may apply at once.

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "io/hdf5/library.hpp"
#include "io/hdf5/types.hpp"
#include "io/raw_file.hpp"

namespace convolume::io {

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
