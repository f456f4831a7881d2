// SPDX-License-Identifier: Apache-2.0
#pragma once
// Names of the results of many files: --output-name.

#include <string>
#include <string_view>

#include "convolume/shape.hpp"

namespace convolume::cli {

/// One of the files of a run.
struct NamedFile {
    std::string image;  ///< its path
    index_t index = 0;  ///< from 0
    index_t count = 1;  ///< of files
};

/// Fills in {stem}, {name}, {index} and {dataset}. A name without an extension gets that of the
/// image, or .tif or .h5 where none can be written of that name. For "a/b.ome.tif": {stem} is b,
/// {name} b.ome.tif. For "a/b.h5:/c/d": {stem} is b, {dataset} c_d. {index} has as many digits as
/// the last one.
std::string output_name(std::string_view pattern, const NamedFile& file);

/// `path`, a name that io::create_image() takes, with `mark` before its extension: "a/b.c.ome.tif"
/// and "a/b.c.h5:/d" for "a/b.ome.tif" and "a/b.h5:/d" and the mark ".c".
std::string marked_name(const std::string& path, std::string_view mark);

/// `text` as a pattern for `option`. Throws InvalidArgument where it has other fields.
std::string parse_output_name(std::string_view option, const std::string& text);

}  // namespace convolume::cli
