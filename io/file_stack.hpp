// SPDX-License-Identifier: Apache-2.0
#pragma once
// Several files that are read as one image: the files of a folder or of a pattern, joined along one
// axis, or those whose names match a template such as "img_t{t}_c{c}_z{z}.tif".

#include <memory>
#include <string>
#include <vector>

#include "convolume/image_file.hpp"

namespace convolume::io {

/// The files of an image, and their order.
struct FileStack {
    std::vector<std::string> paths;          ///< t slowest, then c, z fastest
    index_t frames = 1;                      ///< number of files along t
    index_t channels = 1;                    ///< number of files along c
    index_t planes = 1;                      ///< number of files along z
    std::vector<std::string> channel_names;  ///< texts in place of {c}; empty if they are numbers
    std::vector<std::string> notes;          ///< notes for the user, such as skipped numbers
};

/// Returns true if `path` and `options` ask for several files as one image.
bool is_file_stack(const std::string& path, const OpenOptions& options);

/// Finds the files of an image. Throws InputNotFound if no file matches, BadData if a combination
/// of times, channels and planes is missing, and InvalidArgument for a stack that is not T, C or Z
/// and for names that leave the order open.
FileStack find_file_stack(const std::string& path, const OpenOptions& options);

/// Opens the files as one image, whose extents are sums over its files. Throws BadData if files
/// differ in shape or type, InvalidArgument for files of an OME-TIFF set, and what open_image()
/// throws for each file.
std::unique_ptr<ImageReader> open_file_stack(const FileStack& stack, const OpenOptions& options);

}  // namespace convolume::io
