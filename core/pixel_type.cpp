// SPDX-License-Identifier: Apache-2.0
#include <string>

#include "convolume/image_view.hpp"

namespace convolume {

namespace {
struct Entry {
    PixelType type;
    const char* name;
};
constexpr Entry entries[] = {
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
    for (const Entry& entry : entries)
        if (entry.type == type) return entry.name;
    throw InternalError("a pixel type outside its enumeration");
}

PixelType parse_pixel_type(std::string_view name) {
    std::string names;
    for (const Entry& entry : entries) {
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

}  // namespace convolume
