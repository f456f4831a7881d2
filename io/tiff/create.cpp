// SPDX-License-Identifier: Apache-2.0
#include "convolume/error.hpp"
#include "io/ome/ome_xml.hpp"
#include "io/tiff/writer.hpp"

namespace convolume::io {
namespace {

/// Classic TIFF ends at 4 GiB; the decision is made before anything is compressed, with room to
/// spare.
constexpr index_t classic_limit_bytes = (index_t{1} << 32) - (index_t{32} << 20);
constexpr index_t directory_bytes = 256;

/// Tells whether ImageJ's own reader takes such pixels.
bool imagej_holds(PixelType type, Compression compression) {
    return (type == PixelType::uint8 || type == PixelType::uint16 || type == PixelType::float32) &&
           compression != Compression::zstd;
}

}  // namespace

std::uint16_t sample_format(PixelType type) {
    if (is_complex(type)) return 6;
    if (!is_integer(type)) return 3;
    return to_string(type)[0] == 'u' ? 1 : 2;
}

std::unique_ptr<ImageWriter> create_tiff(const std::string& path, const ImageMetadata& image,
                                         const CreateOptions& options, bool ome) {
    ImageMetadata metadata = image;
    const Shape3& shape = metadata.shape;
    if (shape.y > UINT32_MAX || shape.x > UINT32_MAX)
        throw InvalidArgument(
            message("a TIFF cannot hold planes of ", shape.y, "×", shape.x, "; write HDF5 (.h5)"));
    TiffText text;
    text.ome = ome || !imagej_holds(metadata.type, options.compression);
    if (!text.ome) complete_imagej_metadata(metadata);
    text.description =
        text.ome ? ome_xml(metadata, options.software) : imagej_description(metadata, {});
    text.software = options.software;
    const index_t pages =
        checked_multiply(checked_multiply(metadata.frames, metadata.channels), shape.z);
    const index_t carried =
        static_cast<index_t>(text.description.size() + metadata.imagej_metadata.size());
    const index_t total = checked_add(
        metadata.bytes(), checked_add(checked_multiply(pages, directory_bytes), carried));
    text.big = total >= classic_limit_bytes;

    // In OME files the tags repeat the XML, in a unit that TIFF knows.
    const double micrometers = text.ome ? 1e4 : imagej_unit(metadata).micrometers;
    for (std::size_t i = 0; i < 2; ++i)
        if (const auto& size = metadata.voxel_size_um[i + 1]; size && *size > 0) {
            text.pixels_per_unit[i] = micrometers / *size;
            if (text.ome) text.resolution_unit = 3;
        }
    return options.compression == Compression::none
               ? create_raw_tiff(path, metadata, options, text)
               : create_coded_tiff(path, metadata, options, text);
}

void set_display_ranges(ImageMetadata& metadata, TiffText& text, const ChannelRanges& ranges) {
    if (text.ome) return;
    const std::vector<ValueRange> all = ranges.all();
    text.description = imagej_description(metadata, all[0]);
    set_imagej_ranges(metadata, all);
}

}  // namespace convolume::io
