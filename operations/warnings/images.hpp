// SPDX-License-Identifier: Apache-2.0
#pragma once
// Warnings about images that are read and samples that a run changed, and images that are refused.

#include <string>
#include <vector>

#include "convolume/image_file.hpp"
#include "convolume/volume.hpp"

namespace convolume {

/// Returns "value = stored * 0.5 + 3".
std::string scaling_text(const io::ValueScaling& scaling);

/// Returns the notes of an image, each with its name.
std::vector<std::string> note_warnings(const std::string& name, const io::ImageMetadata& image);

/// Returns the notes of an image whose values are read as stored, and whether the file scales them.
std::vector<std::string> input_warnings(const std::string& name, const io::ImageMetadata& image);

/// Samples that a run changed, and how users name what it concerns.
struct ChangedSamples {
    index_t clamped_low = 0;       ///< results below the range of their type; NaN counts here
    index_t clamped_high = 0;      ///< results above it
    std::string type;              ///< type of the results
    std::string type_option;       ///< what users choose it by, such as "--output-type"
    index_t nonfinite_inputs = 0;  ///< NaN and infinities of the input that were read as 0
    std::string input = "image";   ///< "image" or "signal"
};

/// Returns what a user should know of changed samples; nothing if there are none.
std::vector<std::string> changed_samples_warnings(const ChangedSamples& changed);

/// Throws BadData if an image is complex. `what` names it, such as "the image".
void check_real(PixelType type, const std::string& what);

/// Returns real samples as float32. Throws as check_real() does.
Volume real_samples(const ConstImageView& samples, const std::string& what);

}  // namespace convolume
