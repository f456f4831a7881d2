// SPDX-License-Identifier: Apache-2.0
#include "cli/files/kernel_fit.hpp"

#include <algorithm>

#include "convolume/error.hpp"

namespace convolume::cli {

std::string name_of(const KernelFile& kernel) {
    return kernel.path.empty() ? "the PSF" : message("the PSF \"", kernel.path, "\"");
}

void warn_of_one_plane(const KernelFile& kernel, const io::ImageMetadata& image,
                       std::vector<std::string>& warnings) {
    if (image.shape.z > 1 || kernel.shape.z == 1) return;
    warnings.push_back(
        message("the image has one plane, but ", name_of(kernel), " has ", kernel.shape.z,
                ": light of planes that are not in the image is not accounted for; for a thin "
                "specimen use a PSF of one plane, as convolume psf --like makes it"));
}

std::string check_resampling(const Resampling& resampling) {
    constexpr index_t most = 100, many = 10;  // times as many samples
    constexpr index_t few = 3;                // samples that are left across
    const auto [before, after, sizes] = resampling;
    const std::string cure =
        message(", and resampling would make z,y,x ", to_string(after), " samples of the kernel's ",
                to_string(before),
                "; correct one of the sizes (--voxel for the image), or add --psf-resample ignore");
    const bool wide = before.y >= few && before.x >= few;
    if (wide && after.y == 1 && after.x == 1) throw InvalidArgument(sizes + cure);
    index_t growth = 0;
    for (int axis = 0; axis < 3; ++axis) growth = std::max(growth, after[axis] / before[axis]);
    if (growth > most) throw InvalidArgument(sizes + cure);
    const bool shrunk = after.y <= few && after.x <= few && after.y * many <= before.y &&
                        after.x * many <= before.x;
    return growth > many || shrunk ? sizes + cure : std::string();
}

}  // namespace convolume::cli
