// SPDX-License-Identifier: Apache-2.0
#pragma once
// Outputs that would replace an input.

#include <functional>
#include <string>

namespace convolume {

/// Returns whether `path` is a URL such as "s3://bucket/a.zarr".
bool is_url(const std::string& path);

/// Returns whether `path` is a folder that a registered format reads as an image.
bool is_image_folder(const std::string& path);

/// Returns a path that is equal for all names of one file, whether it exists or not.
std::string canonical_path(const std::string& file);

/// Returns whether two paths name one file, which need not exist.
bool is_same_file(const std::string& a, const std::string& b);

/// Tells whether a folder is one image.
using IsImage = std::function<bool(const std::string& path)>;

/// Throws InvalidArgument if the output would overwrite the input, or if one is an image that
/// contains the other. The output may be another dataset of the same file. The rest of the file is
/// then kept, in a copy that replaces the file at the end.
void check_not_input(const std::string& output, const std::string& input,
                     const IsImage& is_image = is_image_folder);

}  // namespace convolume
