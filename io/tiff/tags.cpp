// SPDX-License-Identifier: Apache-2.0
#include "io/tiff/tags.hpp"

#include <bit>
#include <cstring>

#include "io/strided.hpp"
#include "io/tiff/imagej_text.hpp"

namespace convolume::io {
namespace {

/// Numbers of a file in its own byte order.
class NumberReader {
  public:
    explicit NumberReader(const RawFile& file) : file_(file) {
        const std::string mark = file.head(4);
        swapped_ = (mark[0] == 'I') != (std::endian::native == std::endian::little);
        big_ = mark[2] == '+' || mark[3] == '+';
    }
    bool big() const { return big_; }
    index_t entry_bytes() const { return big_ ? 20 : 12; }
    /// Entries of the directory at `start`, and where the first of them is.
    index_t entry_count(index_t start) const {
        return big_ ? static_cast<index_t>(at<std::uint64_t>(start)) : at<std::uint16_t>(start);
    }
    index_t first_entry(index_t start) const { return start + (big_ ? 8 : 2); }

    template <class T>
    T at(index_t offset) const {
        T value{};
        file_.read(offset, &value, sizeof(T));
        if (swapped_) swap_bytes(&value, 1, sizeof(T));
        return value;
    }

  private:
    const RawFile& file_;
    bool swapped_ = false;
    bool big_ = false;
};

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

std::array<double, 2> read_resolution(const RawFile& file, std::uint64_t directory) {
    constexpr int rational = 5;
    const NumberReader numbers(file);
    std::array<double, 2> resolution{};
    const auto start = static_cast<index_t>(directory);
    // libtiff has read this directory before, so that its entries lie within the file.
    for (index_t i = 0; i < numbers.entry_count(start); ++i) {
        const index_t entry = numbers.first_entry(start) + i * numbers.entry_bytes();
        const int tag = numbers.at<std::uint16_t>(entry);
        if (tag > TIFFTAG_YRESOLUTION) break;
        if (tag < TIFFTAG_XRESOLUTION || numbers.at<std::uint16_t>(entry + 2) != rational) continue;
        const index_t at =
            numbers.big() ? entry + 12 : static_cast<index_t>(numbers.at<std::uint32_t>(entry + 8));
        if (at > file.size() - 8) continue;
        const double numerator = numbers.at<std::uint32_t>(at);
        const double denominator = numbers.at<std::uint32_t>(at + 4);
        if (denominator > 0)
            resolution[tag == TIFFTAG_YRESOLUTION ? 0 : 1] = numerator / denominator;
    }
    return resolution;
}

std::uint64_t next_directory(const RawFile& file, std::uint64_t directory) {
    const NumberReader numbers(file);
    const auto start = static_cast<index_t>(directory);
    const index_t end =
        numbers.first_entry(start) + numbers.entry_count(start) * numbers.entry_bytes();
    return numbers.big() ? numbers.at<std::uint64_t>(end) : numbers.at<std::uint32_t>(end);
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
