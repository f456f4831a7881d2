// SPDX-License-Identifier: Apache-2.0
#pragma once
// Kernels that do not fit the image that they are for.

#include <string>
#include <vector>

#include "cli/files/kernel_file.hpp"

namespace convolume::cli {

/// "the PSF" or "the PSF "a.tif""
std::string name_of(const KernelFile& kernel);

/// Adds a warning of a kernel of several planes for an image of one.
void warn_of_one_plane(const KernelFile& kernel, const io::ImageMetadata& image,
                       std::vector<std::string>& warnings);

/// Extents of a kernel before and after resampling, and the voxel sizes that these follow from.
struct Resampling {
    Shape3 before;
    Shape3 after;
    std::string sizes;  ///< how both voxel sizes differ, the begin of a sentence
};

/// Throws InvalidArgument if resampling leaves one sample across or multiplies an extent by more
/// than 100, as wrong units do. Returns a warning if it comes near to that; empty if not.
std::string check_resampling(const Resampling& resampling);

}  // namespace convolume::cli
