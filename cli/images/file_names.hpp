// SPDX-License-Identifier: Apache-2.0
#pragma once
// Names of the files of a run over many: patterns and lists of images, names of results.

#include <string>
#include <string_view>
#include <vector>

#include "convolume/shape.hpp"

namespace convolume::cli {

/// Whether `path` has one of * ? [ and is not the name of a file itself.
bool is_pattern(const std::string& path);

/// The files that a pattern stands for, sorted by name; any other path as it is. The pattern may
/// end in ":/dataset". Throws InputNotFound where there is no such file.
std::vector<std::string> matching_files(const std::string& path);

/// Reads a file of one path a line, "-" for standard input. Blank lines and those that begin with
/// # are skipped. Throws InputNotFound, IoError, BadData (no text).
std::vector<std::string> read_file_list(const std::string& path);

/// Throws InvalidArgument where a kernel is a pattern or a folder.
void check_kernel_path(const std::string& path);

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
