// SPDX-License-Identifier: Apache-2.0
#include "io/hdf5/types.hpp"

#include <cstdint>
#include <cstring>
#include <type_traits>

namespace convolume::io {
namespace {

hid_t native_number(PixelType type) {
    switch (type) {
        case PixelType::uint8:
            return H5T_NATIVE_UINT8;
        case PixelType::int8:
            return H5T_NATIVE_INT8;
        case PixelType::uint16:
            return H5T_NATIVE_UINT16;
        case PixelType::int16:
            return H5T_NATIVE_INT16;
        case PixelType::uint32:
            return H5T_NATIVE_UINT32;
        case PixelType::int32:
            return H5T_NATIVE_INT32;
        case PixelType::float32:
        case PixelType::complex64:
            return H5T_NATIVE_FLOAT;
        case PixelType::float64:
        case PixelType::complex128:
            return H5T_NATIVE_DOUBLE;
    }
    throw InternalError("a pixel type outside its enumeration");
}

bool member_is(hid_t compound, unsigned member, const char* name) {
    char* found = H5Tget_member_name(compound, member);
    const bool equal = found != nullptr && std::strcmp(found, name) == 0;
    H5free_memory(found);
    return equal;
}

std::optional<PixelType> complex_type(hid_t compound) {
    if (H5Tget_nmembers(compound) != 2 || !member_is(compound, 0, "r") ||
        !member_is(compound, 1, "i"))
        return std::nullopt;
    const Hdf5Id real(H5Tget_member_type(compound, 0), H5Tclose);
    const Hdf5Id imaginary(H5Tget_member_type(compound, 1), H5Tclose);
    if (!real || !imaginary || H5Tequal(real.get(), imaginary.get()) <= 0) return std::nullopt;
    if (H5Tget_class(real.get()) != H5T_FLOAT || H5Tget_size(real.get()) < 4) return std::nullopt;
    const auto part = pixel_type_of_hdf5(real.get());
    if (part == PixelType::float32) return PixelType::complex64;
    if (part == PixelType::float64) return PixelType::complex128;
    return std::nullopt;
}

/// Enumerations are their numbers; booleans of h5py are an enumeration of int8.
std::optional<PixelType> enumeration_type(hid_t enumeration) {
    const Hdf5Id number(H5Tget_super(enumeration), H5Tclose);
    if (!number || H5Tget_class(number.get()) != H5T_INTEGER || H5Tget_size(number.get()) != 1)
        return std::nullopt;
    const int members = H5Tget_nmembers(enumeration);
    for (int i = 0; i < members; ++i) {
        signed char value = 0;
        if (H5Tget_member_value(enumeration, static_cast<unsigned>(i), &value) < 0)
            return std::nullopt;
        if (value < 0 && H5Tget_sign(number.get()) == H5T_SGN_2) return PixelType::int8;
    }
    return PixelType::uint8;
}

Hdf5Id type_of_numbers(PixelType type, hid_t number) {
    if (!is_complex(type)) return {H5Tcopy(number), H5Tclose};
    Hdf5Id compound(H5Tcreate(H5T_COMPOUND, size_of(type)), H5Tclose);
    if (!compound || H5Tinsert(compound.get(), "r", 0, number) < 0 ||
        H5Tinsert(compound.get(), "i", size_of(type) / 2, number) < 0)
        throw IoError(message("HDF5 cannot make a type for complex pixels: ", hdf5_reason()));
    return compound;
}

}  // namespace

Hdf5Id memory_type(PixelType type) {
    return type_of_numbers(type, native_number(type));
}

WideInteger wide_integer(hid_t file_type) {
    if (H5Tget_class(file_type) != H5T_INTEGER || H5Tget_size(file_type) != 8)
        return WideInteger::none;
    return H5Tget_sign(file_type) == H5T_SGN_2 ? WideInteger::int64 : WideInteger::uint64;
}

Hdf5Id reading_type(hid_t file_type, PixelType type) {
    // HDF5 converts no enumerations to numbers.
    if (H5Tget_class(file_type) == H5T_ENUM) return {H5Tcopy(file_type), H5Tclose};
    const WideInteger wide = wide_integer(file_type);
    if (wide == WideInteger::none) return memory_type(type);
    return {H5Tcopy(wide == WideInteger::int64 ? H5T_NATIVE_INT64 : H5T_NATIVE_UINT64), H5Tclose};
}

std::optional<bool> stored_swapped(hid_t file_type, PixelType type) {
    if (H5Tget_class(file_type) == H5T_ENUM) return false;  // of one byte
    if (H5Tequal(file_type, memory_type(type).get()) > 0) return false;
    const Hdf5Id number(H5Tcopy(native_number(type)), H5Tclose);
    const H5T_order_t other =
        H5Tget_order(number.get()) == H5T_ORDER_LE ? H5T_ORDER_BE : H5T_ORDER_LE;
    if (!number || H5Tset_order(number.get(), other) < 0) return std::nullopt;
    if (H5Tequal(file_type, type_of_numbers(type, number.get()).get()) > 0) return true;
    return std::nullopt;
}

std::optional<PixelType> pixel_type_of_hdf5(hid_t file_type) {
    const std::size_t bytes = H5Tget_size(file_type);
    switch (H5Tget_class(file_type)) {
        case H5T_INTEGER: {
            const bool is_signed = H5Tget_sign(file_type) == H5T_SGN_2;
            if (bytes == 1) return is_signed ? PixelType::int8 : PixelType::uint8;
            if (bytes == 2) return is_signed ? PixelType::int16 : PixelType::uint16;
            if (bytes == 4) return is_signed ? PixelType::int32 : PixelType::uint32;
            if (bytes == 8) return PixelType::float64;
            return std::nullopt;
        }
        case H5T_FLOAT:
            if (bytes == 2 || bytes == 4) return PixelType::float32;
            if (bytes == 8) return PixelType::float64;
            return std::nullopt;
        case H5T_ENUM:
            return enumeration_type(file_type);
        case H5T_COMPOUND:
            return complex_type(file_type);
        default:
            return std::nullopt;
    }
}

}  // namespace convolume::io
