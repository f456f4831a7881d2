// SPDX-License-Identifier: Apache-2.0
#pragma once
// HDF5's filters shuffle and deflate, which several threads may apply at once, without HDF5.

#include <cstddef>
#include <string>
#include <vector>

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

}  // namespace convolume::io
