// SPDX-License-Identifier: Apache-2.0
#include "cli/files/kernel_samples.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <type_traits>
#include <utility>
#include <vector>

#include "cli/files/volumes.hpp"
#include "convolume/error.hpp"
#include "core/order_statistics.hpp"
#include "core/threads.hpp"

namespace convolume::cli {

namespace {

/// Converts the kernel to float32 or float64.
void make_floats(Volume& kernel) {
    const PixelType type = kernel.type();
    if (is_complex(type))
        throw InvalidArgument(
            "--psf-background does not apply to complex kernels; give the PSF's intensity");
    if (!is_integer(type)) return;
    const bool wide = type == PixelType::int32 || type == PixelType::uint32;
    Volume values(kernel.shape(), wide ? PixelType::float64 : PixelType::float32);
    convert_pixels(kernel.view(), values.view(), 0);
    kernel = std::move(values);
}

// Calls f(elements) with the floats or doubles of `values`.
template <class F>
void visit_floats(Volume& values, const F& f) {
    if (values.type() == PixelType::float64)
        f(values.elements<double>());
    else
        f(values.elements<float>());
}

// Subtracts `level`, and sets what is below 0 then to 0.
template <class T>
void subtract(T* values, const Shape3& shape, T level) {
    parallel_for(shape.z * shape.y, thread_count(0), [&](index_t number, int) {
        T* const row = values + number * shape.x;
        for (index_t x = 0; x < shape.x; ++x) row[x] = std::max(T{0}, row[x] - level);
    });
}

// Returns the median of the outer faces and three standard deviations. The deviation comes from the
// median distance to the median, since some light reaches the faces.
template <class T>
double background_of_faces(const T* values, const Shape3& shape) {
    const auto is_on_face = [&](index_t i, int axis) {
        return shape[axis] >= 3 && (i == 0 || i + 1 == shape[axis]);
    };
    std::vector<double> outer;
    for (index_t z = 0; z < shape.z; ++z)
        for (index_t y = 0; y < shape.y; ++y) {
            const bool whole = is_on_face(z, 0) || is_on_face(y, 1);
            if (!whole && shape.x < 3) continue;
            for (index_t x = 0; x < shape.x; x += whole ? 1 : shape.x - 1)
                outer.push_back(static_cast<double>(values[(z * shape.y + y) * shape.x + x]));
        }
    if (outer.empty())
        throw InvalidArgument(
            "--psf-background auto needs at least three samples along an axis; give a number");
    const double middle = take_distances(outer);
    return middle + 3 * deviation_of_distance * upper_median(outer);
}

}  // namespace

void check_finite_kernel(const std::string& path, const KernelSurvey& survey) {
    if (survey.nonfinite)
        throw BadData(message("the kernel \"", path, "\" holds ", survey.nonfinite_value,
                              " at z,y,x = ", to_string(*survey.nonfinite, ","),
                              ": replace it by a finite number"));
}

double subtract_background(Volume& kernel, const KernelBackground& background) {
    if (!background.automatic && background.value == 0) return 0;
    make_floats(kernel);
    double level = background.value;
    visit_floats(kernel, [&](auto* values) {
        using T = std::remove_pointer_t<decltype(values)>;
        if (background.automatic) level = background_of_faces(values, kernel.shape());
        subtract(values, kernel.shape(), static_cast<T>(level));
    });
    return level;
}

index_t clip_negative(Volume& kernel) {
    const std::vector<index_t> negative = visit_pixel_type(kernel.type(), [&](auto tag) {
        using T = typename decltype(tag)::type;
        return figures_of_rows<T>(kernel.view(), thread_count(0), [&](const T* row) {
            index_t count = 0;
            if constexpr (std::is_signed_v<T>)
                for (index_t x = 0; x < kernel.shape().x; ++x) count += row[x] < 0;
            return count;
        });
    });
    const index_t count = std::accumulate(negative.begin(), negative.end(), index_t{0});
    if (count == 0) return 0;
    make_floats(kernel);
    visit_floats(kernel, [&](auto* values) {
        subtract(values, kernel.shape(), std::remove_pointer_t<decltype(values)>{0});
    });
    return count;
}

}  // namespace convolume::cli
