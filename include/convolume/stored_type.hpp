// SPDX-License-Identifier: Apache-2.0
#pragma once
// How samples of signals lie in files that say nothing about them, on pipes, and in WAV files.

#include <optional>
#include <string_view>

#include "convolume/export.hpp"
#include "convolume/image_view.hpp"

namespace convolume::io {

enum class StoredType {
    uint8,
    int8,
    uint16,
    int16,
    int24,  ///< WAV files only
    uint32,
    int32,
    int64,  ///< read as float64
    float32,
    float64,
    complex64,
    complex128,
    cu8,  ///< complex: uint8 real and imaginary part, 127.5 is 0, as RTL-SDR records
    ci8,  ///< complex: int8 real and imaginary part
    ci16,
    ci32,
};

/// "int16", "complex64", "ci16", …
CONVOLUME_API const char* to_string(StoredType type);
/// By that name or by the extension of a raw file without its dot: "i16", "c64", "cf32", "cs16".
/// Throws InvalidArgument that lists the names.
CONVOLUME_API StoredType parse_stored_type(std::string_view name);
/// The type that the extension of `path` names, if any.
CONVOLUME_API std::optional<StoredType> stored_type_of_name(std::string_view path);

CONVOLUME_API index_t bytes_of(StoredType type);
CONVOLUME_API bool is_complex(StoredType type);
CONVOLUME_API bool is_integer(StoredType type);
/// What samples of that type are read as: complex integers as complex64, or complex128 where
/// float32 does not hold them.
CONVOLUME_API PixelType read_type(StoredType type);

}  // namespace convolume::io
