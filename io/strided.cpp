// SPDX-License-Identifier: Apache-2.0
#include "io/strided.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

namespace convolume::io {
namespace {

constexpr index_t gathered_bytes = index_t{16} << 20;

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

/// Axis with more than one element and the largest stride, or -1.
int slowest_axis(const Shape3& shape, const Index3& strides) {
    int slowest = -1;
    for (int axis = 0; axis < 3; ++axis)
        if (shape[axis] > 1 && (slowest < 0 || strides[axis] > strides[slowest])) slowest = axis;
    return slowest;
}

/// Whether the strides of axes that have more than one element are those of a contiguous array.
bool lies_contiguous(const Shape3& shape, const Index3& strides) {
    const Index3 wanted = contiguous_strides(shape);
    for (int axis = 0; axis < 3; ++axis)
        if (shape[axis] > 1 && strides[axis] != wanted[axis]) return false;
    return true;
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

void read_array(const RawFile& file, const FileArray& array, const ImageView& target) {
    const Shape3& shape = target.shape;
    const index_t count = element_count(shape);
    if (count == 0) return;
    const auto bytes_each = static_cast<index_t>(size_of(target.type));

    if (lies_contiguous(shape, array.strides) && lies_contiguous(shape, target.strides)) {
        file.read(array.offset, target.data, count * bytes_each);
        if (array.swapped) swap_pixels(target.data, count, target.type);
        return;
    }

    index_t span = 1;
    for (int axis = 0; axis < 3; ++axis) span += (shape[axis] - 1) * array.strides[axis];
    const int slowest = slowest_axis(shape, array.strides);
    if (span * bytes_each > gathered_bytes && slowest >= 0) {
        Box3 low{{0, 0, 0}, shape};
        Box3 high = low;
        const index_t middle = shape[slowest] / 2;
        low.end[slowest] = middle;
        high.begin[slowest] = middle;
        FileArray rest = array;
        rest.offset += middle * array.strides[slowest] * bytes_each;
        read_array(file, array, subview(target, low));
        read_array(file, rest, subview(target, high));
        return;
    }
    std::vector<char> buffer(static_cast<std::size_t>(span * bytes_each));
    file.read(array.offset, buffer.data(), span * bytes_each);
    if (array.swapped) swap_pixels(buffer.data(), span, target.type);
    copy_view({buffer.data(), target.type, shape, array.strides}, target);
}

}  // namespace convolume::io
