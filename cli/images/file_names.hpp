// SPDX-License-Identifier: Apache-2.0
#pragma once
// Names of the files of a run over many images: patterns and lists of images, names of results.

#include <string>
#include <string_view>
#include <vector>

#include "convolume/shape.hpp"

namespace convolume::cli {

/// Returns true if `path` has one of * ? [ and is not the name of an existing file.
bool is_pattern(const std::string& path);

/// Returns the files that match a pattern, sorted by name, and any other path as it is. The pattern
/// may end in ":/dataset". Throws InputNotFound if no file matches.
std::vector<std::string> matching_files(const std::string& path);

/// Reads a file with one path a line, "-" for standard input. Skips blank lines and lines that
/// begin with #. Throws InputNotFound, IoError, and BadData if the file is no text in UTF-8.
std::vector<std::string> read_file_list(const std::string& path);

/// Throws InvalidArgument if the path of a kernel is a pattern or a folder.
void check_kernel_path(const std::string& path);

/// One of the images of a run.
struct NumberedImage {
    std::string image;  ///< path of the image
    index_t index = 0;  ///< number of the image, from 0
    index_t count = 1;  ///< number of images of the run
};

/// Fills in {stem}, {name}, {index} and {dataset}. A name without an extension gets that of the
/// image, or .tif or .h5 if images with its extension cannot be written. For "a/b.ome.tif", {stem}
/// is b and {name} b.ome.tif. For "a/b.h5:/c/d", {stem} is b and {dataset} c_d. Every {index} has
/// as many digits as the last.
std::string output_name(std::string_view pattern, const NumberedImage& file);

/// Returns `path`, a name that io::create_image() takes, with `mark` before its extension. The mark
/// ".c" makes "a/b.c.ome.tif" of "a/b.ome.tif", and "a/b.c.h5:/d" of "a/b.h5:/d".
std::string marked_name(const std::string& path, std::string_view mark);

/// Returns `text` if it is a pattern for `option`. Throws InvalidArgument if it has other fields.
std::string parse_output_name(std::string_view option, const std::string& text);

}  // namespace convolume::cli
