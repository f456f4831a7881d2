// SPDX-License-Identifier: Apache-2.0
#pragma once
// PSFs that do not fit the image they are to restore.

#include <string>
#include <vector>

#include "cli/files/kernel_file.hpp"

namespace convolume::cli {

/// A sentence for each thing that is wrong with a PSF, whose values are still there, for images
/// like `image`.
std::vector<std::string> psf_warnings(const KernelFile& psf, const io::ImageMetadata& image);

}  // namespace convolume::cli
