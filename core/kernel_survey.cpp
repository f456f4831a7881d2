// SPDX-License-Identifier: Apache-2.0
#include "core/kernel_survey.hpp"

#include <cmath>
#include <vector>

#include "convolume/error.hpp"
#include "core/pixels/contiguous.hpp"
#include "core/pixels/rows.hpp"
#include "core/views.hpp"

namespace convolume {

namespace {

// Real type that holds the magnitudes of a pixel type: float if that is exact.
template <class T>
using MagnitudeOf =
    std::conditional_t<std::is_same_v<T, float> || (std::is_integral_v<T> && sizeof(T) <= 2), float,
                       double>;

// The magnitudes of complex64 cannot overflow double. std::abs() of complex numbers is slow.
template <class T>
MagnitudeOf<T> magnitude_of(T sample) {
    if constexpr (std::is_same_v<T, std::complex<float>>) {
        const auto real = static_cast<double>(sample.real()),
                   imaginary = static_cast<double>(sample.imag());
        return std::sqrt(real * real + imaginary * imaginary);
    } else if constexpr (pixels::is_complex_v<T>) {
        return std::abs(sample);
    } else {
        return std::abs(static_cast<MagnitudeOf<T>>(sample));
    }
}

index_t distance_squared(const Index3& a, const Index3& b) {
    index_t sum = 0;
    for (int axis = 0; axis < 3; ++axis) sum += (a[axis] - b[axis]) * (a[axis] - b[axis]);
    return sum;
}

// Makes `place` the peak if `most` is larger, or if it is equal and `place` is nearer to `middle`.
void offer_peak(double most, const Index3& place, const Index3& middle, KernelSurvey& survey) {
    if (most < survey.most || (most == survey.most && distance_squared(place, middle) >=
                                                          distance_squared(survey.peak, middle)))
        return;
    survey.most = most;
    survey.peak = place;
}

// Adds `count` samples of a row, the first of which is at index `at`.
template <class T, class Stride>
void add_samples(const T* row, Stride stride, int count, const Index3& at, const Index3& middle,
                 KernelSurvey& survey) {
    using Magnitude = MagnitudeOf<T>;
    Magnitude most = -1, least = std::numeric_limits<Magnitude>::infinity();
    double real = 0, imaginary = 0, magnitudes = 0, moment = 0;
#pragma omp simd reduction(+ : real, imaginary, magnitudes, moment) reduction(max : most) reduction(min : least)
    for (int x = 0; x < count; ++x) {
        const T sample = row[x * stride];
        const Magnitude magnitude = magnitude_of(sample);
        most = magnitude > most ? magnitude : most;
        least = magnitude < least ? magnitude : least;
        if constexpr (pixels::is_complex_v<T>) {
            real += static_cast<double>(sample.real());
            imaginary += static_cast<double>(sample.imag());
        } else {
            real += static_cast<double>(static_cast<Magnitude>(sample));
        }
        magnitudes += static_cast<double>(magnitude);
        moment += static_cast<double>(magnitude) * x;
    }
    survey.sum += std::complex<double>(real, imaginary);
    survey.magnitudes += magnitudes;
    survey.least = std::min(survey.least, static_cast<double>(least));
    survey.moments[0] += magnitudes * static_cast<double>(at.z);
    survey.moments[1] += magnitudes * static_cast<double>(at.y);
    survey.moments[2] += magnitudes * static_cast<double>(at.x) + moment;
    if (static_cast<double>(most) < survey.most) return;
    // Looks for the peak from the middle on, to both sides.
    const auto is_peak = [&](index_t x) {
        return x >= 0 && x < count && magnitude_of(row[x * stride]) == most;
    };
    const index_t nearest = std::clamp<index_t>(middle.x - at.x, 0, count - 1);
    for (index_t distance = 0; distance < count; ++distance)
        for (const index_t x : {nearest - distance, nearest + distance})
            if (is_peak(x))
                return offer_peak(static_cast<double>(most), {at.z, at.y, at.x + x}, middle,
                                  survey);
}

// Rounds to the nearest index. Half-way positions are rounded up, as the middle k/2 is, also if
// rounding errors have made them a little less.
Index3 rounded(const std::array<double, 3>& position) {
    Index3 index;
    for (int a = 0; a < 3; ++a)
        index[a] = static_cast<index_t>(position[static_cast<std::size_t>(a)] + 0.5 + 1e-6);
    return index;
}

}  // namespace

KernelSurvey survey_kernel(const ConstImageView& kernel, int threads) {
    check_memory(kernel, "the kernel");
    const Shape3& shape = kernel.shape;
    if (element_count(shape) == 0) return {};
    constexpr index_t most_samples = 1 << 16;  // samples of a row that are added at once
    const Index3 middle{shape.z / 2, shape.y / 2, shape.x / 2};
    const index_t groups = row_groups(shape);
    std::vector<KernelSurvey> parts(static_cast<std::size_t>(groups));
    for_each_row(kernel, groups, threads,
                 [&](const auto* row, auto stride, index_t z, index_t y, index_t group) {
                     for (index_t x = 0; x < shape.x; x += most_samples)
                         add_samples(row + x * stride, stride,
                                     static_cast<int>(std::min(most_samples, shape.x - x)),
                                     {z, y, x}, middle, parts[static_cast<std::size_t>(group)]);
                 });
    KernelSurvey survey;
    for (const KernelSurvey& part : parts) {
        survey.sum += part.sum;
        survey.magnitudes += part.magnitudes;
        survey.least = std::min(survey.least, part.least);
        for (std::size_t a = 0; a < 3; ++a) survey.moments[a] += part.moments[a];
        offer_peak(part.most, part.peak, middle, survey);
    }
    // The sum of finite float64 samples may overflow, too.
    if (!std::isfinite(survey.magnitudes))
        if (const auto found = pixels::find_nonfinite(kernel, threads)) {
            survey.nonfinite = found->index;
            survey.nonfinite_value = found->value;
        }
    return survey;
}

std::array<double, 3> centroid_of(const KernelSurvey& survey) {
    if (!(survey.magnitudes > 0) || !std::isfinite(survey.magnitudes))
        throw BadData(
            "a kernel that is zero everywhere, or not finite, has no centroid: check "
            "that the right file was given, or choose another center");
    std::array<double, 3> centroid = survey.moments;
    for (double& value : centroid) value /= survey.magnitudes;
    return centroid;
}

Index3 center_index(const KernelCenter& center, const Shape3& kernel, const KernelSurvey& survey) {
    using Kind = KernelCenter::Kind;
    Index3 index = center.index;
    if (center.kind == Kind::peak) index = survey.peak;
    if (center.kind == Kind::centroid) index = rounded(centroid_of(survey));
    for (int a = 0; a < 3; ++a) {
        if (center.kind == Kind::middle) index[a] = kernel[a] / 2;
        if (center.kind == Kind::scipy) index[a] = (kernel[a] - 1) / 2;
        if (center.kind == Kind::corner) index[a] = 0;
        if (index[a] < 0 || index[a] >= kernel[a])
            throw InvalidArgument(message("the kernel's center ", index[a], " along ", axis_name(a),
                                          " lies outside its ", kernel[a],
                                          " samples: give an index from 0 to ", kernel[a] - 1));
    }
    return index;
}

}  // namespace convolume
