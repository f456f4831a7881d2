// SPDX-License-Identifier: Apache-2.0
#include "io/tiff/tags.hpp"

#include <algorithm>
#include <bit>

#include "io/tiff/imagej_text.hpp"

namespace convolume::io {
namespace {

/// Bytes of one value of a TIFF type; 0 for types that TIFF does not have.
index_t value_bytes(int type) {
    constexpr std::array<index_t, 19> bytes{0, 1, 1, 2, 4, 8, 1, 1, 2, 4,
                                            8, 4, 8, 4, 0, 0, 8, 8, 8};
    return type > 0 && type < static_cast<int>(bytes.size()) ? bytes[static_cast<std::size_t>(type)]
                                                             : 0;
}

/// Values of an unregistered tag, copied when it has the type asked for.
template <class T>
std::vector<T> anonymous_tag(const TiffHandle& tiff, std::uint32_t tag, TIFFDataType type) {
    const TIFFField* field = TIFFFindField(tiff, tag, TIFF_ANY);
    if (field == nullptr || TIFFFieldDataType(field) != type || !TIFFFieldPassCount(field) ||
        TIFFFieldReadCount(field) != TIFF_VARIABLE2)
        return {};
    std::uint32_t count = 0;
    const T* values = nullptr;
    if (TIFFGetField(tiff, tag, &count, &values) != 1 || values == nullptr) return {};
    return {values, values + count};
}

}  // namespace

TiffNumbers::TiffNumbers(const RawFile& file) : file_(file) {
    const std::string mark = file.head(4);
    swapped_ = (mark[0] == 'I') != (std::endian::native == std::endian::little);
    big_ = mark[2] == '+' || mark[3] == '+';
}

index_t TiffNumbers::entry_count(index_t start) const {
    return big_ ? static_cast<index_t>(at<std::uint64_t>(start)) : at<std::uint16_t>(start);
}

std::optional<TiffEntry> TiffNumbers::find(std::uint64_t directory, int tag) const {
    const auto start = static_cast<index_t>(directory);
    // libtiff has read this directory before, so that its entries lie within the file.
    for (index_t i = 0; i < entry_count(start); ++i) {
        const index_t place = first_entry(start) + i * entry_bytes();
        if (at<std::uint16_t>(place) != tag) continue;
        TiffEntry entry;
        entry.type = at<std::uint16_t>(place + 2);
        const std::uint64_t count =
            big_ ? at<std::uint64_t>(place + 4) : at<std::uint32_t>(place + 4);
        constexpr std::uint64_t largest_count = INT64_MAX / 16;  // bytes stay within 64 bits
        entry.count = static_cast<index_t>(std::min(count, largest_count));
        const index_t inside = place + (big_ ? 12 : 8);
        const index_t bytes = value_bytes(entry.type) * entry.count;
        entry.offset = bytes <= (big_ ? 8 : 4) ? inside
                       : big_                  ? static_cast<index_t>(
                                    std::min<std::uint64_t>(at<std::uint64_t>(inside), INT64_MAX))
                              : static_cast<index_t>(at<std::uint32_t>(inside));
        return entry;
    }
    return std::nullopt;
}

std::uint64_t TiffNumbers::next_directory(std::uint64_t directory) const {
    const auto start = static_cast<index_t>(directory);
    const index_t end = first_entry(start) + entry_count(start) * entry_bytes();
    return big_ ? at<std::uint64_t>(end) : at<std::uint32_t>(end);
}

std::array<double, 2> read_resolution(const TiffNumbers& numbers, std::uint64_t directory) {
    constexpr int rational = 5;
    std::array<double, 2> resolution{};
    for (const int tag : {TIFFTAG_YRESOLUTION, TIFFTAG_XRESOLUTION}) {
        const auto entry = numbers.find(directory, tag);
        if (!entry || entry->type != rational || entry->offset > numbers.file().size() - 8)
            continue;
        const double numerator = numbers.at<std::uint32_t>(entry->offset);
        const double denominator = numbers.at<std::uint32_t>(entry->offset + 4);
        if (denominator > 0)
            resolution[tag == TIFFTAG_YRESOLUTION ? 0 : 1] = numerator / denominator;
    }
    return resolution;
}

void read_imagej_tags(const TiffHandle& tiff, ImageMetadata& metadata) {
    metadata.imagej_metadata_counts =
        anonymous_tag<std::uint32_t>(tiff, tag_imagej_counts, TIFF_LONG);
    metadata.imagej_metadata = anonymous_tag<std::uint8_t>(tiff, tag_imagej_metadata, TIFF_BYTE);
    std::uint64_t total = 0;
    for (const std::uint32_t count : metadata.imagej_metadata_counts) total += count;
    if (total == metadata.imagej_metadata.size() && TIFFIsByteSwapped(tiff))
        swap_imagej_metadata(metadata.imagej_metadata, metadata.imagej_metadata_counts);
    if (total == 0 || total != metadata.imagej_metadata.size()) {
        metadata.imagej_metadata.clear();
        metadata.imagej_metadata_counts.clear();
    }
    for (const std::uint32_t color : imagej_colors(metadata))
        metadata.channel_colors.emplace_back(color);
}

}  // namespace convolume::io
