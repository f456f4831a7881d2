// SPDX-License-Identifier: Apache-2.0
#include "convolume/image_view.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "convolume/error.hpp"
#include "core/pixels/rows.hpp"
#include "core/report.hpp"
#include "core/threads.hpp"
#include "core/views.hpp"

namespace convolume {

namespace {
struct PixelTypeName {
    PixelType type;
    const char* name;
};
constexpr PixelTypeName pixel_type_names[] = {
    {PixelType::uint8, "uint8"},         {PixelType::int8, "int8"},
    {PixelType::uint16, "uint16"},       {PixelType::int16, "int16"},
    {PixelType::uint32, "uint32"},       {PixelType::int32, "int32"},
    {PixelType::float32, "float32"},     {PixelType::float64, "float64"},
    {PixelType::complex64, "complex64"}, {PixelType::complex128, "complex128"},
};
}  // namespace

std::size_t size_of(PixelType type) {
    return visit_pixel_type(type, [](auto tag) { return sizeof(typename decltype(tag)::type); });
}

const char* to_string(PixelType type) {
    for (const PixelTypeName& entry : pixel_type_names)
        if (entry.type == type) return entry.name;
    throw InternalError("a pixel type outside its enumeration");
}

PixelType parse_pixel_type(std::string_view name) {
    std::string names;
    for (const PixelTypeName& entry : pixel_type_names) {
        if (entry.name == name) return entry.type;
        names += names.empty() ? "" : ", ";
        names += entry.name;
    }
    throw InvalidArgument(message("no pixel type is called '", name, "': use one of ", names));
}

bool is_complex(PixelType type) {
    return type == PixelType::complex64 || type == PixelType::complex128;
}

bool is_integer(PixelType type) {
    return type < PixelType::float32;
}

const void* ConstImageView::checked_element(PixelType asked, index_t z, index_t y,
                                            index_t x) const {
    if (asked != type)
        throw InvalidArgument(message("an image of ", to_string(type), " was read as ",
                                      to_string(asked),
                                      "; use visit_pixel_type() to find its type"));
    const Index3 position{z, y, x};
    for (int axis = 0; axis < 3; ++axis)
        if (position[axis] < 0 || position[axis] >= shape[axis])
            throw InvalidArgument(message("there is no element ", position[axis], " along ",
                                          axis_name(axis), " of an image of ", shape,
                                          " (z×y×x); count from 0"));
    return at(z, y, x);
}

const void* ConstImageView::checked_row(PixelType asked, index_t z, index_t y) const {
    const void* first = checked_element(asked, z, y, 0);
    if (strides.x != 1 && shape.x > 1)
        throw InvalidArgument(message("a row needs adjacent elements, and those of this image are ",
                                      strides.x,
                                      " apart; use at(), or copy the image by convert_pixels()"));
    return first;
}

namespace {
template <class View>
View crop(const View& view, const Box3& box) {
    for (int axis = 0; axis < 3; ++axis)
        if (box.begin[axis] < 0 || box.end[axis] > view.shape[axis] ||
            box.begin[axis] > box.end[axis])
            throw InvalidArgument(message("the box [", box.begin[axis], ", ", box.end[axis],
                                          ") leaves the array along ", axis_name(axis),
                                          ", whose extent is ", view.shape[axis]));
    View cropped = view;
    cropped.data = view.at(box.begin.z, box.begin.y, box.begin.x);
    cropped.shape = box.shape();
    return cropped;
}
}  // namespace

ConstImageView subview(const ConstImageView& view, const Box3& box) {
    return crop(view, box);
}
ImageView subview(const ImageView& view, const Box3& box) {
    return crop(view, box);
}

bool is_contiguous(const ConstImageView& view) {
    index_t expected = 1;
    for (int axis = 2; axis >= 0; --axis) {
        if (view.shape[axis] != 1 && view.strides[axis] != expected) return false;
        expected *= view.shape[axis];
    }
    return true;
}

namespace {

// Addresses of an image's first byte and of the byte after its last.
struct ByteRange {
    std::uintptr_t begin;
    std::uintptr_t end;
};

ByteRange byte_range(const ConstImageView& view) {
    const auto bytes = sample_bytes(view.type);
    index_t first = 0;
    index_t last = 0;
    for (int axis = 0; axis < 3; ++axis) {
        const index_t reach = (view.shape[axis] - 1) * view.strides[axis];
        (reach < 0 ? first : last) += reach;
    }
    const auto data = reinterpret_cast<std::uintptr_t>(view.data);
    return {data + static_cast<std::uintptr_t>(first * bytes),
            data + static_cast<std::uintptr_t>((last + 1) * bytes)};
}

}  // namespace

bool overlap(const ConstImageView& a, const ConstImageView& b) {
    if (element_count(a.shape) == 0 || element_count(b.shape) == 0) return false;
    const ByteRange range_a = byte_range(a);
    const ByteRange range_b = byte_range(b);
    return range_a.begin < range_b.end && range_b.begin < range_a.end;
}

bool may_repeat_elements(const ConstImageView& view) {
    struct StridedAxis {
        index_t stride, extent;
    };
    std::array<StridedAxis, 3> axes;
    for (int axis = 0; axis < 3; ++axis) {
        if (view.shape[axis] == 0) return false;
        axes[static_cast<std::size_t>(axis)] = {std::abs(view.strides[axis]), view.shape[axis]};
    }
    std::sort(axes.begin(), axes.end(),
              [](const StridedAxis& a, const StridedAxis& b) { return a.stride < b.stride; });
    index_t reach = 0;  // of the axes with smaller strides
    for (const StridedAxis& axis : axes) {
        if (axis.extent > 1 && axis.stride <= reach) return true;
        reach += (axis.extent - 1) * axis.stride;
    }
    return false;
}

namespace {

std::string text_of(double value, const NonfiniteSample::Location& place, const std::string& cure) {
    const std::string volume = place.of_several ? message("in frame ", place.frame, ", channel ",
                                                          place.channel, " (from 0): ")
                                                : std::string();
    return message(volume, "the image holds ", value, " at z,y,x = ", to_string(place.index, ","),
                   ": ", cure);
}

}  // namespace

NonfiniteSample::NonfiniteSample(double value, const Location& place, const std::string& cure)
    : BadData(text_of(value, place, cure)), value_(value), place_(place), cure_(cure) {}

namespace {

// Converts through T. float64 holds every real type exactly, and complex128 every complex type.
template <class T>
ClampCount convert(const ConstImageView& from, const ImageView& to, int threads) {
    const Shape3& shape = from.shape;
    const pixels::RowGather gather(identity_indices(shape.x));
    ReportSum sum;
    parallel_ranges(shape.z * shape.y, threads, [&](index_t begin, index_t end, int) {
        std::vector<T> row(static_cast<std::size_t>(shape.x));
        for (index_t k = begin; k < end; ++k) {
            const index_t z = k / shape.y;
            const index_t y = k % shape.y;
            pixels::load_row(from, z, y, gather, {}, row.data());
            sum.add(pixels::store_row(row.data(), shape.x, 0, to, z, y));
        }
    });
    return sum.clamped();
}

void copy_rows(const ConstImageView& from, const ImageView& to, int threads) {
    const Shape3& shape = from.shape;
    const auto bytes = static_cast<std::size_t>(shape.x * sample_bytes(from.type));
    parallel_for(shape.z * shape.y, threads, [&](index_t row, int) {
        // The rows may be the same ones.
        std::memmove(to.at(row / shape.y, row % shape.y, 0),
                     from.at(row / shape.y, row % shape.y, 0), bytes);
    });
}

// Returns true if `a` and `b` hold elements of one size at the same addresses. Such views may be
// converted in place, row by row.
bool same_elements(const ConstImageView& a, const ConstImageView& b) {
    return a.data == b.data && a.strides == b.strides && size_of(a.type) == size_of(b.type);
}

}  // namespace

ClampCount convert_pixels(const ConstImageView& from, const ImageView& to, int threads) {
    if (from.shape != to.shape)
        throw InvalidArgument(message("an image of ", to_string(from.shape),
                                      " cannot be converted into one of ", to_string(to.shape)));
    if (is_complex(from.type) && !is_complex(to.type))
        throw InvalidArgument(message("a complex image cannot be stored as ", to_string(to.type),
                                      ": use complex64 or complex128"));
    if (element_count(from.shape) == 0) return {};
    check_memory(from, "the source");
    check_memory(to, "the target");
    if (overlap(from, to) && !same_elements(from, to))
        throw InvalidArgument(
            "source and target overlap in memory: convert into memory of its own");
    threads = thread_count(threads);
    if (from.type == to.type && from.strides.x == 1 && to.strides.x == 1) {
        copy_rows(from, to, threads);
        return {};
    }
    return is_complex(from.type) || is_complex(to.type)
               ? convert<std::complex<double>>(from, to, threads)
               : convert<double>(from, to, threads);
}

}  // namespace convolume
