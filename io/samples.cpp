// SPDX-License-Identifier: Apache-2.0
#include "io/samples.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <type_traits>

namespace convolume::io {
namespace {

template <std::size_t Bytes>
void copy_row(const char* from, index_t from_stride, char* to, index_t to_stride, index_t count) {
    for (index_t i = 0; i < count; ++i)
        std::memcpy(to + i * to_stride * static_cast<index_t>(Bytes),
                    from + i * from_stride * static_cast<index_t>(Bytes), Bytes);
}

std::uint16_t reversed(std::uint16_t v) {
    return __builtin_bswap16(v);
}
std::uint32_t reversed(std::uint32_t v) {
    return __builtin_bswap32(v);
}
std::uint64_t reversed(std::uint64_t v) {
    return __builtin_bswap64(v);
}

template <class T>
void swap_all(void* data, index_t count) {
    auto* bytes = static_cast<char*>(data);
    for (index_t i = 0; i < count; ++i, bytes += sizeof(T)) {
        T value;
        std::memcpy(&value, bytes, sizeof(T));
        value = reversed(value);
        std::memcpy(bytes, &value, sizeof(T));
    }
}

}  // namespace

void copy_view(const ConstImageView& from, const ImageView& to) {
    const std::size_t bytes = size_of(to.type);
    const index_t count = to.shape.x;
    for (index_t z = 0; z < to.shape.z; ++z)
        for (index_t y = 0; y < to.shape.y; ++y) {
            const char* source = static_cast<const char*>(from.at(z, y, 0));
            char* target = static_cast<char*>(to.at(z, y, 0));
            const index_t s = from.strides.x;
            const index_t t = to.strides.x;
            if (count == 1 || (s == 1 && t == 1))
                std::memcpy(target, source, static_cast<std::size_t>(count) * bytes);
            else if (bytes == 1)
                copy_row<1>(source, s, target, t, count);
            else if (bytes == 2)
                copy_row<2>(source, s, target, t, count);
            else if (bytes == 4)
                copy_row<4>(source, s, target, t, count);
            else if (bytes == 8)
                copy_row<8>(source, s, target, t, count);
            else
                copy_row<16>(source, s, target, t, count);
        }
}

void swap_bytes(void* data, index_t count, std::size_t bytes_each) {
    if (bytes_each == 2) swap_all<std::uint16_t>(data, count);
    if (bytes_each == 4) swap_all<std::uint32_t>(data, count);
    if (bytes_each == 8) swap_all<std::uint64_t>(data, count);
}

void swap_pixels(void* data, index_t count, PixelType type) {
    const index_t parts = is_complex(type) ? 2 : 1;
    swap_bytes(data, count * parts, size_of(type) / static_cast<std::size_t>(parts));
}

namespace {

template <class Integer>
std::optional<InexactInteger> widen(void* samples, index_t elements) {
    constexpr double beyond = std::is_signed_v<Integer> ? 0x1p63 : 0x1p64;
    auto* bytes = static_cast<char*>(samples);
    for (index_t i = 0; i < elements; ++i, bytes += sizeof(Integer)) {
        Integer integer = 0;
        std::memcpy(&integer, bytes, sizeof integer);
        const auto number = static_cast<double>(integer);
        if (number >= beyond || static_cast<Integer>(number) != integer)
            return InexactInteger{i, std::to_string(integer)};
        std::memcpy(bytes, &number, sizeof number);
    }
    return std::nullopt;
}

}  // namespace

std::optional<InexactInteger> widen_integers(void* samples, index_t elements, WideInteger type) {
    switch (type) {
        case WideInteger::int64:
            return widen<std::int64_t>(samples, elements);
        case WideInteger::uint64:
            return widen<std::uint64_t>(samples, elements);
        case WideInteger::none:
            break;
    }
    return std::nullopt;
}

void widen_short_floats(const void* from, index_t elements, SampleStorage storage, float* to) {
    const char* bytes = static_cast<const char*>(from);
    std::uint16_t words[512];
    while (elements > 0) {
        const index_t now = std::min(elements, static_cast<index_t>(std::size(words)));
        std::memcpy(words, bytes, static_cast<std::size_t>(now) * sizeof(words[0]));
        decode_samples(words, now, storage, to);
        to += now;
        bytes += now * 2;
        elements -= now;
    }
}

}  // namespace convolume::io
