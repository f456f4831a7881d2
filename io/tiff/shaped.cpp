// SPDX-License-Identifier: Apache-2.0
// Pages described by tifffile: a JSON object with the key "shape" in the ImageDescription. One
// description covers its page and the pages after it.

#include <algorithm>
#include <nlohmann/json.hpp>

#include "io/axis_layout.hpp"
#include "io/tiff/dialects.hpp"
#include "io/units.hpp"

namespace convolume::io {
namespace {

using Json = nlohmann::json;

bool is_stack_axis(char letter) {
    return std::string_view("TCZ").find(letter) != std::string_view::npos;
}

/// Removes a page's dimensions from the end of `text.dims`. Returns false if they are not there.
bool drop_page_dimensions(ShapedDescription& text, const TiffPage& page) {
    std::vector<index_t>& dims = text.dims;
    std::vector<index_t> tail{page.height, page.width};
    if (page.samples > 1) {
        tail.insert(page.planar ? tail.begin() : tail.end(), page.samples);
    } else if (dims.size() > 2 && dims.back() == 1 && dims[dims.size() - 2] == page.width &&
               dims[dims.size() - 3] == page.height) {
        dims.pop_back();
        if (text.axes.size() > dims.size()) text.axes.pop_back();
    }
    if (dims.size() < tail.size() || !std::equal(tail.rbegin(), tail.rend(), dims.rbegin()))
        return false;
    dims.resize(dims.size() - tail.size());
    if (!text.axes.empty() && text.axes.size() != dims.size() + tail.size()) return false;
    if (!text.axes.empty() && page.samples > 1) {
        const char letter = page.planar ? text.axes[dims.size()] : text.axes.back();
        if (page.planar && is_stack_axis(letter)) text.sample_axis = letter;
    } else if (page.planar && dims.empty()) {
        // tifffile writes arrays of 3 or 4 planes as one planar page; colors are adjacent samples
        text.sample_axis = 'Z';
    }
    text.axes.resize(std::min(text.axes.size(), dims.size()));
    return true;
}

/// An image of the file: its name, the stack of its planes, and its description.
struct ShapedImage {
    std::string name;
    TiffStack stack;
    ShapedDescription text;
};

/// Finds all images. Each position along an axis that is none of T, C, Z is an image of its own.
class ShapedImageFinder {
  public:
    explicit ShapedImageFinder(TiffSource& source) : source_(source) {}

    std::vector<ShapedImage> find() {
        const auto pages = static_cast<index_t>(source_.full_pages.size());
        for (index_t first = 0; first < pages;) {
            const index_t number = source_.full_pages[static_cast<std::size_t>(first)];
            const TiffPage& page = source_.pages[static_cast<std::size_t>(number)];
            if (first > 0) source_.tiff.go_to(page.directory);
            const auto text = parse_shaped(source_.tiff.text(TIFFTAG_IMAGEDESCRIPTION), page);
            if (!text && first == 0) return {};
            descriptions_ += text ? 1 : 0;
            first += text ? add(*text, first, pages - first) : 1;
        }
        source_.tiff.go_to(source_.pages.front().directory);
        return std::move(images_);
    }

    /// Returns the number of descriptions that were found.
    index_t descriptions() const { return descriptions_; }

  private:
    /// Adds the images of the description at page `first`. Returns the number of their pages.
    index_t add(ShapedDescription text, index_t first, index_t pages_left) {
        name_axes(text);
        TiffStack all_images;
        all_images.axes = text.axes;
        all_images.dims = text.dims;
        const index_t planes = all_images.planes();
        const bool is_unnamed = text.axes.find('?') != std::string::npos;
        index_t outer = 1;  // number of images: product of leading extents that are none of T, C, Z
        std::string outer_axes;
        while (!text.axes.empty() && !is_stack_axis(text.axes.front())) {
            outer_axes += text.axes.front();
            outer = checked_multiply(outer, text.dims.front());
            text.axes.erase(0, 1);
            text.dims.erase(text.dims.begin());
        }
        TiffStack stack;
        stack.axes = text.axes;
        stack.dims = text.dims;
        stack.sample_axis = text.sample_axis;
        stack.behind_first_page = planes > pages_left && source_.full_pages.size() == 1;
        // planes after the pixels of a single page, or a truncated file
        const bool exceeds_pages = planes > pages_left;
        if (is_unnamed || exceeds_pages || !is_usable(text)) {
            if (is_unnamed || !is_usable(text) || outer > 1)
                stack.ambiguity =
                    message("has the axes \"", all_images.axes, "YX\" of shape ",
                            dims_text(all_images.dims), " before y and x, in tifffile's words");
            stack.axes = all_images.axes;
            stack.dims = all_images.dims;
            outer = 1;
        }
        const index_t planes_each = planes / outer;
        for (index_t i = 0; i < std::min(outer, pages_left); ++i) {
            stack.first_page = first + i * planes_each;
            images_.push_back(
                {outer > 1 ? message(outer_axes, " ", i) : std::string(), stack, text});
        }
        return std::min(planes, pages_left);
    }

