// SPDX-License-Identifier: Apache-2.0
#pragma once
// What a file is by its content, and what it is to be by its name.

#include <string>
#include <string_view>

#include "io/raw_file.hpp"

namespace convolume::io {

enum class FileKind { tiff, hdf5, npy, xml, other };
FileKind kind_of(const RawFile& file);

/// Whether `path` ends with `extension` (".npy"), in letters of any case, and has a name before it.
bool has_extension(const std::string& path, std::string_view extension);
bool names_hdf5(const std::string& path);

}  // namespace convolume::io
