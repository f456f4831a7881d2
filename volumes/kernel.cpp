// SPDX-License-Identifier: Apache-2.0
#include "volumes/kernel.hpp"

#include <cmath>
#include <limits>

#include "convolume/error.hpp"
#include "core/check_memory.hpp"
#include "core/stop_scope.hpp"

namespace convolume {

namespace {

template <class T>
std::complex<double> as_complex(T value) {
    if constexpr (requires { value.imag(); })
        return {static_cast<double>(value.real()), static_cast<double>(value.imag())};
    else
        return static_cast<double>(value);
}

// std::abs() of complex numbers takes its time even where they are real.
double magnitude_of(const std::complex<double>& value) {
    return value.imag() == 0 ? std::abs(value.real()) : std::abs(value);
}

// Calls f(value, {z, y, x}) for every sample.
template <class F>
void for_each_sample(const ConstImageView& view, F f) {
    visit_pixel_type(view.type, [&](auto tag) {
        using T = typename decltype(tag)::type;
        for (index_t z = 0; z < view.shape.z; ++z) {
            throw_if_stopped();
            for (index_t y = 0; y < view.shape.y; ++y)
                for (index_t x = 0; x < view.shape.x; ++x)
                    f(as_complex(*static_cast<const T*>(view.at(z, y, x))), Index3{z, y, x});
        }
    });
}

ConstImageView reversed(const ConstImageView& view) {
    ConstImageView flipped = view;
    flipped.data = view.at(view.shape.z - 1, view.shape.y - 1, view.shape.x - 1);
    flipped.strides = {-view.strides.z, -view.strides.y, -view.strides.x};
    return flipped;
}

}  // namespace

KernelFacts examine_kernel(const ConstImageView& kernel, KernelNormalization normalization) {
    for (int a = 0; a < 3; ++a)
        if (kernel.shape[a] < 1)
            throw InvalidArgument(message("the kernel's extent along ", axis_name(a), " is ",
                                          kernel.shape[a],
                                          ": it needs at least 1 sample on every axis"));
    check_memory(kernel, "the kernel");
    KernelFacts facts;
    facts.shape = kernel.shape;
    facts.complex_taps = is_complex(kernel.type);
    std::complex<double> sum = 0;
    std::complex<double> peak = 0;
    double magnitude = 0, most = 0;
    for_each_sample(kernel, [&](std::complex<double> value, const Index3& at) {
        if (!std::isfinite(value.real()) || !std::isfinite(value.imag()))
            throw BadData(message("the kernel holds ", value.real(), " at z,y,x = ",
                                  to_string(at, ","), ": replace it by a finite number"));
        sum += value;
        const double own = magnitude_of(value);
        magnitude += own;
        if (own > most) {
            most = own;
            peak = value;
        }
    });
    if (peak == 0.0)
        throw BadData(
            "the kernel is zero everywhere: check that the right file or channel was given");

    facts.sum = sum.real();
    switch (normalization) {
        case KernelNormalization::none:
            break;
        case KernelNormalization::sum:
            // A sum that is only the rounding of its terms would blow the kernel up.
            if (std::abs(sum) <=
                (kernel.type == PixelType::float64 || kernel.type == PixelType::complex128 ? 1e-12
                                                                                           : 1e-6) *
                    magnitude)
                throw BadData(
                    "the kernel's sum is 0, so it cannot be normalized to 1: choose normalization "
                    "peak or none");
            facts.factor = 1.0 / sum;
            break;
        case KernelNormalization::peak:
            facts.factor = 1.0 / std::abs(peak);
            break;
    }
    facts.normalized_sum = sum * facts.factor;
    facts.normalized_peak = std::abs(peak * facts.factor);
    return facts;
}

Volume make_taps(const ConstImageView& kernel, const KernelFacts& facts, bool flip, const Box3& box,
                 PixelType type) {
    const bool single = type == PixelType::float32 || type == PixelType::complex64;
    if (single && (facts.normalized_peak > std::numeric_limits<float>::max() ||
                   facts.normalized_peak < std::numeric_limits<float>::min()))
        throw BadData(message("the kernel's peak is ", facts.normalized_peak,
                              ", beyond what float32 holds: normalize it, or compute in float64"));
    Volume taps(box.shape(), type);
    const ConstImageView source = subview(flip ? reversed(kernel) : kernel, box);
    visit_pixel_type(type, [&](auto tag) {
        using T = typename decltype(tag)::type;
        if constexpr (requires(T value) { value.imag(); } || std::is_floating_point_v<T>) {
            T* const elements = taps.elements<T>();
            const Index3 strides = contiguous_strides(taps.shape());
            for_each_sample(source, [&](std::complex<double> value, const Index3& at) {
                value *= facts.factor;
                if (flip) value = std::conj(value);
                T& tap = elements[at.z * strides.z + at.y * strides.y + at.x];
                if constexpr (std::is_floating_point_v<T>)
                    tap = static_cast<T>(value.real());
                else
                    tap = {static_cast<typename T::value_type>(value.real()),
                           static_cast<typename T::value_type>(value.imag())};
            });
        } else {
            throw InternalError("taps are floating-point numbers");
        }
    });
    return taps;
}

}  // namespace convolume
