// SPDX-License-Identifier: Apache-2.0
// Tag 50839: a header of 4-byte words ("IJIJ", then a type and a count for each kind of item), the
// items after it. Tag 50838 holds the bytes of the header and of every item.

#include <cstring>
#include <string_view>

#include "io/imagej_text.hpp"
#include "io/strided.hpp"

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

std::vector<std::uint32_t> imagej_colors(const std::vector<std::uint8_t>& data,
                                         const std::vector<std::uint32_t>& counts) {
    constexpr std::uint32_t table_bytes = 768;  // 256 red, 256 green, 256 blue
    std::vector<std::uint32_t> colors;
    if (!is_consistent(data, counts)) return colors;
    for_each_item(data, counts, [&](std::string_view kind, std::size_t at, std::uint32_t bytes) {
        if (kind != "luts" || bytes != table_bytes) return;
        colors.push_back(std::uint32_t{data[at + 255]} << 16 | std::uint32_t{data[at + 511]} << 8 |
                         data[at + 767]);
    });
    return colors;
}

}  // namespace convolume::io
