// SPDX-License-Identifier: Apache-2.0
#pragma once
// The files of a run over many: paths, patterns, lists.

#include <string>
#include <vector>

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

}  // namespace convolume::cli
