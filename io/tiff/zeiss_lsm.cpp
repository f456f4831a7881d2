// SPDX-License-Identifier: Apache-2.0
// Zeiss LSM: tag 34412 has a table of sizes and scales. The samples of a page are the channels of
// one plane. Planes vary fastest, then times, then positions. Every second page is a thumbnail.

#include <algorithm>
#include <cmath>

#include "convolume/error.hpp"
#include "io/tiff/dialects.hpp"
#include "io/units.hpp"

namespace convolume::io {
namespace {

constexpr int tag_lsm = 34412;
constexpr double um_per_m = 1e6;
constexpr index_t largest_size = index_t{1} << 32;

/// The table of tag 34412, whose numbers are read by their offset.
class LsmTable {
  public:
    LsmTable(const TiffNumbers& numbers, const TiffEntry& entry)
        : numbers_(numbers), entry_(entry) {}

    /// Returns the number at `offset`, 0 beyond the end: older files have shorter tables.
    template <class T>
    T at(index_t offset) const {
        if (offset + index_t{sizeof(T)} > entry_.count) return T{};
        return numbers_.at<T>(entry_.offset + offset);
    }
    index_t size(index_t offset) const { return std::max<index_t>(at<std::int32_t>(offset), 1); }

  private:
    const TiffNumbers& numbers_;
    const TiffEntry& entry_;
};

// Offsets of numbers in the table.
constexpr index_t at_planes = 16;
constexpr index_t at_channels = 20;
constexpr index_t at_times = 24;
constexpr index_t at_voxel_x = 40;  // voxel size along x, followed by those along y and z
constexpr index_t at_scan_type = 88;
constexpr index_t at_channel_colors = 108;
constexpr index_t at_time_interval = 112;
constexpr index_t at_positions = 264;
constexpr index_t at_mosaic = 268;

/// Reads the colors and names of channels. Each name is a length and a text that ends with 0.
void read_channels(const TiffNumbers& numbers, index_t table, index_t channels,
                   ImageMetadata& metadata) {
    const RawFile& file = numbers.file();
    constexpr index_t header_bytes = 24;
    if (table <= 0 || table > file.size() - header_bytes) return;
    const index_t table_bytes = numbers.at<std::int32_t>(table);
    const index_t names = numbers.at<std::int32_t>(table + 8);
    const index_t colors_at = table + numbers.at<std::int32_t>(table + 12);
    index_t at = table + numbers.at<std::int32_t>(table + 16);
    const index_t end = std::min(table + table_bytes, file.size());
    if (numbers.at<std::int32_t>(table + 4) == channels && colors_at > table &&
        colors_at + 4 * channels <= end)
        for (index_t c = 0; c < channels; ++c) {
            // red is the lowest byte
            const auto color = numbers.at<std::uint32_t>(colors_at + 4 * c);
            metadata.channel_colors.push_back((color & 0xFF) << 16 | (color & 0xFF00) |
                                              (color >> 16 & 0xFF));
        }
    if (names != channels || at <= table) return;
    for (index_t c = 0; c < channels && at + 4 <= end; ++c) {
        const index_t length = numbers.at<std::int32_t>(at);
        if (length < 0 || length > end - at - 4) return metadata.channel_names.clear();
        std::string name(static_cast<std::size_t>(length), '\0');
        file.read(at + 4, name.data(), length);
        metadata.channel_names.push_back(utf8_text(name.substr(0, name.find('\0'))));
        at += 4 + length;
    }
}

}  // namespace

std::optional<TiffStack> read_zeiss_lsm(TiffSource& source, ImageMetadata& metadata) {
    const TiffNumbers numbers(source.file);
    const auto entry = numbers.find(source.first_page().directory, tag_lsm);
    if (!entry) return std::nullopt;
    metadata.format = "Zeiss LSM";
    if (source.file.size() > largest_size)
        throw BadData(message(source.file.path(), " is a Zeiss LSM file of more than 4 GiB, whose ",
                              "offsets of 32 bits do not reach its end; convert it to OME-TIFF, "
                              "for example with bfconvert"));
    const LsmTable table(numbers, *entry);
    const index_t planes = table.size(at_planes);
    const index_t times = table.size(at_times);
    const index_t positions = checked_multiply(table.size(at_positions), table.size(at_mosaic));
    const index_t channels = table.size(at_channels);
    constexpr index_t axes[] = {2, 1, 0};  // our axes for the table's x, y, z
    for (int i = 0; i < 3; ++i) {
        const double size_um = table.at<double>(at_voxel_x + 8 * i) * um_per_m;
        if (size_um > 0 && std::isfinite(size_um))
            metadata.voxel_size_um[static_cast<std::size_t>(axes[i])] = size_um;
    }
    metadata.unit = "um";
    if (const double seconds = table.at<double>(at_time_interval);
        times > 1 && seconds > 0 && std::isfinite(seconds))
        metadata.frame_interval_s = seconds;
    read_channels(numbers, table.at<std::uint32_t>(at_channel_colors), channels, metadata);

    TiffStack stack;
    const auto scan_type = table.at<std::uint16_t>(at_scan_type);
    // Scans of lines, points and sections along z do not have planes of y and x.
    const bool has_planes = scan_type == 0 || scan_type == 3 || scan_type == 6 || scan_type == 5;
    const auto pages = static_cast<index_t>(source.full_pages.size());
    const bool fits = checked_multiply(checked_multiply(planes, times), positions) == pages;
    if (!has_planes || !fits || source.first_page().samples != channels) {
        stack.ambiguity =
            message("is a Zeiss LSM file of scan type ", scan_type, " with ", planes, " planes, ",
                    times, " times, ", positions, " positions and ", channels, " channels in ",
                    pages, " pages of ", source.first_page().samples, " samples");
        return stack;
    }
    stack.axes = "TZ";
    stack.dims = {times, planes};
    if (positions > 1) {
        std::vector<std::string> names;
        for (index_t p = 0; p < positions; ++p) names.push_back(message("position ", p));
        stack.first_page =
            times * planes * choose_image(names, source.options, 0, source.file.path(), metadata);
        stack.has_other_pages = true;
    }
    return stack;
}

}  // namespace convolume::io