    /// Drops axes of extent 1, and assumes names for axes if the text has none.
    static void name_axes(ShapedDescription& text) {
        const bool named = !text.axes.empty();
        for (std::size_t d = text.dims.size(); d-- > 0;)
            if (text.dims[d] == 1 && (!named || !is_stack_axis(text.axes[d]))) {
                text.dims.erase(text.dims.begin() + static_cast<std::ptrdiff_t>(d));
                if (named) text.axes.erase(d, 1);
            }
        // tifffile's I and Q are unknown sequences. If it is the only axis, it must be the planes.
        const bool sequence = text.axes == "I" || text.axes == "Q";
        if ((named && !sequence) || text.dims.empty()) return;
        constexpr std::string_view usual = "TCZ";
        if (text.dims.size() <= usual.size())
            text.axes = usual.substr(usual.size() - text.dims.size());
        else
            text.axes.assign(text.dims.size(), '?');
        text.has_assumed_axes = true;
    }

    /// Tells whether the axes are different letters of T, C, Z.
    static bool is_usable(const ShapedDescription& text) {
        for (std::size_t d = 0; d < text.axes.size(); ++d)
            if (!is_stack_axis(text.axes[d]) ||
                text.axes.find(text.axes[d], d + 1) != std::string::npos ||
                (text.axes[d] == text.sample_axis && text.sample_axis != 'S'))
                return false;
        return true;
    }

    TiffSource& source_;
    std::vector<ShapedImage> images_;
    index_t descriptions_ = 0;
};

/// Sets unit and voxel sizes.
void set_calibration(const ShapedDescription& text, const std::array<double, 2>& pixels_per_unit,
                     ImageMetadata& metadata) {
    const auto micrometers = micrometers_per(text.unit);
    if (!micrometers) return;
    metadata.unit = text.unit;
    if (text.spacing && *text.spacing != 0)
        metadata.voxel_size_um[0] = std::abs(*text.spacing) * *micrometers;
    for (std::size_t axis = 1; axis < 3; ++axis)
        if (pixels_per_unit[axis - 1] > 0)
            metadata.voxel_size_um[axis] = *micrometers / pixels_per_unit[axis - 1];
}

}  // namespace

std::optional<ShapedDescription> parse_shaped(const std::string& description,
                                              const TiffPage& page) {
    if (description.empty() || description[0] != '{') return std::nullopt;
    const Json json = Json::parse(description, nullptr, false);
    if (!json.is_object() || !json.contains("shape") || !json["shape"].is_array() ||
        json["shape"].size() > most_dimensions)
        return std::nullopt;
    ShapedDescription text;
    index_t product = 1;
    for (const Json& extent : json["shape"]) {
        if (!extent.is_number_integer() || extent.get<index_t>() < 1 ||
            product > INT64_MAX / extent.get<index_t>())
            return std::nullopt;
        product *= extent.get<index_t>();
        text.dims.push_back(extent.get<index_t>());
    }
    if (json.contains("axes") && json["axes"].is_string())
        text.axes = json["axes"].get<std::string>();
    if (text.axes.size() != text.dims.size()) text.axes.clear();
    text.has_axes = !text.axes.empty();
    if (json.contains("unit") && json["unit"].is_string())
        text.unit = utf8_from_imagej(json["unit"].get<std::string>());
    if (json.contains("spacing") && json["spacing"].is_number())
        text.spacing = json["spacing"].get<double>();
    if (!drop_page_dimensions(text, page)) return std::nullopt;
    return text;
}

std::optional<TiffStack> read_shaped(TiffSource& source, ImageMetadata& metadata) {
    ShapedImageFinder finder(source);
    std::vector<ShapedImage> images = finder.find();
    if (images.empty()) return std::nullopt;
    metadata.format = "TIFF";
    // Pages that were appended one by one, each with a description of its own, are a plain stack.
    const bool are_single = std::all_of(images.begin(), images.end(), [](const ShapedImage& image) {
        return image.stack.planes() == 1 && image.stack.ambiguity.empty();
    });
    if (are_single && finder.descriptions() > 1 && images.size() == source.full_pages.size() &&
        finder.descriptions() == static_cast<index_t>(images.size())) {
        TiffStack stack = read_plain(source, metadata);
        metadata.text.erase("ImageDescription");
        return stack;
    }
    std::vector<std::string> names;
    for (const ShapedImage& image : images) names.push_back(image.name);
    const index_t chosen = choose_image(names, source.options, 0, source.file.path(), metadata);
    ShapedImage& image = images[static_cast<std::size_t>(chosen)];
    read_plain_calibration(source, metadata);
    set_calibration(image.text, source.pixels_per_unit, metadata);
    image.stack.has_other_pages = images.size() > 1;
    const auto first = static_cast<std::size_t>(image.stack.first_page);
    const TiffPage& page = source.pages[static_cast<std::size_t>(source.full_pages[first])];
    const bool has_axes_option = !source.options.axes.empty();
    if (page.planar && !image.text.has_axes && !has_axes_option)
        metadata.notes.push_back(
            image.text.sample_axis == 'Z'
                ? message("the file does not say whether its ", page.samples,
                          " planes are colors; they are read along z, --axes CYX reads channels")
                : message("the ", page.samples, " samples of a page are read as colors"));
    if (image.text.has_assumed_axes && !has_axes_option && image.stack.ambiguity.empty())
        metadata.notes.push_back(message("the file does not name its axes; ", image.stack.axes,
                                         "YX are assumed, --axes gives others"));
    return std::move(image.stack);
}

}  // namespace convolume::io
