// SPDX-License-Identifier: Apache-2.0
#include "io/hdf5/chunk_codec.hpp"

#include <libdeflate.h>

#include <cstring>
#include <memory>

#include "convolume/error.hpp"

namespace convolume::io {
namespace {

/// Byte b of element i is at b · elements + i, bytes behind the last whole element as they were.
template <std::size_t Bytes>
void shuffle_elements(const char* from, std::size_t elements, char* to) {
    for (std::size_t i = 0; i < elements; ++i)
        for (std::size_t b = 0; b < Bytes; ++b) to[b * elements + i] = from[i * Bytes + b];
}

template <std::size_t Bytes>
void unshuffle_elements(const char* from, std::size_t elements, char* to) {
    for (std::size_t i = 0; i < elements; ++i)
        for (std::size_t b = 0; b < Bytes; ++b) to[i * Bytes + b] = from[b * elements + i];
}

void shuffle(const char* from, std::size_t bytes, std::size_t element_bytes, char* to) {
    const std::size_t elements = bytes / element_bytes;
    if (element_bytes == 2)
        shuffle_elements<2>(from, elements, to);
    else if (element_bytes == 4)
        shuffle_elements<4>(from, elements, to);
    else if (element_bytes == 8)
        shuffle_elements<8>(from, elements, to);
    else
        for (std::size_t i = 0; i < elements; ++i)
            for (std::size_t b = 0; b < element_bytes; ++b)
                to[b * elements + i] = from[i * element_bytes + b];
    const std::size_t whole = elements * element_bytes;
    std::memcpy(to + whole, from + whole, bytes - whole);
}

void unshuffle(const char* from, std::size_t bytes, std::size_t element_bytes, char* to) {
    const std::size_t elements = bytes / element_bytes;
    if (element_bytes == 2)
        unshuffle_elements<2>(from, elements, to);
    else if (element_bytes == 4)
        unshuffle_elements<4>(from, elements, to);
    else if (element_bytes == 8)
        unshuffle_elements<8>(from, elements, to);
    else
        for (std::size_t i = 0; i < elements; ++i)
            for (std::size_t b = 0; b < element_bytes; ++b)
                to[i * element_bytes + b] = from[b * elements + i];
    const std::size_t whole = elements * element_bytes;
    std::memcpy(to + whole, from + whole, bytes - whole);
}

bool inflate(const char* from, std::size_t from_bytes, char* to, std::size_t bytes) {
    const std::unique_ptr<libdeflate_decompressor, void (*)(libdeflate_decompressor*)> codec(
        libdeflate_alloc_decompressor(), libdeflate_free_decompressor);
    if (!codec) throw OutOfMemory("no memory for decompressing a chunk");
    // No place for the number of bytes: any other number is an error.
    return libdeflate_zlib_decompress(codec.get(), from, from_bytes, to, bytes, nullptr) ==
           LIBDEFLATE_SUCCESS;
}

}  // namespace

std::string decode_chunk(const ChunkFilters& filters, unsigned skipped,
                         const std::vector<char>& stored, char* to, std::size_t bytes) {
    std::vector<ChunkFilters::Kind> applied;  // the last one first
    for (std::size_t i = filters.kinds.size(); i-- > 0;)
        if ((skipped >> i & 1u) == 0) applied.push_back(filters.kinds[i]);
    std::unique_ptr<char[]> between;
    const char* from = stored.data();
    std::size_t from_bytes = stored.size();
    for (std::size_t i = 0; i < applied.size(); ++i) {
        const bool last = i + 1 == applied.size();
        const bool inflates = applied[i] == ChunkFilters::Kind::deflate;
        const std::size_t made = inflates ? bytes : from_bytes;
        if (last && made != bytes) break;
        std::unique_ptr<char[]> room(last ? nullptr : new char[made]);
        char* const result = last ? to : room.get();
        if (!inflates)
            unshuffle(from, from_bytes, filters.element_bytes, result);
        else if (!inflate(from, from_bytes, result, made))
            return "a chunk's compressed bytes are damaged";
        between = std::move(room);
        from = result;
        from_bytes = made;
    }
    if (from_bytes != bytes) return "a chunk has another size than its dataset says";
    if (applied.empty()) std::memcpy(to, from, bytes);
    return "";
}

std::vector<char> encode_chunk(const char* from, std::size_t bytes, std::size_t element_bytes,
                               int level) {
    const std::unique_ptr<libdeflate_compressor, void (*)(libdeflate_compressor*)> codec(
        libdeflate_alloc_compressor(level), libdeflate_free_compressor);
    if (!codec) throw OutOfMemory("no memory for compressing a chunk");
    const std::unique_ptr<char[]> shuffled(new char[bytes]);
    shuffle(from, bytes, element_bytes, shuffled.get());
    std::vector<char> encoded(libdeflate_zlib_compress_bound(codec.get(), bytes));
    encoded.resize(libdeflate_zlib_compress(codec.get(), shuffled.get(), bytes, encoded.data(),
                                            encoded.size()));
    return encoded;
}

}  // namespace convolume::io
