// SPDX-License-Identifier: Apache-2.0
#include "cli/deconvolve/psf_warnings.hpp"

#include <algorithm>
#include <cmath>
#include <type_traits>

#include "cli/files/kernel_fit.hpp"
#include "cli/text/format.hpp"
#include "convolume/error.hpp"

namespace convolume::cli {

namespace {

/// The light of every plane; nothing for complex PSFs.
std::vector<double> light_of_planes(const ConstImageView& psf) {
    std::vector<double> light;
    visit_pixel_type(psf.type, [&](auto tag) {
        using T = typename decltype(tag)::type;
        if constexpr (std::is_arithmetic_v<T>) {
            const T* sample = static_cast<const T*>(psf.data);
            for (index_t z = 0; z < psf.shape.z; ++z) {
                double sum = 0;
                for (index_t i = 0; i < psf.shape.y * psf.shape.x; ++i)
                    sum += std::max(static_cast<double>(*sample++), 0.0);
                light.push_back(sum);
            }
        }
    });
    return light;
}

/// In widefield every plane of the PSF holds the same light, so one that ends before the image does
/// has outermost planes that are as bright as any.
void warn_of_shallow(const KernelFile& psf, const io::ImageMetadata& image,
                     std::vector<std::string>& warnings) {
    constexpr double much = 0.1;  // of the brightest plane's light
    const index_t wanted = 2 * image.shape.z - 1;
    const std::vector<double> light = light_of_planes(psf.values.view());
    if (psf.shape.z >= wanted || light.empty()) return;
    const double share =
        std::min(light.front(), light.back()) / *std::max_element(light.begin(), light.end());
    if (!(share > much)) return;
    warnings.push_back(message("the PSF has ", psf.shape.z, psf.shape.z == 1 ? " plane" : " planes",
                               ", and the outermost hold ",
                               format_number(std::round(100 * share), 3),
                               " % of the light of the brightest: light from farther away will "
                               "stay as haze in an image of ",
                               image.shape.z,
                               " planes; make the PSF with convolume psf --like (of a measured one "
                               "--psf-background may help)"));
}

/// Voxels can only be brought together where both sides know theirs.
void warn_of_unknown_voxel(const KernelFile& psf, const io::ImageMetadata& image,
                           std::vector<std::string>& warnings) {
    for (int axis = 0; axis < 3; ++axis) {
        const auto a = static_cast<std::size_t>(axis);
        const bool of_image = image.voxel_size_um[a].has_value();
        if (psf.metadata.shape[axis] == 1 || image.shape[axis] == 1) continue;
        if (of_image == psf.metadata.voxel_size_um[a].has_value()) continue;
        warnings.push_back(
            of_image ? message("the image has voxels of ", format_voxel_size(image.voxel_size_um),
                               ", but ", name_of(psf),
                               " does not say its own and is taken to have the same; save it with "
                               "its voxel size")
                     : message(name_of(psf), " has voxels of ",
                               format_voxel_size(psf.metadata.voxel_size_um),
                               ", but the image does not say its own and is taken to have the "
                               "same; give them by --voxel"));
        return;
    }
}

}  // namespace

std::vector<std::string> psf_warnings(const KernelFile& psf, const io::ImageMetadata& image) {
    std::vector<std::string> warnings;
    if (image.shape.z > 1 && !psf.wrapped.any()) warn_of_shallow(psf, image, warnings);
    warn_of_one_plane(psf, image, warnings);
    warn_of_unknown_voxel(psf, image, warnings);
    return warnings;
}

}  // namespace convolume::cli
