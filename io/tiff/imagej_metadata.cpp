// SPDX-License-Identifier: Apache-2.0
// ImageJ's tag 50839 has a header of 4-byte words: "IJIJ", then a kind and a count for each kind of
// item. The items follow. Tag 50838 has the bytes of the header and of each item.

#include <algorithm>
#include <cstring>
#include <limits>
#include <string_view>
#include <utility>

#include "io/ome/document.hpp"
#include "io/samples.hpp"
#include "io/tiff/imagej.hpp"
#include "io/units.hpp"

namespace convolume::io {
namespace {

constexpr std::uint32_t word(std::string_view name) {
    std::uint32_t value = 0;
    for (const char letter : name) value = value << 8 | static_cast<std::uint8_t>(letter);
    return value;
}
constexpr std::uint32_t magic = word("IJIJ");
constexpr std::uint32_t kind_notes = word("info");
constexpr std::uint32_t kind_labels = word("labl");
constexpr std::uint32_t kind_properties = word("prop");
constexpr std::uint32_t kind_ranges = word("rang");
constexpr std::uint32_t kind_tables = word("luts");
constexpr std::uint32_t kind_region = word("roi ");
constexpr std::uint32_t kind_overlay = word("over");
constexpr std::size_t lookup_table_bytes = 768;  // 256 red, then 256 green, then 256 blue

using Bytes = std::vector<std::uint8_t>;
/// An item of tag 50839: a label, a lookup table, the display ranges, …
struct MetadataItem {
    std::uint32_t kind;
    Bytes bytes;
};

/// Returns the bytes of a number in items of `kind`: 2 in UTF-16 texts, 8 in display ranges, else
/// 1.
std::size_t number_bytes(std::uint32_t kind) {
    if (kind == kind_notes || kind == kind_labels || kind == kind_properties) return 2;
    return kind == kind_ranges ? 8 : 1;
}

bool is_consistent(const Bytes& data, const std::vector<std::uint32_t>& counts) {
    std::size_t total = 0;
    for (const std::uint32_t count : counts) total += count;
    return !counts.empty() && total == data.size() && counts[0] >= 4 && counts[0] % 8 == 4;
}

/// Calls f(kind, first byte, bytes) for each item after a header in this machine's byte order.
template <class F>
void for_each_item(const Bytes& data, const std::vector<std::uint32_t>& counts, F&& f) {
    std::size_t item = 1;
    std::size_t at = counts[0];
    for (std::size_t entry = 4; entry < counts[0]; entry += 8) {
        std::uint32_t kind = 0;
        std::uint32_t items = 0;
        std::memcpy(&kind, data.data() + entry, 4);
        std::memcpy(&items, data.data() + entry + 4, 4);
        for (; items > 0 && item < counts.size(); --items, ++item) {
            f(kind, at, counts[item]);
            at += counts[item];
        }
    }
}

/// Returns the items of an image; none if its tags contradict each other.
std::vector<MetadataItem> items_of(const ImageMetadata& metadata) {
    std::vector<MetadataItem> items;
    const Bytes& data = metadata.imagej_metadata;
    if (!is_consistent(data, metadata.imagej_metadata_counts)) return items;
    for_each_item(data, metadata.imagej_metadata_counts,
                  [&](std::uint32_t kind, std::size_t at, std::uint32_t bytes) {
                      const auto first = data.begin() + static_cast<std::ptrdiff_t>(at);
                      items.push_back({kind, {first, first + bytes}});
                  });
    return items;
}

/// Sets both tags from `items`. Items of the same kind become adjacent.
void set_items(ImageMetadata& metadata, const std::vector<MetadataItem>& items) {
    metadata.imagej_metadata.clear();
    metadata.imagej_metadata_counts.clear();
    if (items.empty()) return;
    std::vector<std::uint32_t> header{magic};
    std::vector<std::uint32_t> kinds;
    for (const MetadataItem& item : items)
        if (std::find(kinds.begin(), kinds.end(), item.kind) == kinds.end())
            kinds.push_back(item.kind);
    Bytes contents;
    metadata.imagej_metadata_counts.push_back(0);
    for (const std::uint32_t kind : kinds) {
        header.insert(header.end(), {kind, 0});
        for (const MetadataItem& item : items) {
            if (item.kind != kind) continue;
            ++header.back();
            contents.insert(contents.end(), item.bytes.begin(), item.bytes.end());
            metadata.imagej_metadata_counts.push_back(
                static_cast<std::uint32_t>(item.bytes.size()));
        }
    }
    const std::size_t header_bytes = header.size() * sizeof header[0];
    metadata.imagej_metadata_counts[0] = static_cast<std::uint32_t>(header_bytes);
    metadata.imagej_metadata.resize(header_bytes);
    std::memcpy(metadata.imagej_metadata.data(), header.data(), header_bytes);
    metadata.imagej_metadata.insert(metadata.imagej_metadata.end(), contents.begin(),
                                    contents.end());
}

bool has_kind(const std::vector<MetadataItem>& items, std::uint32_t kind) {
    return std::any_of(items.begin(), items.end(),
                       [&](const MetadataItem& item) { return item.kind == kind; });
}

/// Returns a lookup table from black to `color`.
Bytes table_of(std::uint32_t color) {
    Bytes table;
    for (const int shift : {16, 8, 0})
        for (std::uint32_t i = 0; i < 256; ++i)
            table.push_back(static_cast<std::uint8_t>(((color >> shift & 255) * i + 127) / 255));
    return table;
}

/// Adds a lookup table for each channel, if there is none and two or more channels have colors.
void add_tables(const ImageMetadata& metadata, std::vector<MetadataItem>& items) {
    constexpr std::uint32_t white = 0xffffff;
    const auto& colors = metadata.channel_colors;
    if (has_kind(items, kind_tables) || metadata.channels < 2 ||
        static_cast<index_t>(colors.size()) != metadata.channels ||
        std::all_of(colors.begin(), colors.end(),
                    [&](const auto& color) { return color.value_or(white) == white; }))
        return;
    for (const auto& color : colors)
        items.push_back({kind_tables, table_of(color.value_or(white))});
}

MetadataItem label_item(const std::string& label) {
    const std::u16string text = utf16_from_utf8(label);
    Bytes bytes(text.size() * sizeof(char16_t));
    std::memcpy(bytes.data(), text.data(), bytes.size());
    return {kind_labels, std::move(bytes)};
}

/// Adds the name of its channel to each plane as a label, if there are no labels.
void add_labels(const ImageMetadata& metadata, std::vector<MetadataItem>& items) {
    if (has_kind(items, kind_labels) || metadata.channel_names.empty()) return;
    for (index_t plane = 0; plane < metadata.frames * metadata.shape.z; ++plane)
        for (const std::string& name : metadata.channel_names) items.push_back(label_item(name));
}

std::vector<std::string> labels_of(const ImageMetadata& metadata) {
    std::vector<std::string> texts;
    for (const MetadataItem& item : items_of(metadata)) {
        if (item.kind != kind_labels) continue;
        std::u16string text(item.bytes.size() / sizeof(char16_t), u'\0');
        std::memcpy(text.data(), item.bytes.data(), text.size() * sizeof(char16_t));
        texts.push_back(utf8_from_utf16(text));
    }
    return texts;
}

constexpr DisplayRange no_values{std::numeric_limits<double>::infinity(),
                                 -std::numeric_limits<double>::infinity()};

template <class T>
/// Extends the range [least, most] by the finite samples of a row.
void extend_range(const T* row, index_t count, index_t stride, T& least, T& most) {
    T low = least;
    T high = most;
    constexpr T largest = std::numeric_limits<T>::max();
    if (stride == 1) {
#pragma omp simd reduction(min : low) reduction(max : high)
        for (index_t x = 0; x < count; ++x) {
            const T value = row[x];
            // Comparisons with NaN are false.
            const bool is_finite = value >= std::numeric_limits<T>::lowest() && value <= largest;
            low = is_finite && value < low ? value : low;
            high = is_finite && value > high ? value : high;
        }
    } else {
        for (index_t x = 0; x < count; ++x) {
            const T value = row[x * stride];
            if (!(value >= std::numeric_limits<T>::lowest() && value <= largest)) continue;
            low = std::min(low, value);
            high = std::max(high, value);
        }
    }
    least = low;
    most = high;
}

template <class T>
DisplayRange range_of(const ConstImageView& samples) {
    T least = std::numeric_limits<T>::max();
    T most = std::numeric_limits<T>::lowest();
    for (index_t z = 0; z < samples.shape.z; ++z)
        for (index_t y = 0; y < samples.shape.y; ++y)
            extend_range(static_cast<const T*>(samples.at(z, y, 0)), samples.shape.x,
                         samples.strides.x, least, most);
    if (least > most) return no_values;
    return {static_cast<double>(least), static_cast<double>(most)};
}

}  // namespace

void swap_imagej_metadata(std::vector<std::uint8_t>& data,
                          const std::vector<std::uint32_t>& counts) {
    if (!is_consistent(data, counts)) {
        data.clear();
        return;
    }
    swap_bytes(data.data(), counts[0] / 4, 4);
    for_each_item(data, counts, [&](std::uint32_t kind, std::size_t at, std::uint32_t bytes) {
        const std::size_t bytes_each = number_bytes(kind);
        swap_bytes(data.data() + at, static_cast<index_t>(bytes / bytes_each), bytes_each);
    });
}

std::vector<std::uint32_t> imagej_colors(const ImageMetadata& metadata) {
    std::vector<std::uint32_t> colors;
    for (const MetadataItem& item : items_of(metadata))
        if (item.kind == kind_tables && item.bytes.size() == lookup_table_bytes)
            colors.push_back(std::uint32_t{item.bytes[255]} << 16 |
                             std::uint32_t{item.bytes[511]} << 8 | item.bytes[767]);
    return colors;
}

void read_imagej_channel_names(const TiffStack& stack, ImageMetadata& metadata) {
    const std::vector<std::string> texts = labels_of(metadata);
    const index_t planes = stack.planes();
    if (planes < 2 || static_cast<index_t>(texts.size()) != planes) return;
    index_t planes_each = 1;  // consecutive planes of the same channel
    index_t channels = 1;
    for (std::size_t d = stack.dims.size(); d-- > 0 && stack.axes[d] != 'C';)
        planes_each *= stack.dims[d];
    if (const auto c = stack.axes.find('C'); c != std::string::npos) channels = stack.dims[c];
    std::vector<std::string> names(static_cast<std::size_t>(channels));
    for (index_t plane = 0; plane < planes; ++plane) {
        const std::string& text = texts[static_cast<std::size_t>(plane)];
        std::string& name = names[static_cast<std::size_t>(plane / planes_each % channels)];
        if (name.empty()) name = text;
        // Labels that differ within a channel are names of planes, not of the channel.
        if (text.empty() || text != name) return;
    }
    const bool are_equal = std::all_of(names.begin(), names.end(),
                                       [&](const std::string& name) { return name == names[0]; });
    if (channels == 1 || !are_equal) metadata.channel_names = std::move(names);
}

void complete_imagej_metadata(ImageMetadata& metadata) {
    std::vector<MetadataItem> items = items_of(metadata);
    add_labels(metadata, items);
    add_tables(metadata, items);
    std::erase_if(items, [](const MetadataItem& item) { return item.kind == kind_ranges; });
    if (metadata.channels > 1)
        items.push_back({kind_ranges, Bytes(static_cast<std::size_t>(metadata.channels) * 16)});
    set_items(metadata, items);
}

void set_imagej_ranges(ImageMetadata& metadata, const std::vector<DisplayRange>& ranges) {
    std::vector<MetadataItem> items = items_of(metadata);
    for (MetadataItem& item : items) {
        if (item.kind != kind_ranges || item.bytes.size() != ranges.size() * 16) continue;
        std::uint8_t* to = item.bytes.data();
        for (const DisplayRange& range : ranges) {
            const double ends[2] = {range.least, range.most};
            std::memcpy(to, ends, sizeof ends);
            to += sizeof ends;
        }
    }
    set_items(metadata, items);
}

void keep_lookup_tables(ImageMetadata& metadata, const std::vector<index_t>& channels) {
    std::vector<MetadataItem> tables;
    for (MetadataItem& item : items_of(metadata))
        if (item.kind == kind_tables && item.bytes.size() == lookup_table_bytes)
            tables.push_back(std::move(item));
    std::vector<MetadataItem> kept;
    for (const index_t c : channels)
        if (c < static_cast<index_t>(tables.size()))
            kept.push_back(tables[static_cast<std::size_t>(c)]);
    if (kept.size() != channels.size()) kept.clear();
    set_items(metadata, kept);
}

void move_planes(ImageMetadata& metadata, const Shape3& shape, const Index3& first) {
    const auto old_z = std::exchange(metadata.shape, shape).z;
    move_ome_planes(metadata, first.z);
    std::vector<MetadataItem> items = items_of(metadata);
    std::vector<MetadataItem> labels;
    for (const MetadataItem& item : items)
        if (item.kind == kind_labels) labels.push_back(item);
    std::erase_if(items, [&](const MetadataItem& item) {
        const bool is_region = item.kind == kind_region || item.kind == kind_overlay;
        return item.kind == kind_labels || (is_region && first != Index3{});
    });
    const auto planes = static_cast<index_t>(labels.size());
    if (planes == metadata.frames * old_z * metadata.channels)
        for (index_t plane = 0; plane < metadata.frames * shape.z * metadata.channels; ++plane) {
            const index_t c = plane % metadata.channels;
            const index_t t = plane / metadata.channels / shape.z;
            const index_t z = plane / metadata.channels % shape.z + first.z;
            const auto at = static_cast<std::size_t>((t * old_z + z) * metadata.channels + c);
            const auto channel = static_cast<std::size_t>(c);
            const auto& names = metadata.channel_names;
            items.push_back(z >= 0 && z < old_z      ? labels[at]
                            : channel < names.size() ? label_item(names[channel])
                                                     : MetadataItem{kind_labels, {}});
        }
    set_items(metadata, items);
}

ChannelRanges::ChannelRanges(index_t channels)
    : ranges_(static_cast<std::size_t>(channels), no_values) {}

void ChannelRanges::add(index_t channel, const ConstImageView& samples) {
    const DisplayRange range = visit_pixel_type(samples.type, [&](auto tag) {
        using T = typename decltype(tag)::type;
        if constexpr (std::is_arithmetic_v<T>)
            return range_of<T>(samples);
        else
            return no_values;
    });
    const std::lock_guard lock(mutex_);
    DisplayRange& all = ranges_[static_cast<std::size_t>(channel)];
    all.least = std::min(all.least, range.least);
    all.most = std::max(all.most, range.most);
}

std::vector<DisplayRange> ChannelRanges::all() const {
    std::vector<DisplayRange> found = ranges_;
    for (DisplayRange& range : found)
        if (range.least > range.most) range = {0, 0};
    return found;
}

}  // namespace convolume::io
