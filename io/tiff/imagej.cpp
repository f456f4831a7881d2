// SPDX-License-Identifier: Apache-2.0
// Files of ImageJ and of ImageJ2, whose SCIFIO writes the same keys and the axes beside them.

#include "io/tiff/dialects.hpp"
#include "io/tiff/imagej_text.hpp"
#include "io/units.hpp"

namespace convolume::io {
namespace {

/// ImageJ takes over the dots per inch of a photograph, with its unit.
void forget_print_resolution(const TiffSource& source, ImageMetadata& metadata) {
    if (metadata.unit != "inch") return;
    for (std::size_t axis = 1; axis < 3; ++axis) {
        const double resolution = source.pixels_per_unit[axis - 1];
        if (!is_print_resolution(resolution)) continue;
        metadata.voxel_size_um[axis].reset();
        if (axis == 2)
            metadata.notes.push_back(
                message(number_text(resolution),
                        " dots per inch are taken for the resolution of a print, not for a pixel "
                        "size; --voxel gives one"));
    }
}

}  // namespace

std::optional<TiffStack> read_imagej(TiffSource& source, ImageMetadata& metadata) {
    if (!is_imagej_description(source.description)) return std::nullopt;
    metadata.format = is_scifio_description(source.description) ? "ImageJ2 TIFF" : "ImageJ TIFF";
    metadata.imagej_description = source.description;
    read_imagej_calibration(source.description, source.pixels_per_unit, metadata);
    if (metadata.unit.empty()) read_plain_calibration(source, metadata);
    forget_print_resolution(source, metadata);
    read_imagej_tags(source.tiff, metadata);
    TiffStack stack = imagej_stack(source.description);
    if (!stack.ambiguity.empty()) return stack;
    // Samples of RGB pages may be counted as channels too.
    const index_t samples = source.first_page().samples;
    const auto c = stack.axes.find('C');
    if (samples > 1 && c != std::string::npos && stack.dims[c] == samples &&
        stack.planes() / samples == static_cast<index_t>(source.full.size()))
        stack.dims[c] = 1;
    read_imagej_channel_names(stack, metadata);
    return stack;
}

}  // namespace convolume::io
