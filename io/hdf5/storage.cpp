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

/// Returns the filters of a dataset, or nothing if decode_chunk() lacks one of them.
std::optional<ChunkFilters> known_filters(hid_t properties) {
    ChunkFilters filters;
    for (const StoredFilter& filter : stored_filters(properties)) {
        const auto kind = filter.id == H5Z_FILTER_SHUFFLE ? ChunkFilters::FilterKind::shuffle
                                                          : ChunkFilters::FilterKind::deflate;
        const bool is_supported = filter.id == H5Z_FILTER_DEFLATE ||
                                  (filter.id == H5Z_FILTER_SHUFFLE && filter.value > 0);
        const auto same = std::find(filters.kinds.begin(), filters.kinds.end(), kind);
        if (!is_supported || same != filters.kinds.end()) return std::nullopt;
        if (filter.id == H5Z_FILTER_SHUFFLE) filters.element_bytes = filter.value;
        filters.kinds.push_back(kind);
    }
    return filters;
}

hid_t native_number(PixelType type) {
    switch (type) {
        case PixelType::uint8:
            return H5T_NATIVE_UINT8;
        case PixelType::int8:
            return H5T_NATIVE_INT8;
        case PixelType::uint16:
            return H5T_NATIVE_UINT16;
        case PixelType::int16:
            return H5T_NATIVE_INT16;
        case PixelType::uint32:
            return H5T_NATIVE_UINT32;
        case PixelType::int32:
            return H5T_NATIVE_INT32;
        case PixelType::float32:
        case PixelType::complex64:
            return H5T_NATIVE_FLOAT;
        case PixelType::float64:
        case PixelType::complex128:
            return H5T_NATIVE_DOUBLE;
    }
    throw InternalError("a pixel type outside its enumeration");
}

bool is_member_named(hid_t compound, unsigned member, const char* name) {
    char* found = H5Tget_member_name(compound, member);
    const bool equal = found != nullptr && std::strcmp(found, name) == 0;
    H5free_memory(found);
    return equal;
}

std::optional<PixelType> complex_type(hid_t compound) {
    if (H5Tget_nmembers(compound) != 2 || !is_member_named(compound, 0, "r") ||
        !is_member_named(compound, 1, "i"))
        return std::nullopt;
    const Hdf5Id real(H5Tget_member_type(compound, 0), H5Tclose);
    const Hdf5Id imaginary(H5Tget_member_type(compound, 1), H5Tclose);
    if (!real || !imaginary || H5Tequal(real.get(), imaginary.get()) <= 0) return std::nullopt;
    if (H5Tget_class(real.get()) != H5T_FLOAT || H5Tget_size(real.get()) < 4) return std::nullopt;
    const auto part = pixel_type_of_hdf5(real.get());
    if (part == PixelType::float32) return PixelType::complex64;
    if (part == PixelType::float64) return PixelType::complex128;
    return std::nullopt;
}

/// Returns the pixel type of an enumeration's numbers. Booleans of h5py are enumerations of int8.
std::optional<PixelType> enumeration_type(hid_t enumeration) {
    const Hdf5Id number(H5Tget_super(enumeration), H5Tclose);
    if (!number || H5Tget_class(number.get()) != H5T_INTEGER || H5Tget_size(number.get()) != 1)
        return std::nullopt;
    const int members = H5Tget_nmembers(enumeration);
    for (int i = 0; i < members; ++i) {
        signed char value = 0;
        if (H5Tget_member_value(enumeration, static_cast<unsigned>(i), &value) < 0)
            return std::nullopt;
        if (value < 0 && H5Tget_sign(number.get()) == H5T_SGN_2) return PixelType::int8;
    }
    return PixelType::uint8;
}

Hdf5Id type_of_numbers(PixelType type, hid_t number) {
    if (!is_complex(type)) return {H5Tcopy(number), H5Tclose};
    Hdf5Id compound(H5Tcreate(H5T_COMPOUND, size_of(type)), H5Tclose);
    if (!compound || H5Tinsert(compound.get(), "r", 0, number) < 0 ||
        H5Tinsert(compound.get(), "i", size_of(type) / 2, number) < 0)
        throw IoError(message("HDF5 cannot make a type for complex pixels: ", hdf5_reason()));
    return compound;
}

/// Calls copy(index in element order, index in byte order) for every byte of whole elements. Byte
/// order has the first bytes of all elements first, then the second ones, …
template <class Copy>
void for_each_byte(std::size_t elements, std::size_t element_bytes, const Copy& copy) {
    const auto walk = [&](auto bytes) {  // the loop is fast if the number is a constant
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

/// Copies the bytes after the last whole element, which shuffle does not move.
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
    // Without a variable for the number of bytes, any other number is an error.
    return libdeflate_zlib_decompress(codec.get(), from, from_bytes, to, bytes, nullptr) ==
           LIBDEFLATE_SUCCESS;
}

}  // namespace

