// SPDX-License-Identifier: Apache-2.0
// Tag 50839: a header of 4-byte words ("IJIJ", then a type and a count for each kind of item), the
// items after it. Tag 50838 holds the bytes of the header and of every item.

#include <algorithm>
#include <array>
#include <cstring>
#include <string_view>

#include "io/strided.hpp"
#include "io/tiff/imagej_text.hpp"

namespace convolume::io {
namespace {

/// Bytes of the numbers in items of that kind: UTF-16 texts, display ranges, else bytes.
std::size_t number_bytes(std::string_view kind) {
    if (kind == "info" || kind == "labl" || kind == "prop") return 2;
    return kind == "rang" ? 8 : 1;
}

bool is_consistent(const std::vector<std::uint8_t>& data,
                   const std::vector<std::uint32_t>& counts) {
    std::size_t total = 0;
    for (const std::uint32_t count : counts) total += count;
    return !counts.empty() && total == data.size() && counts[0] >= 4 && counts[0] % 8 == 4;
}

/// Calls f(kind, first byte, bytes) for each item behind a header in this machine's byte order.
template <class F>
void for_each_item(const std::vector<std::uint8_t>& data, const std::vector<std::uint32_t>& counts,
                   F&& f) {
    std::size_t item = 1;
    std::size_t at = counts[0];
    for (std::size_t kind = 4; kind < counts[0]; kind += 8) {
        std::uint32_t word = 0;
        std::uint32_t items = 0;
        std::memcpy(&word, data.data() + kind, 4);
        std::memcpy(&items, data.data() + kind + 4, 4);
        const char name[4] = {static_cast<char>(word >> 24), static_cast<char>(word >> 16),
                              static_cast<char>(word >> 8), static_cast<char>(word)};
        for (; items > 0 && item < counts.size(); --items, ++item) {
            f(std::string_view(name, 4), at, counts[item]);
            at += counts[item];
        }
    }
}

}  // namespace

void swap_imagej_metadata(std::vector<std::uint8_t>& data,
                          const std::vector<std::uint32_t>& counts) {
    if (!is_consistent(data, counts)) {
        data.clear();
        return;
    }
    swap_bytes(data.data(), counts[0] / 4, 4);
    for_each_item(data, counts, [&](std::string_view kind, std::size_t at, std::uint32_t bytes) {
        const std::size_t each = number_bytes(kind);
        swap_bytes(data.data() + at, static_cast<index_t>(bytes / each), each);
    });
}

namespace {

constexpr std::uint32_t lookup_bytes = 768;  // 256 red, 256 green, 256 blue
using Table = std::vector<std::uint8_t>;

std::vector<Table> tables_in(const ImageMetadata& metadata) {
    std::vector<Table> tables;
    const std::vector<std::uint8_t>& data = metadata.imagej_metadata;
    if (!is_consistent(data, metadata.imagej_metadata_counts)) return tables;
    for_each_item(data, metadata.imagej_metadata_counts,
                  [&](std::string_view kind, std::size_t at, std::uint32_t bytes) {
                      if (kind != "luts" || bytes != lookup_bytes) return;
                      const auto first = data.begin() + static_cast<std::ptrdiff_t>(at);
                      tables.emplace_back(first, first + lookup_bytes);
                  });
    return tables;
}

/// From black to the color.
Table table_of(std::uint32_t color) {
    Table table;
    for (const int shift : {16, 8, 0})
        for (std::uint32_t i = 0; i < 256; ++i)
            table.push_back(static_cast<std::uint8_t>(((color >> shift & 255) * i + 127) / 255));
    return table;
}

/// Metadata of tables alone; of none at all nothing.
void set_tables(ImageMetadata& metadata, const std::vector<Table>& tables) {
    metadata.imagej_metadata.clear();
    metadata.imagej_metadata_counts.clear();
    if (tables.empty()) return;
    const auto word = [](const char* name) {
        std::uint32_t value = 0;
        for (int i = 0; i < 4; ++i) value = value << 8 | static_cast<std::uint8_t>(name[i]);
        return value;
    };
    const std::array<std::uint32_t, 3> header{word("IJIJ"), word("luts"),
                                              static_cast<std::uint32_t>(tables.size())};
    metadata.imagej_metadata.resize(sizeof header);
    std::memcpy(metadata.imagej_metadata.data(), header.data(), sizeof header);
    metadata.imagej_metadata_counts = {sizeof header};
    for (const Table& table : tables) {
        metadata.imagej_metadata.insert(metadata.imagej_metadata.end(), table.begin(), table.end());
        metadata.imagej_metadata_counts.push_back(lookup_bytes);
    }
}

}  // namespace

std::vector<std::uint32_t> imagej_colors(const ImageMetadata& metadata) {
    std::vector<std::uint32_t> colors;
    for (const Table& table : tables_in(metadata))
        colors.push_back(std::uint32_t{table[255]} << 16 | std::uint32_t{table[511]} << 8 |
                         table[767]);
    return colors;
}

void add_imagej_tables(ImageMetadata& metadata) {
    constexpr std::uint32_t white = 0xffffff;
    const auto& colors = metadata.channel_colors;
    if (!metadata.imagej_metadata.empty() || metadata.channels < 2 ||
        static_cast<index_t>(colors.size()) != metadata.channels ||
        std::all_of(colors.begin(), colors.end(),
                    [&](const auto& color) { return color.value_or(white) == white; }))
        return;
    std::vector<Table> tables;
    for (const auto& color : colors) tables.push_back(table_of(color.value_or(white)));
    set_tables(metadata, tables);
}

void drop_display_ranges(ImageMetadata& metadata) {
    std::vector<std::uint8_t>& data = metadata.imagej_metadata;
    std::vector<std::uint32_t>& counts = metadata.imagej_metadata_counts;
    if (!is_consistent(data, counts)) return;
    constexpr std::uint32_t ranges = 0x72616e67;  // "rang"
    std::vector<std::uint8_t> header(data.begin(), data.begin() + 4), items;
    std::vector<std::uint32_t> item_counts;
    std::size_t item = 1, at = counts[0];
    for (std::size_t kind = 4; kind < counts[0]; kind += 8) {
        std::uint32_t word = 0, count = 0;
        std::memcpy(&word, data.data() + kind, 4);
        std::memcpy(&count, data.data() + kind + 4, 4);
        const auto bytes = data.begin() + static_cast<std::ptrdiff_t>(kind);
        if (word != ranges) header.insert(header.end(), bytes, bytes + 8);
        for (; count > 0 && item < counts.size(); --count, at += counts[item++]) {
            if (word == ranges) continue;
            const auto first = data.begin() + static_cast<std::ptrdiff_t>(at);
            items.insert(items.end(), first, first + static_cast<std::ptrdiff_t>(counts[item]));
            item_counts.push_back(counts[item]);
        }
    }
    data.clear();
    counts.clear();
    if (item_counts.empty()) return;
    data = std::move(header);
    counts = {static_cast<std::uint32_t>(data.size())};
    data.insert(data.end(), items.begin(), items.end());
    counts.insert(counts.end(), item_counts.begin(), item_counts.end());
}

void keep_lookup_tables(ImageMetadata& metadata, const std::vector<index_t>& channels) {
    const std::vector<Table> tables = tables_in(metadata);
    std::vector<Table> kept;
    for (const index_t c : channels)
        if (c < static_cast<index_t>(tables.size()))
            kept.push_back(tables[static_cast<std::size_t>(c)]);
    set_tables(metadata, kept.size() == channels.size() ? kept : std::vector<Table>{});
}

}  // namespace convolume::io
