// SPDX-License-Identifier: Apache-2.0
#include "volumes/missing_samples.hpp"

#include <cmath>
#include <limits>

#include "convolume/error.hpp"
#include "core/threads.hpp"

namespace convolume {

namespace {

void fill_finite_mask(const ConstImageView& image, const ImageView& mask, int threads) {
    visit_pixel_type(image.type, [&](auto tag) {
        using T = typename decltype(tag)::type;
        parallel_for(image.shape.z * image.shape.y, threads, [&](index_t row, int) {
            const index_t z = row / image.shape.y, y = row % image.shape.y;
            for (index_t x = 0; x < image.shape.x; ++x) {
                bool is_there = true;
                if constexpr (std::is_floating_point_v<T>)
                    is_there = std::isfinite(*static_cast<const T*>(image.at(z, y, x)));
                mask.at<float>(z, y, x) = is_there ? 1.0F : 0.0F;
            }
        });
    });
}

}  // namespace

Volume finite_mask(const ConstImageView& image, int threads) {
    Volume mask(image.shape, PixelType::float32);
    fill_finite_mask(image, mask.view(), threads);
    return mask;
}

StackFormat FiniteMask::format() const {
    StackFormat format = image_.format();
    format.type = PixelType::float32;
    return format;
}

void FiniteMask::read_box(index_t t, index_t c, const Box3& box, const ImageView& target) {
    Volume samples(box.shape(), image_.format().type);
    image_.read_box(t, c, box, samples.view());
    fill_finite_mask(samples.view(), target, threads_);
}

KernelWeight::KernelWeight(double kernel_sum, double magnitudes, bool is_double) : sum(kernel_sum) {
    // Transforms round each result by a few ε of the largest sum that there can be.
    const double rounding =
        is_double ? std::numeric_limits<double>::epsilon() : std::numeric_limits<float>::epsilon();
    constexpr double roundings = 100;
    least = roundings * rounding * magnitudes;
    if (std::abs(sum) <= least)
        throw InvalidArgument(
            "results are divided by the part of the kernel's sum that is on samples which are not "
            "missing, but the kernel's sum is 0: fill the missing samples before, or read them as "
            "zero");
}

ClampCount KernelWeight::divide(const ImageView& sums, const ConstImageView& weights,
                                const ImageView& output, int threads) const {
    visit_pixel_type(sums.type, [&](auto tag) {
        using T = typename decltype(tag)::type;
        if constexpr (std::is_floating_point_v<T>) {
            auto* const values = static_cast<T*>(sums.data);
            const auto* const parts = static_cast<const T*>(weights.data);
            parallel_ranges(element_count(sums.shape), threads,
                            [&](index_t begin, index_t end, int) {
                                for (index_t i = begin; i < end; ++i)
                                    values[i] = static_cast<double>(std::abs(parts[i])) > least
                                                    ? values[i] * static_cast<T>(sum) / parts[i]
                                                    : std::numeric_limits<T>::quiet_NaN();
                            });
        }
    });
    return convert_pixels(sums, output, threads);
}

}  // namespace convolume
