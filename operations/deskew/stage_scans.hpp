// SPDX-License-Identifier: Apache-2.0
#pragma once
// Stage scans in files: what the user has to say of them, and what their files say.

#include <optional>
#include <string>

#include "convolume/deskew.hpp"
#include "convolume/error.hpp"
#include "convolume/image_file.hpp"

namespace convolume {

/// Throws InvalidArgument unless the user gives angle and step of a scan.
void check_scan_is_given(bool has_angle, bool has_step);

/// Sets the pixels of a scan: the edge that the user gives, or else those of the image. Returns
/// what is doubtful about the distance of planes that the image gives. Throws BadData for an image
/// of one plane, and InvalidArgument if the pixels are not known, if a scan is not valid, or if
/// planes of a straight image (DeskewOptions::inverse) are not as far apart as those of the scan.
/// `name` names the image; it may be empty.
std::optional<Sentence> set_pixels(DeskewOptions& options, const io::ImageMetadata& image,
                                   const std::string& name, std::optional<double> pixel_um);

/// Makes the metadata of a recording those of its result. Labels and facts of planes stay if the
/// planes do; regions do not.
void deskew_metadata(io::ImageMetadata& image, const DeskewOptions& options);

}  // namespace convolume
