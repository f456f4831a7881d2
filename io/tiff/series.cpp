// SPDX-License-Identifier: Apache-2.0
#include "io/tiff/series.hpp"

#include <algorithm>

#include "io/ome/ome_xml.hpp"
#include "io/tiff/imagej_text.hpp"
#include "io/tiff/shaped_text.hpp"
#include "io/tiff/tags.hpp"
#include "io/units.hpp"

namespace convolume::io {
namespace {

/// Pixels of 40 µm and more (up to 600 dots an inch) are the resolution of screens and printers.
constexpr double largest_pixel_um = 40;

void read_plain_calibration(const TiffHandle& tiff, const std::array<double, 2>& pixels_per_unit,
                            ImageMetadata& metadata) {
    const int unit = tiff.get<std::uint16_t>(TIFFTAG_RESOLUTIONUNIT, RESUNIT_NONE);
    const double micrometers = unit == RESUNIT_INCH         ? 25400
                               : unit == RESUNIT_CENTIMETER ? 10000
                                                            : 0;
    for (std::size_t axis = 1; axis < 3; ++axis) {
        const double resolution = pixels_per_unit[axis - 1];
        if (resolution <= 0 || micrometers <= 0 || micrometers / resolution >= largest_pixel_um)
            continue;
        metadata.voxel_size_um[axis] = micrometers / resolution;
        metadata.unit = unit == RESUNIT_INCH ? "inch" : "cm";
    }
}

class SeriesFinder {
  public:
    SeriesFinder(TiffHandle& tiff, const RawFile& file, const std::vector<TiffPage>& pages)
        : tiff_(tiff), file_(file), pages_(pages) {
        for (std::size_t i = 0; i < pages.size(); ++i)
            if (!pages[i].reduced) full_.push_back(static_cast<index_t>(i));
        if (full_.empty())
            throw BadData(
                message(file.path(), " holds thumbnails only; give the file with the full image"));
    }

    TiffSeries find(const std::string& axes) {
        TiffSeries series;
        const TiffStack stack = describe_stack(series.metadata);
        const index_t first = stack.page_of_plane.empty() ? full_[0] : stack.page_of_plane[0];
        series.page = pages_[static_cast<std::size_t>(first)];
        const std::vector<index_t> ordered = pages_of(stack, series);
        arrange(stack, ordered, axes, series);
        if (!series.single_page) check_equal(series);
        return series;
    }

  private:
    const TiffPage& first_page() const { return pages_[static_cast<std::size_t>(full_[0])]; }

    TiffStack plain_stack() const { return {"Z", {static_cast<index_t>(full_.size())}, {}}; }

    TiffStack describe_stack(ImageMetadata& metadata) {
        const std::string description = tiff_.text(TIFFTAG_IMAGEDESCRIPTION);
        const std::array<double, 2> resolution = read_resolution(file_, pages_[0].directory);
        if (is_ome_description(description)) {
            metadata.format = "OME-TIFF";
            metadata.ome_xml = description;
            OmeImage image =
                read_ome_xml(description, file_.path(), static_cast<index_t>(pages_.size()),
                             first_page().samples, metadata);
            if (image.width != first_page().width || image.height != first_page().height)
                throw BadData(message("the OME-XML of ", file_.path(), " says ", image.height, "×",
                                      image.width, " pixels, but its first page has ",
                                      first_page().height, "×", first_page().width,
                                      "; save the file again"));
            if (image.stack.page_of_plane.empty() &&
                image.stack.planes() != static_cast<index_t>(full_.size()))
                return plain_stack();
            return image.stack;
        }
        if (is_imagej_description(description)) {
            metadata.format = "ImageJ TIFF";
            metadata.imagej_description = description;
            read_imagej_calibration(description, resolution, metadata);
            if (metadata.unit.empty()) read_plain_calibration(tiff_, resolution, metadata);
            read_imagej_tags(tiff_, metadata);
            TiffStack stack = imagej_stack(description);
            // Samples of RGB pages may be counted as channels too.
            const auto c = stack.axes.find('C');
            if (c != std::string::npos && stack.dims[c] == first_page().samples &&
                stack.planes() / first_page().samples == static_cast<index_t>(full_.size()))
                stack.dims[c] = 1;
            return stack;
        }
        metadata.format = "TIFF";
        read_plain_calibration(tiff_, resolution, metadata);
        if (const auto shaped = shaped_stack(description, first_page(), resolution, metadata))
            return *shaped;
        if (!description.empty()) metadata.text["ImageDescription"] = utf8_from_imagej(description);
        return plain_stack();
    }

