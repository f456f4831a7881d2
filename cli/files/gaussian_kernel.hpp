// SPDX-License-Identifier: Apache-2.0
#pragma once
// Gaussian kernels of a width that is typed instead of a kernel file (--sigma, --fwhm).

#include <CLI/CLI.hpp>
#include <array>
#include <optional>
#include <string>

#include "cli/files/kernel_file.hpp"
#include "convolume/image_file.hpp"

namespace convolume::cli {

/// Standard deviations of a Gaussian along z, y and x.
struct GaussianWidth {
    std::array<double, 3> sigma{};
    bool in_voxels = false;    ///< the unit is voxels; otherwise µm
    bool one_for_all = false;  ///< one number was typed for all axes
};

/// Parses "2" (voxels), "200nm", "1,2,2" or "400,200,200nm". Throws InvalidArgument.
GaussianWidth parse_gaussian_width(std::string_view option, const std::string& text);

/// Adds --sigma and --fwhm.
void add_gaussian_options(CLI::App& app, std::optional<GaussianWidth>& width);

/// Samples the Gaussian at the voxels of the image, up to four standard deviations from its center,
/// with sum 1. One number does not blur along axes on which the image has one sample. Throws
/// InvalidArgument if the width is a length and the image's voxel size is unknown, and OutOfMemory
/// if the samples take more than `most_bytes`.
KernelFile make_gaussian_kernel(const GaussianWidth& width, const io::ImageMetadata& image,
                                index_t most_bytes);

}  // namespace convolume::cli
