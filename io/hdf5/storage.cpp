// SPDX-License-Identifier: Apache-2.0
#include "io/hdf5/storage.hpp"

#include <libdeflate.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <type_traits>

#include "convolume/error.hpp"

namespace convolume::io {
namespace {

/// The filters, if they are those that we have ourselves.
std::optional<ChunkFilters> known_filters(hid_t properties) {
    ChunkFilters filters;
    const int count = H5Pget_nfilters(properties);
    for (int i = 0; i < count; ++i) {
        unsigned flags = 0;
        unsigned configuration = 0;
        std::array<unsigned, 8> values{};
        std::size_t given = values.size();
        const H5Z_filter_t filter =
            H5Pget_filter2(properties, static_cast<unsigned>(i), &flags, &given, values.data(), 0,
                           nullptr, &configuration);
        const auto kind = filter == H5Z_FILTER_SHUFFLE ? ChunkFilters::Kind::shuffle
                                                       : ChunkFilters::Kind::deflate;
        const bool known = filter == H5Z_FILTER_DEFLATE ||
                           (filter == H5Z_FILTER_SHUFFLE && given > 0 && values[0] > 0);
        const auto same = std::find(filters.kinds.begin(), filters.kinds.end(), kind);
        if (!known || same != filters.kinds.end()) return std::nullopt;
        if (filter == H5Z_FILTER_SHUFFLE) filters.element_bytes = values[0];
        filters.kinds.push_back(kind);
    }
    return filters;
}

/// Calls copy(place in order of the elements, place in order of their first, second, … bytes) for
/// every byte of whole elements.
template <class Copy>
void for_each_byte(std::size_t elements, std::size_t element_bytes, const Copy& copy) {
    const auto walk = [&](auto bytes) {  // fast where the compiler knows the number
        for (std::size_t i = 0; i < elements; ++i)
            for (std::size_t b = 0; b < bytes; ++b) copy(i * bytes + b, b * elements + i);
    };
    if (element_bytes == 2)
        walk(std::integral_constant<std::size_t, 2>{});
    else if (element_bytes == 4)
        walk(std::integral_constant<std::size_t, 4>{});
    else if (element_bytes == 8)
        walk(std::integral_constant<std::size_t, 8>{});
    else
        walk(element_bytes);
}

/// Bytes behind the last whole element stay as they are.
void copy_rest(const char* from, std::size_t bytes, std::size_t element_bytes, char* to) {
    const std::size_t whole = bytes / element_bytes * element_bytes;
    std::memcpy(to + whole, from + whole, bytes - whole);
}

void shuffle(const char* from, std::size_t bytes, std::size_t element_bytes, char* to) {
    for_each_byte(bytes / element_bytes, element_bytes,
                  [&](std::size_t element, std::size_t byte) { to[byte] = from[element]; });
    copy_rest(from, bytes, element_bytes, to);
}

void unshuffle(const char* from, std::size_t bytes, std::size_t element_bytes, char* to) {
    for_each_byte(bytes / element_bytes, element_bytes,
                  [&](std::size_t element, std::size_t byte) { to[element] = from[byte]; });
    copy_rest(from, bytes, element_bytes, to);
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

Hdf5Storage find_storage(hid_t dataset, hid_t properties, PixelType type, index_t bytes,
                         const RawFile& file) {
    Hdf5Storage storage;
    const Hdf5Id file_type(H5Dget_type(dataset), H5Tclose);
    const auto swapped = stored_swapped(file_type.get(), type);
    if (!swapped) return storage;
    storage.swapped = *swapped;
    const H5D_layout_t layout = H5Pget_layout(properties);
    if (layout == H5D_CONTIGUOUS) {
        H5D_space_status_t status = H5D_SPACE_STATUS_ERROR;
        if (H5Dget_space_status(dataset, &status) < 0 || status != H5D_SPACE_STATUS_ALLOCATED)
            return storage;
        const haddr_t offset = H5Dget_offset(dataset);
        if (offset == HADDR_UNDEF || bytes > file.size() ||
            offset > static_cast<haddr_t>(file.size() - bytes))
            return storage;
        storage.offset = static_cast<index_t>(offset);
        storage.kind = Hdf5Storage::Kind::contiguous;
    } else if (layout == H5D_CHUNKED) {
        auto filters = known_filters(properties);
        if (!filters) return storage;
        storage.filters = *std::move(filters);
        storage.kind = Hdf5Storage::Kind::chunks;
    }
    return storage;
}

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
