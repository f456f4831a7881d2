// SPDX-License-Identifier: Apache-2.0
// MetaMorph's stacks (STK): one directory, with all planes after the pixels of its page. Tag 33629
// (UIC2) has a row for each plane; tag 33628 (UIC1) has keys, each with a value or its offset.

#include <algorithm>
#include <cmath>

#include "convolume/error.hpp"
#include "io/tiff/dialects.hpp"
#include "io/units.hpp"

namespace convolume::io {
namespace {

constexpr int tag_uic1 = 33628;
constexpr int tag_uic2 = 33629;
constexpr int tag_uic3 = 33630;

/// Returns the spacing of planes from their distances in UIC2. These are distances from the first
/// plane, or of neighbors. Returns 0 if they are uneven.
double plane_spacing(const std::vector<double>& distances) {
    const auto near = [](double a, double b) { return std::abs(a - b) <= 1e-6 * std::abs(b); };
    if (distances.size() < 2) return 0;
    const double first = distances[0];
    const double step = distances[1] - first;
    bool equal = first > 0;
    bool even = step != 0;
    for (std::size_t i = 1; i < distances.size(); ++i) {
        equal = equal && near(distances[i], first);
        even = even && near(distances[i] - distances[i - 1], step);
    }
    return equal ? first : even ? std::abs(step) : 0;
}

void read_calibration(const TiffNumbers& numbers, const TiffEntry& uic1, ImageMetadata& metadata) {
    constexpr index_t pair_bytes = 8;
    constexpr std::uint32_t x_calibration = 4;
    constexpr std::uint32_t y_calibration = 5;
    constexpr std::uint32_t calibration_units = 6;
    double size[2] = {0, 0};  // size of a pixel along y, x
    std::string unit;
    const index_t pairs = (numbers.file().size() - uic1.offset) / pair_bytes;
    for (index_t i = 0; i < std::min(uic1.count, pairs); ++i) {
        const auto key = numbers.at<std::uint32_t>(uic1.offset + i * pair_bytes);
        const index_t value_offset = numbers.at<std::uint32_t>(uic1.offset + i * pair_bytes + 4);
        if ((key != x_calibration && key != y_calibration && key != calibration_units) ||
            value_offset > numbers.file().size() - pair_bytes)
            continue;
        if (key == calibration_units) {
            constexpr index_t longest = 100;
            const index_t length =
                std::min<index_t>({numbers.at<std::uint32_t>(value_offset), longest,
                                   numbers.file().size() - value_offset - 4});
            unit.resize(static_cast<std::size_t>(length));
            numbers.file().read(value_offset + 4, unit.data(), length);
            unit = unit.substr(0, unit.find('\0'));
        } else {
            size[key == x_calibration ? 1 : 0] = numbers.rational_at(value_offset);
        }
    }
    const auto micrometers = micrometers_per(utf8_text(unit));
    if (!micrometers) return;
    metadata.unit = utf8_text(unit);
    for (std::size_t i = 0; i < 2; ++i)
        if (size[i] > 0) metadata.voxel_size_um[i + 1] = size[i] * *micrometers;
}

/// Returns the axis of the planes: Z if they have distances, T if only their times differ, '?' if
/// neither. Sets the voxel size along z.
char plane_axis(const TiffNumbers& numbers, const TiffEntry& uic2, ImageMetadata& metadata) {
    // A row has a distance (8 bytes), date and time of creation, date and time of the last change.
    constexpr index_t row_bytes = 24;
    if (uic2.count > (numbers.file().size() - uic2.offset) / row_bytes) return '?';
    std::vector<double> distances;
    bool has_distances = false;
    bool has_times = false;
    for (index_t i = 0; i < uic2.count; ++i) {
        const index_t row = uic2.offset + i * row_bytes;
        distances.push_back(numbers.rational_at(row));
        has_distances = has_distances || distances.back() != 0;
        for (const index_t field : {index_t{8}, index_t{12}})  // date, time of day
            has_times = has_times || numbers.at<std::uint32_t>(row + field) !=
                                         numbers.at<std::uint32_t>(uic2.offset + field);
    }
    if (!has_distances) return has_times ? 'T' : '?';
    if (const double spacing = plane_spacing(distances); spacing > 0)
        metadata.voxel_size_um[0] = spacing;
    return 'Z';
}

/// Tells whether planes are channels: they have several wavelengths, in an order that is unknown.
bool has_several_wavelengths(const TiffNumbers& numbers, const std::optional<TiffEntry>& uic3) {
    if (!uic3 || uic3->count > (numbers.file().size() - uic3->offset) / 8) return false;
    for (index_t i = 1; i < uic3->count; ++i)
        if (numbers.rational_at(uic3->offset + 8 * i) != numbers.rational_at(uic3->offset))
            return true;
    return false;
}

}  // namespace

std::optional<TiffStack> read_metamorph(TiffSource& source, ImageMetadata& metadata) {
    const TiffNumbers numbers(source.file);
    const std::uint64_t directory = source.first_page().directory;
    const auto uic2 = numbers.find(directory, tag_uic2);
    if (!uic2) return std::nullopt;
    metadata.format = "MetaMorph STK";
    TiffStack stack;
    if (source.full_pages.size() > 1) {
        stack.ambiguity = message("is a MetaMorph stack of ", uic2->count, " planes in ",
                                  source.full_pages.size(), " pages");
        return stack;
    }
    if (const auto uic1 = numbers.find(directory, tag_uic1);
        uic1 && uic1->offset < source.file.size())
        read_calibration(numbers, *uic1, metadata);
    char axis = uic2->count > 1 ? plane_axis(numbers, *uic2, metadata) : 'Z';
    const bool has_channels = has_several_wavelengths(numbers, numbers.find(directory, tag_uic3));
    if (has_channels && source.options.axes.empty())
        throw BadData(message(source.file.path(), " is a MetaMorph stack of ", uic2->count,
                              " planes with several wavelengths, and does not say their order; "
                              "give the meaning of the planes, such as --axes ZYX or --axes CYX"));
    if (axis == '?') {
        axis = 'Z';
        if (source.options.axes.empty())
            metadata.notes.push_back(message(
                "the file does not say what its ", uic2->count,
                " planes are; they are read along z (--axes ZYX confirms this, --axes TYX reads "
                "times)"));
    }
    stack.axes = axis;
    stack.dims = {std::max<index_t>(uic2->count, 1)};
    stack.behind_first_page = uic2->count > 1;
    return stack;
}

}  // namespace convolume::io
