// SPDX-License-Identifier: Apache-2.0
#include "io/tiff/directory.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <utility>

#include "io/tiff/handle.hpp"

namespace convolume::io {
namespace {

/// TIFF's numbers of the types of values.
enum FieldType : std::uint16_t {
    type_byte = 1,
    type_ascii = 2,
    type_short = 3,
    type_long = 4,
    type_rational = 5,
    type_long8 = 16
};

template <class T>
void append(std::string& bytes, T value) {
    bytes.append(reinterpret_cast<const char*>(&value), sizeof(T));
}

std::size_t even(std::size_t bytes) {
    return bytes + bytes % 2;
}

/// Returns the closest fraction to `value` by a continued fraction.
std::pair<std::uint32_t, std::uint32_t> closest_fraction(double value) {
    constexpr double largest = 4294967295.0;
    if (!(value > 0)) return {0, 1};
    if (value > largest) return {UINT32_MAX, 1};
    double p = 1, q = 0, previous_p = 0, previous_q = 1;
    double rest = value;
    for (int step = 0; step < 64; ++step) {
        const double whole = std::floor(rest);
        const double next_p = whole * p + previous_p;
        const double next_q = whole * q + previous_q;
        if (next_p > largest || next_q > largest) break;
        previous_p = std::exchange(p, next_p);
        previous_q = std::exchange(q, next_q);
        if (std::abs(p / q - value) <= value * 1e-15 || rest == whole) break;
        rest = 1 / (rest - whole);
    }
    // The closest fraction of a value below 2^-32 is 0/1.
    return {static_cast<std::uint32_t>(p), static_cast<std::uint32_t>(q < 1 ? 1 : q)};
}

/// Returns the bytes of one value of a TIFF type; 0 for types that TIFF does not have.
index_t value_bytes(int type) {
    constexpr std::array<index_t, 19> bytes{0, 1, 1, 2, 4, 8, 1, 1, 2, 4,
                                            8, 4, 8, 4, 0, 0, 8, 8, 8};
    return type > 0 && type < static_cast<int>(bytes.size()) ? bytes[static_cast<std::size_t>(type)]
                                                             : 0;
}

}  // namespace

void TiffDirectory::add_short(std::uint16_t tag, std::uint16_t value) {
    entries_.push_back({tag, type_short, 1, {}});
    append(entries_.back().value, value);
}

void TiffDirectory::add_long(std::uint16_t tag, std::uint32_t value) {
    add_longs(tag, {value});
}

void TiffDirectory::add_longs(std::uint16_t tag, const std::vector<std::uint32_t>& values) {
    entries_.push_back({tag, type_long, values.size(), {}});
    for (const std::uint32_t value : values) append(entries_.back().value, value);
}

void TiffDirectory::add_offsets(std::uint16_t tag, const std::vector<std::uint64_t>& values) {
    entries_.push_back({tag, big_ ? type_long8 : type_long, values.size(), {}});
    for (const std::uint64_t value : values) {
        if (big_)
            append(entries_.back().value, value);
        else
            append(entries_.back().value, static_cast<std::uint32_t>(value));
    }
}

void TiffDirectory::add_rational(std::uint16_t tag, double value) {
    const auto [numerator, denominator] = closest_fraction(value);
    entries_.push_back({tag, type_rational, 1, {}});
    append(entries_.back().value, numerator);
    append(entries_.back().value, denominator);
}

void TiffDirectory::add_text(std::uint16_t tag, const std::string& value) {
    // Readers need the final zero. Tags may not contain others.
    std::string text = value.substr(0, value.find('\0'));
    text += '\0';
    entries_.push_back({tag, type_ascii, text.size(), text});
}

void TiffDirectory::add_bytes(std::uint16_t tag, const std::vector<std::uint8_t>& values) {
    entries_.push_back({tag, type_byte, values.size(), std::string(values.begin(), values.end())});
}

index_t TiffDirectory::size() const {
    std::size_t bytes = even(table_bytes());
    for (const PendingEntry& entry : entries_)
        if (entry.value.size() > inline_bytes()) bytes += even(entry.value.size());
    return static_cast<index_t>(bytes);
}

std::string TiffDirectory::at(index_t offset, index_t next) const {
    std::string table;
    std::string values;
    const auto append_offset = [&](std::uint64_t value) {
        if (big_)
            append(table, value);
        else
            append(table, static_cast<std::uint32_t>(value));
    };
    if (big_)
        append(table, static_cast<std::uint64_t>(entries_.size()));
    else
        append(table, static_cast<std::uint16_t>(entries_.size()));
    const std::uint64_t values_at = static_cast<std::uint64_t>(offset) + even(table_bytes());
    for (const PendingEntry& entry : entries_) {
        append(table, entry.tag);
        append(table, entry.type);
        append_offset(entry.count);
        if (entry.value.size() > inline_bytes()) {
            append_offset(values_at + values.size());
            values += entry.value;
            values.resize(even(values.size()));
        } else {
            table += entry.value;
            table.append(inline_bytes() - entry.value.size(), '\0');
        }
    }
    append_offset(static_cast<std::uint64_t>(next));
    table.resize(even(table.size()));
    return table + values;
}

TiffNumbers::TiffNumbers(const RawFile& file) : file_(file) {
    const std::string mark = file.head(4);
    swapped_ = (mark[0] == 'I') != (std::endian::native == std::endian::little);
    big_ = mark[2] == '+' || mark[3] == '+';
}

double TiffNumbers::rational_at(index_t offset) const {
    const double numerator = at<std::uint32_t>(offset);
    const double denominator = at<std::uint32_t>(offset + 4);
    return denominator > 0 ? numerator / denominator : 0;
}

index_t TiffNumbers::entry_count(index_t start) const {
    return big_ ? static_cast<index_t>(at<std::uint64_t>(start)) : at<std::uint16_t>(start);
}

std::optional<TiffEntry> TiffNumbers::find(std::uint64_t directory, int tag) const {
    const auto start = static_cast<index_t>(directory);
    // libtiff has read this directory before, so its entries are within the file.
    for (index_t i = 0; i < entry_count(start); ++i) {
        const index_t position = first_entry(start) + i * entry_bytes();
        if (at<std::uint16_t>(position) != tag) continue;
        TiffEntry entry;
        entry.type = at<std::uint16_t>(position + 2);
        const std::uint64_t count =
            big_ ? at<std::uint64_t>(position + 4) : at<std::uint32_t>(position + 4);
        constexpr std::uint64_t largest_count = INT64_MAX / 16;  // bytes stay within 64 bits
        entry.count = static_cast<index_t>(std::min(count, largest_count));
        const index_t value_position = position + (big_ ? 12 : 8);
        const index_t bytes = value_bytes(entry.type) * entry.count;
        entry.offset = bytes <= (big_ ? 8 : 4) ? value_position
                       : big_                  ? static_cast<index_t>(std::min<std::uint64_t>(
                                    at<std::uint64_t>(value_position), INT64_MAX))
                              : static_cast<index_t>(at<std::uint32_t>(value_position));
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
    std::array<double, 2> resolution{};
    for (const int tag : {TIFFTAG_YRESOLUTION, TIFFTAG_XRESOLUTION}) {
        const auto entry = numbers.find(directory, tag);
        if (!entry || entry->type != type_rational || entry->offset > numbers.file().size() - 8)
            continue;
        resolution[tag == TIFFTAG_YRESOLUTION ? 0 : 1] = numbers.rational_at(entry->offset);
    }
    return resolution;
}

}  // namespace convolume::io
