// SPDX-License-Identifier: Apache-2.0
#pragma once
// Warnings of images that are read.

#include <string>
#include <vector>

#include "convolume/image_file.hpp"

namespace convolume {

/// Returns "value = stored * 0.5 + 3".
std::string scaling_text(const io::ValueScaling& scaling);

/// Returns the notes of an image, each with its name.
std::vector<std::string> note_warnings(const std::string& name, const io::ImageMetadata& image);

/// Returns the notes of an image whose values are read as stored, and whether the file scales them.
std::vector<std::string> input_warnings(const std::string& name, const io::ImageMetadata& image);

}  // namespace convolume
