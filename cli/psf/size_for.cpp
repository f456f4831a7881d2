// SPDX-License-Identifier: Apache-2.0
#include "cli/psf/size_for.hpp"

#include <algorithm>

#include "convolume/error.hpp"

namespace convolume::cli {

nlohmann::ordered_json voxel_for(const io::ImageMetadata& image, const std::string& path,
                                 const char* cure) {
    const auto& [z, y, x] = image.voxel_size_um;
    if (!y || !x || (!z && image.shape.z > 1))
        throw InvalidArgument(message("the image \"", path,
                                      "\" does not say its voxel size, which a PSF needs; ", cure));
    // A single plane has no distance to others: a thin one takes the value at its middle.
    return {z.value_or(std::min(*y, *x)), *y, *x};
}

Shape3 size_for(const PsfOptions& options, const Shape3& image, std::optional<double> share,
                const ExecutionContext& context) {
    const double usual = options.modality == Modality::widefield ? 0.5 : 0.95;
    return psf_size_for_image(options, image, share.value_or(usual), context);
}

}  // namespace convolume::cli
