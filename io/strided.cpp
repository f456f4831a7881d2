// SPDX-License-Identifier: Apache-2.0
#include "io/strided.hpp"

#include <cstdint>
#include <cstring>

namespace convolume::io {
namespace {

template <std::size_t Bytes>
void copy_row(const char* from, index_t from_stride, char* to, index_t to_stride, index_t count) {
    for (index_t i = 0; i < count; ++i)
        std::memcpy(to + i * to_stride * static_cast<index_t>(Bytes),
                    from + i * from_stride * static_cast<index_t>(Bytes), Bytes);
}

template <class T, T (*Reverse)(T)>
void swap_all(void* data, index_t count) {
    auto* bytes = static_cast<char*>(data);
    for (index_t i = 0; i < count; ++i, bytes += sizeof(T)) {
        T value;
        std::memcpy(&value, bytes, sizeof(T));
        value = Reverse(value);
        std::memcpy(bytes, &value, sizeof(T));
    }
}

std::uint16_t reverse16(std::uint16_t v) {
    return __builtin_bswap16(v);
}
std::uint32_t reverse32(std::uint32_t v) {
    return __builtin_bswap32(v);
}
std::uint64_t reverse64(std::uint64_t v) {
    return __builtin_bswap64(v);
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
    if (bytes_each == 2) swap_all<std::uint16_t, reverse16>(data, count);
    if (bytes_each == 4) swap_all<std::uint32_t, reverse32>(data, count);
    if (bytes_each == 8) swap_all<std::uint64_t, reverse64>(data, count);
}

void swap_pixels(void* data, index_t count, PixelType type) {
    const index_t parts = is_complex(type) ? 2 : 1;
    swap_bytes(data, count * parts, size_of(type) / static_cast<std::size_t>(parts));
}

}  // namespace convolume::io
