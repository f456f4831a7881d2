// SPDX-License-Identifier: Apache-2.0
#include "io/tiff/dialects.hpp"

#include <algorithm>

#include "convolume/error.hpp"
#include "core/text.hpp"
#include "io/units.hpp"

namespace convolume::io {
namespace {

/// Pixel size in µm that no microscope reaches.
constexpr double largest_pixel_um = 40;

/// Pages of one size and type. In a file without metadata they are one image.
struct PageGroup {
    const TiffPage* first;  ///< first page of the group, which has the size and type of all
    std::vector<TiffPageRef> pages;
};

std::vector<PageGroup> groups_of_equal_pages(const TiffSource& source) {
    std::vector<PageGroup> groups;
    for (const index_t number : source.full_pages) {
        const TiffPage& page = source.pages[static_cast<std::size_t>(number)];
        auto group = std::find_if(groups.begin(), groups.end(), [&](const PageGroup& other) {
            return other.first->same_pixels(page);
        });
        if (group == groups.end()) group = groups.insert(group, {&page, {}});
        group->pages.push_back({0, number});
    }
    return groups;
}

std::string names_text(const std::vector<std::string>& names) {
    constexpr std::size_t most_names = 10;
    std::string text;
    for (std::size_t i = 0; i < std::min(names.size(), most_names); ++i)
        text += message(i > 0 ? ", " : "", i, names[i].empty() ? "" : " (" + names[i] + ")");
    if (names.size() > most_names) text += ", …";
    return text;
}

}  // namespace

TiffStack read_dialect(TiffSource& source, ImageMetadata& metadata) {
    for (const auto read :
         {read_ome, read_imagej, read_zeiss_lsm, read_metamorph, read_shaped, read_foreign})
        if (auto stack = read(source, metadata)) return *std::move(stack);
    return read_plain(source, metadata);
}

void read_plain_calibration(const TiffSource& source, ImageMetadata& metadata) {
    constexpr double um_per_inch = 25400;
    const int unit = source.tiff.get<std::uint16_t>(TIFFTAG_RESOLUTIONUNIT, RESUNIT_NONE);
    const double micrometers = unit == RESUNIT_INCH         ? um_per_inch
                               : unit == RESUNIT_CENTIMETER ? 1e4
                                                            : 0;
    for (std::size_t axis = 1; axis < 3; ++axis) {
        const double resolution = source.pixels_per_unit[axis - 1];
        if (resolution <= 0 || micrometers <= 0 || micrometers / resolution >= largest_pixel_um)
            continue;
        if (unit == RESUNIT_INCH && is_print_resolution(resolution)) {
            if (axis == 2) note_print_resolution(resolution, metadata);
            continue;
        }
        metadata.voxel_size_um[axis] = micrometers / resolution;
        metadata.unit = unit == RESUNIT_INCH ? "inch" : "cm";
    }
}

void note_print_resolution(double pixels_per_inch, ImageMetadata& metadata) {
    metadata.notes.push_back(message(
        number_text(pixels_per_inch),
        " dots per inch are taken for the resolution of a print, not for a pixel size; --voxel "
        "gives one"));
}

TiffStack read_plain(TiffSource& source, ImageMetadata& metadata) {
    metadata.format = "TIFF";
    read_plain_calibration(source, metadata);
    if (!source.description.empty())
        metadata.text["ImageDescription"] = utf8_from_imagej(source.description);
    std::vector<PageGroup> groups = groups_of_equal_pages(source);
    TiffStack stack;
    std::size_t group = 0;
    if (groups.size() > 1) {
        std::vector<std::string> names;
        for (const PageGroup& each : groups)
            names.push_back(
                message(each.pages.size(), "×", each.first->height, "×", each.first->width,
                        each.first->samples > 1 ? message("×", each.first->samples) : "", " ",
                        to_string(each.first->type())));
        if (source.options.image.empty())
            throw BadData(message(source.file.path(), " holds pages of several sizes or types: ",
                                  names_text(names), "; choose some by --image N"));
        group = static_cast<std::size_t>(
            choose_image(names, source.options, 0, source.file.path(), metadata));
    }
    stack.plane_pages = std::move(groups[group].pages);
    const auto planes = static_cast<index_t>(stack.plane_pages.size());
    stack.axes = "Z";
    stack.dims = {planes};
    if (planes > 1 && source.options.axes.empty())
        metadata.notes.push_back(message("the file does not say what its ", planes,
                                         " pages are; they are read as planes along z (--axes ZYX "
                                         "confirms this, --axes TYX reads times)"));
    return stack;
}

index_t choose_image(const std::vector<std::string>& names, const OpenOptions& options,
                     index_t default_image, const std::string& path, ImageMetadata& metadata,
                     bool is_only_candidate) {
    const auto count = static_cast<index_t>(names.size());
    index_t chosen = default_image;
    if (!options.image.empty()) {
        const auto named = std::find(names.begin(), names.end(), options.image);
        chosen = named - names.begin();
        if (named == names.end()) {
            chosen = number_in<index_t>(options.image).value_or(-1);
            if (chosen < 0 || chosen >= count)
                throw InvalidArgument(message(path, " has no image \"", options.image,
                                              "\"; it holds: ", names_text(names)));
        }
    }
    metadata.images = count;
    metadata.image = chosen;
    metadata.image_name = names[static_cast<std::size_t>(chosen)];
    if (count > 1 && options.image.empty() && !is_only_candidate)
        metadata.notes.push_back(message("the file holds ", count, " images: ", names_text(names),
                                         "; number ", chosen, " is read, --image chooses another"));
    return chosen;
}

}  // namespace convolume::io
