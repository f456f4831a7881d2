// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <string>

#include "convolume/signal_file.hpp"
#include "io/file_kind.hpp"

namespace convolume::io {
namespace {

struct StoredRow {
    StoredType type;
    const char* name;
    const char* extension;  ///< with its dot
    const char* other_extension;
    index_t bytes;
    PixelType read_type;
};
constexpr StoredRow stored_rows[] = {
    {StoredType::uint8, "uint8", ".u8", "", 1, PixelType::uint8},
    {StoredType::int8, "int8", ".i8", ".s8", 1, PixelType::int8},
    {StoredType::uint16, "uint16", ".u16", "", 2, PixelType::uint16},
    {StoredType::int16, "int16", ".i16", ".s16", 2, PixelType::int16},
    {StoredType::int24, "int24", ".i24", "", 3, PixelType::float32},
    {StoredType::uint32, "uint32", ".u32", "", 4, PixelType::uint32},
    {StoredType::int32, "int32", ".i32", ".s32", 4, PixelType::int32},
    {StoredType::int64, "int64", ".i64", "", 8, PixelType::float64},
    {StoredType::float32, "float32", ".f32", "", 4, PixelType::float32},
    {StoredType::float64, "float64", ".f64", "", 8, PixelType::float64},
    {StoredType::complex64, "complex64", ".c64", ".cf32", 8, PixelType::complex64},
    {StoredType::complex128, "complex128", ".c128", ".cf64", 16, PixelType::complex128},
    {StoredType::cu8, "cu8", ".cu8", "", 2, PixelType::complex64},
    {StoredType::ci8, "ci8", ".ci8", ".cs8", 2, PixelType::complex64},
    {StoredType::ci16, "ci16", ".ci16", ".cs16", 4, PixelType::complex64},
    {StoredType::ci32, "ci32", ".ci32", ".cs32", 8, PixelType::complex128},
};

const StoredRow& row_of(StoredType type) {
    const auto* const found = std::find_if(std::begin(stored_rows), std::end(stored_rows),
                                           [&](const StoredRow& row) { return row.type == type; });
    if (found == std::end(stored_rows))
        throw InternalError("a stored type outside its enumeration");
    return *found;
}

bool is_extension(const char* extension, std::string_view name) {
    return *extension != '\0' && name == extension + 1;
}

}  // namespace

const char* to_string(StoredType type) {
    return row_of(type).name;
}

StoredType parse_stored_type(std::string_view name) {
    std::string known;
    for (const StoredRow& row : stored_rows) {
        if (name == row.name || is_extension(row.extension, name) ||
            is_extension(row.other_extension, name))
            return row.type;
        known += (known.empty() ? "" : ", ") + std::string(row.name);
    }
    throw InvalidArgument(message("there is no sample type \"", name, "\"; there are ", known,
                                  ", also as i16, c64, …"));
}

std::optional<StoredType> stored_type_of_name(std::string_view path) {
    const std::string text(path);
    for (const StoredRow& row : stored_rows)
        for (const char* extension : {row.extension, row.other_extension})
            if (*extension != '\0' && row.type != StoredType::int24 &&
                has_extension(text, extension))
                return row.type;
    return std::nullopt;
}

index_t bytes_of(StoredType type) {
    return row_of(type).bytes;
}

bool is_complex(StoredType type) {
    return is_complex(row_of(type).read_type);
}

bool is_integer(StoredType type) {
    switch (type) {
        case StoredType::float32:
        case StoredType::float64:
        case StoredType::complex64:
        case StoredType::complex128:
            return false;
        default:
            return true;
    }
}

PixelType read_type(StoredType type) {
    return row_of(type).read_type;
}

}  // namespace convolume::io
