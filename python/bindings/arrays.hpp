// SPDX-License-Identifier: Apache-2.0
#pragma once
// Views of NumPy arrays for the library, without copies. Axes keep their order: arrays of one and
// two dimensions are (x) and (y, x).

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/array.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <mutex>
#include <type_traits>
#include <utility>
#include <vector>

#include "bindings/bindings.hpp"
#include "convolume/device_stream.hpp"
#include "convolume/volume.hpp"

namespace nanobind::detail {

/// Converts pixel types to NumPy's types and back.
template <>
struct type_caster<convolume::PixelType> {
    NB_TYPE_CASTER(convolume::PixelType, const_name("numpy.dtype"))

    bool from_python(handle source, std::uint8_t, cleanup_list*) noexcept {
        try {
            value = convolume::parse_pixel_type(cast<std::string>(source.attr("name")));
            return true;
        } catch (const std::exception&) {
            return false;
        }
    }
    static handle from_cpp(convolume::PixelType type, rv_policy, cleanup_list*) {
        return module_::import_("numpy").attr("dtype")(convolume::to_string(type)).release();
    }
};

}  // namespace nanobind::detail

namespace convolume::python {

using ReadArray = nb::ndarray<nb::ro, nb::device::cpu>;
using WriteArray = nb::ndarray<nb::device::cpu>;

inline PixelType pixel_type(nb::dlpack::dtype type) {
    using Code = nb::dlpack::dtype_code;
    const auto is = [&](Code code, int bits) {
        return type.code == static_cast<std::uint8_t>(code) && type.bits == bits && type.lanes == 1;
    };
    if (is(Code::UInt, 8)) return PixelType::uint8;
    if (is(Code::Int, 8)) return PixelType::int8;
    if (is(Code::UInt, 16)) return PixelType::uint16;
    if (is(Code::Int, 16)) return PixelType::int16;
    if (is(Code::UInt, 32)) return PixelType::uint32;
    if (is(Code::Int, 32)) return PixelType::int32;
    if (is(Code::Float, 32)) return PixelType::float32;
    if (is(Code::Float, 64)) return PixelType::float64;
    if (is(Code::Complex, 64)) return PixelType::complex64;
    if (is(Code::Complex, 128)) return PixelType::complex128;
    throw InvalidArgument("an array of a type that convolume does not compute with");
}

template <class View, class Array>
View view_of_array(const Array& array) {
    if (array.ndim() < 1 || array.ndim() > 3)
        throw InvalidArgument(
            message("an array of ", array.ndim(), " dimensions where 1 to 3 are meant"));
    View view;
    view.data = array.data();
    view.type = pixel_type(array.dtype());
    view.shape = {1, 1, 1};
    view.strides = {0, 0, 0};
    const int first = 3 - static_cast<int>(array.ndim());
    for (int axis = first; axis < 3; ++axis) {
        view.shape[axis] =
            static_cast<index_t>(array.shape(static_cast<std::size_t>(axis - first)));
        view.strides[axis] = array.stride(static_cast<std::size_t>(axis - first));
    }
    return view;
}

inline ConstImageView view(const ReadArray& array) {
    return view_of_array<ConstImageView>(array);
}
inline ImageView view(const WriteArray& array) {
    return view_of_array<ImageView>(array);
}
inline std::vector<ConstImageView> views(const std::vector<ReadArray>& arrays) {
    std::vector<ConstImageView> found;
    found.reserve(arrays.size());
    for (const ReadArray& array : arrays) found.push_back(view(array));
    return found;
}

using Triple = std::array<index_t, 3>;
inline Triple triple(const Index3& index) {
    return {index.z, index.y, index.x};
}
inline Index3 index3(const Triple& values) {
    return {values[0], values[1], values[2]};
}

/// Converts an address in a GPU's memory, or of a CUDA stream, which is a whole number in Python.
/// convolume/_device.py gets these numbers from the libraries of arrays.
template <class T>
T* pointer(std::uintptr_t address) {
    return reinterpret_cast<T*>(address);
}

/// The number that stands for an argument in Python: an address for a pointer or a CUDA stream.
template <class Argument>
using PythonNumber =
    std::conditional_t<std::is_pointer_v<Argument> || std::is_same_v<Argument, DeviceStream>,
                       std::uintptr_t, Argument>;

template <class Argument>
Argument argument_of(PythonNumber<Argument> number) {
    if constexpr (std::is_pointer_v<Argument>)
        return reinterpret_cast<Argument>(number);
    else if constexpr (std::is_same_v<Argument, DeviceStream>)
        return pointer<CUstream_st>(number);
    else
        return number;
}

/// Returns a method on arrays in a GPU's memory as a function of their addresses, which runs
/// without the interpreter lock.
template <class Class, class... Arguments>
auto by_addresses(void (Class::*method)(Arguments...) const) {
    return [method](const Class& self, PythonNumber<Arguments>... numbers) {
        const nb::gil_scoped_release released;
        (self.*method)(argument_of<Arguments>(numbers)...);
    };
}

/// Returns what `work` returns, which runs without the interpreter lock.
template <class Work>
auto without_lock(const Work& work) {
    const nb::gil_scoped_release released;
    return work();
}

/// Returns a NumPy array (z, y, x) that owns the volume's memory.
nb::object to_numpy(Volume volume);

/// Returns the volume that `make` returns as an array. It runs without the interpreter lock, and in
/// one thread at a time.
template <class Make>
nb::object to_numpy_by_one_thread(std::mutex& mutex, const Make& make) {
    return to_numpy(without_lock([&] {
        const std::lock_guard lock(mutex);
        return make();
    }));
}

}  // namespace convolume::python