std::vector<StoredFilter> stored_filters(hid_t properties) {
    std::vector<StoredFilter> filters;
    const int count = H5Pget_nfilters(properties);
    for (int i = 0; i < count; ++i) {
        unsigned flags = 0;
        unsigned configuration = 0;
        std::array<unsigned, 8> values{};
        std::size_t value_count = values.size();
        std::array<char, 100> name{};
        const H5Z_filter_t id =
            H5Pget_filter2(properties, static_cast<unsigned>(i), &flags, &value_count,
                           values.data(), name.size(), name.data(), &configuration);
        filters.push_back({id, name.data(), value_count > 0 ? values[0] : 0});
    }
    return filters;
}

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
        storage.kind = Hdf5Storage::StorageKind::contiguous;
    } else if (layout == H5D_CHUNKED) {
        auto filters = known_filters(properties);
        if (!filters) return storage;
        storage.filters = *std::move(filters);
        storage.kind = Hdf5Storage::StorageKind::chunks;
    }
    return storage;
}

std::string decode_chunk(const ChunkFilters& filters, unsigned skipped,
                         const std::vector<char>& stored, char* to, std::size_t bytes) {
    std::vector<ChunkFilters::FilterKind> applied;  // last filter first
    for (std::size_t i = filters.kinds.size(); i-- > 0;)
        if ((skipped >> i & 1u) == 0) applied.push_back(filters.kinds[i]);
    std::unique_ptr<char[]> intermediate;
    const char* from = stored.data();
    std::size_t from_bytes = stored.size();
    for (std::size_t i = 0; i < applied.size(); ++i) {
        const bool last = i + 1 == applied.size();
        const bool inflates = applied[i] == ChunkFilters::FilterKind::deflate;
        const std::size_t result_bytes = inflates ? bytes : from_bytes;
        if (last && result_bytes != bytes) break;
        std::unique_ptr<char[]> buffer(last ? nullptr : new char[result_bytes]);
        char* const result = last ? to : buffer.get();
        if (!inflates)
            unshuffle(from, from_bytes, filters.element_bytes, result);
        else if (!inflate(from, from_bytes, result, result_bytes))
            return "a chunk's compressed bytes are damaged";
        intermediate = std::move(buffer);
        from = result;
        from_bytes = result_bytes;
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

Hdf5Id memory_type(PixelType type) {
    return type_of_numbers(type, native_number(type));
}

WideInteger wide_integer(hid_t file_type) {
    if (H5Tget_class(file_type) != H5T_INTEGER || H5Tget_size(file_type) != 8)
        return WideInteger::none;
    return H5Tget_sign(file_type) == H5T_SGN_2 ? WideInteger::int64 : WideInteger::uint64;
}

Hdf5Id reading_type(hid_t file_type, PixelType type) {
    // HDF5 cannot convert enumerations to numbers.
    if (H5Tget_class(file_type) == H5T_ENUM) return {H5Tcopy(file_type), H5Tclose};
    const WideInteger wide = wide_integer(file_type);
    if (wide == WideInteger::none) return memory_type(type);
    return {H5Tcopy(wide == WideInteger::int64 ? H5T_NATIVE_INT64 : H5T_NATIVE_UINT64), H5Tclose};
}

std::optional<bool> stored_swapped(hid_t file_type, PixelType type) {
    if (H5Tget_class(file_type) == H5T_ENUM) return false;  // enumerations have one byte
    if (H5Tequal(file_type, memory_type(type).get()) > 0) return false;
    const Hdf5Id number(H5Tcopy(native_number(type)), H5Tclose);
    const H5T_order_t other =
        H5Tget_order(number.get()) == H5T_ORDER_LE ? H5T_ORDER_BE : H5T_ORDER_LE;
    if (!number || H5Tset_order(number.get(), other) < 0) return std::nullopt;
    if (H5Tequal(file_type, type_of_numbers(type, number.get()).get()) > 0) return true;
    return std::nullopt;
}

std::optional<PixelType> pixel_type_of_hdf5(hid_t file_type) {
    const std::size_t bytes = H5Tget_size(file_type);
    switch (H5Tget_class(file_type)) {
        case H5T_INTEGER: {
            const bool is_signed = H5Tget_sign(file_type) == H5T_SGN_2;
            if (bytes == 1) return is_signed ? PixelType::int8 : PixelType::uint8;
            if (bytes == 2) return is_signed ? PixelType::int16 : PixelType::uint16;
            if (bytes == 4) return is_signed ? PixelType::int32 : PixelType::uint32;
            if (bytes == 8) return PixelType::float64;
            return std::nullopt;
        }
        case H5T_FLOAT:
            if (bytes == 2 || bytes == 4) return PixelType::float32;
            if (bytes == 8) return PixelType::float64;
            return std::nullopt;
        case H5T_ENUM:
            return enumeration_type(file_type);
        case H5T_COMPOUND:
            return complex_type(file_type);
        default:
            return std::nullopt;
    }
}

}  // namespace convolume::io
