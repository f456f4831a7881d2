// SPDX-License-Identifier: Apache-2.0
#include "cli/files/kernel_background.hpp"

#include <algorithm>
#include <cmath>
#include <type_traits>
#include <vector>

#include "convolume/error.hpp"

namespace convolume::cli {

namespace {

Volume in_floats(const ConstImageView& kernel) {
    const bool wide = kernel.type == PixelType::float64 || kernel.type == PixelType::int32 ||
                      kernel.type == PixelType::uint32;
    Volume values(kernel.shape, wide ? PixelType::float64 : PixelType::float32);
    visit_pixel_type(kernel.type, [&](auto tag) {
        using T = typename decltype(tag)::type;
        if constexpr (std::is_arithmetic_v<T>) {
            const T* const from = static_cast<const T*>(kernel.data);
            for (index_t i = 0; i < element_count(kernel.shape); ++i)
                if (wide)
                    values.elements<double>()[i] = static_cast<double>(from[i]);
                else
                    values.elements<float>()[i] = static_cast<float>(from[i]);
        } else {
            throw InvalidArgument(
                "--psf-background does not apply to complex kernels; give the PSF's intensity");
        }
    });
    return values;
}

// Calls f(elements) with the floats or doubles of `values`.
template <class F>
void visit_floats(Volume& values, const F& f) {
    if (values.type() == PixelType::float64)
        f(values.elements<double>());
    else
        f(values.elements<float>());
}

double median(std::vector<double>& values) {
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::nth_element(values.begin(), middle, values.end());
    return *middle;
}

// Three standard deviations above the middle of what the outer faces hold: the middle by the
// median, the deviation by that of distances from it, since some light gets that far.
template <class T>
double background_of_faces(const T* values, const Shape3& shape) {
    std::vector<double> outer;
    for (index_t z = 0; z < shape.z; ++z)
        for (index_t y = 0; y < shape.y; ++y)
            for (index_t x = 0; x < shape.x; ++x) {
                const Index3 at{z, y, x};
                bool on_face = false;
                for (int a = 0; a < 3; ++a)
                    on_face = on_face || (shape[a] >= 3 && (at[a] == 0 || at[a] + 1 == shape[a]));
                if (on_face)
                    outer.push_back(static_cast<double>(values[(z * shape.y + y) * shape.x + x]));
            }
    if (outer.empty())
        throw InvalidArgument(
            "--psf-background auto needs at least three samples along an axis; give a number");
    const double middle = median(outer);
    for (double& value : outer) value = std::abs(value - middle);
    constexpr double deviations_of_normal = 1.4826;
    return middle + 3 * deviations_of_normal * median(outer);
}

}  // namespace

double subtract_background(Volume& kernel, const KernelBackground& asked) {
    if (!asked.automatic && asked.value == 0) return 0;
    kernel = in_floats(kernel.view());
    double background = asked.value;
    visit_floats(kernel, [&](auto* values) {
        using T = std::remove_pointer_t<decltype(values)>;
        if (asked.automatic) background = background_of_faces(values, kernel.shape());
        for (index_t i = 0; i < element_count(kernel.shape()); ++i)
            values[i] = std::max(T{0}, values[i] - static_cast<T>(background));
    });
    return background;
}

index_t clip_negative(Volume& kernel) {
    Volume values = in_floats(kernel.view());
    index_t count = 0;
    visit_floats(values, [&](auto* elements) {
        for (index_t i = 0; i < element_count(values.shape()); ++i)
            if (elements[i] < 0) {
                elements[i] = 0;
                ++count;
            }
    });
    if (count > 0) kernel = std::move(values);
    return count;
}

}  // namespace convolume::cli