    /// The page of each plane in the stack's order; places behind the only page for a single one.
    std::vector<index_t> pages_of(const TiffStack& stack, TiffSeries& series) const {
        if (!stack.page_of_plane.empty()) return stack.page_of_plane;
        const index_t planes = stack.planes();
        const auto count = static_cast<index_t>(full_.size());
        if (planes <= count) return full_;
        const TiffPage& page = series.page;
        const bool room =
            page.raw_offset >= 0 && planes <= (file_.size() - page.raw_offset) / page.bytes();
        if (count > 1 || !room)
            throw BadData(message(file_.path(), " promises ", planes, " planes, but holds ", count,
                                  "; it is truncated, copy it again"));
        series.single_page = true;
        std::vector<index_t> places(static_cast<std::size_t>(planes));
        for (std::size_t i = 0; i < places.size(); ++i) places[i] = static_cast<index_t>(i);
        return places;
    }

    /// Sets extents and planes from the meaning of the stack's dimensions.
    void arrange(const TiffStack& stack, const std::vector<index_t>& ordered,
                 const std::string& axes, TiffSeries& series) const {
        const bool fits = stack.planes() == static_cast<index_t>(ordered.size());
        const TiffStack used =
            fits ? stack : TiffStack{"Z", {static_cast<index_t>(ordered.size())}, {}};
        std::vector<index_t> dims;
        std::string letters;
        for (std::size_t d = 0; d < used.dims.size(); ++d)
            if (used.dims[d] > 1) {
                dims.push_back(used.dims[d]);
                letters += used.axes[d];
            }
        dims.insert(dims.end(), {series.page.height, series.page.width});
        const AxisLayout layout = axis_layout(dims, letters + "YX", axes, file_.path());
        if (layout.axes.size() < 2 || layout.axes.compare(layout.axes.size() - 2, 2, "YX") != 0)
            throw InvalidArgument(message("axes \"", axes, "\" do not fit ", file_.path(),
                                          ": pages of a TIFF are YX, so the axes must end so"));
        set_extents(series.metadata, layout);

        const ImageMetadata& m = series.metadata;
        for (index_t t = 0; t < m.frames; ++t)
            for (index_t c = 0; c < m.channels; ++c)
                for (index_t z = 0; z < m.shape.z; ++z) {
                    const std::vector<index_t> at = layout.position(t, c, z);
                    index_t index = 0;
                    for (std::size_t d = 0; d + 2 < at.size(); ++d)
                        index = index * layout.dims[d] + at[d];
                    series.planes.push_back(ordered[static_cast<std::size_t>(index)]);
                }
        series.metadata.type = series.page.type;
        // ImageJ has no calibration of values for other types.
        if (!is_integer(series.page.type)) series.metadata.scaling.reset();
        series.metadata.channels *= series.page.samples;
        if (series.page.samples > 1) series.metadata.axes += 'S';
        if (static_cast<index_t>(m.channel_names.size()) != m.channels)
            series.metadata.channel_names.clear();
        if (static_cast<index_t>(m.channel_colors.size()) != m.channels)
            series.metadata.channel_colors.clear();
        if (static_cast<index_t>(m.microscope.channels.size()) != m.channels)
            series.metadata.microscope.channels.clear();
    }

    void check_equal(const TiffSeries& series) const {
        for (const index_t number : series.planes) {
            const TiffPage& page = pages_[static_cast<std::size_t>(number)];
            if (page.reduced || !page.same_pixels(series.page))
                throw BadData(message(
                    "page ", number, " of ", file_.path(), " has ", page.samples, "×", page.height,
                    "×", page.width, " ", to_string(page.type), " pixels where the stack has ",
                    series.page.samples, "×", series.page.height, "×", series.page.width, " ",
                    to_string(series.page.type), "; save pages of one size and type"));
        }
    }

    TiffHandle& tiff_;
    const RawFile& file_;
    const std::vector<TiffPage>& pages_;
    std::vector<index_t> full_;
};

}  // namespace

TiffSeries find_series(TiffHandle& tiff, const RawFile& file, const std::vector<TiffPage>& pages,
                       const std::string& axes) {
    return SeriesFinder(tiff, file, pages).find(axes);
}

}  // namespace convolume::io
