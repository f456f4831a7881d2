// SPDX-License-Identifier: Apache-2.0
#pragma once
// Pixel types in HDF5: numbers, and compounds {r, i} for complex ones, as h5py has them.

#include <optional>
#include <string>

#include "convolume/image_view.hpp"
#include "io/hdf5/library.hpp"
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

}  // namespace convolume::io
