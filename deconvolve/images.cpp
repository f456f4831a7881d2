// SPDX-License-Identifier: Apache-2.0

#include "deconvolve/images.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <numeric>

#include "convolume/error.hpp"
#include "convolume/image_view.hpp"
#include "core/pixels/rows.hpp"
#include "core/threads.hpp"
#include "deconvolve/methods/richardson_lucy_elements.hpp"

namespace convolume::deconvolve {

void check_image(const ConstImageView& image, int threads) {
    if (is_complex(image.type))
        throw BadData("the image is complex: give its intensity, which is real");
    if (const auto found = pixels::find_nonfinite(image, threads))
        throw NonfiniteSample(found->value, {.index = found->index}, "repair it first");
}

void check_estimate(const ConstImageView& estimate, int threads) {
    if (const auto found = pixels::find_nonfinite(estimate, threads))
        throw BadData(message("the initial estimate holds ", found->value,
                              " at z,y,x = ", to_string(found->index, ","), ": repair it first"));
}

namespace {

/// Returns the mean of the pixels in the shortest interval that holds a quarter of the pixels. Of
/// larger images, takes about a hundred thousand pixels, evenly spaced.
double usual_level(const ConstImageView& image) {
    constexpr index_t enough = 1 << 17;
    const index_t count = element_count(image.shape);
    const index_t stride = std::max<index_t>(1, count / enough);
    std::vector<double> values;
    values.reserve(static_cast<std::size_t>(ceil_div(count, stride)));
    visit_pixel_type(image.type, [&](auto tag) {
        using T = typename decltype(tag)::type;
        if constexpr (std::is_arithmetic_v<T>)
            for (index_t i = 0; i < count; i += stride) {
                const index_t row = i / image.shape.x;
                values.push_back(static_cast<double>(*static_cast<const T*>(
                    image.at(row / image.shape.y, row % image.shape.y, i % image.shape.x))));
            }
    });
    std::sort(values.begin(), values.end());
    const std::size_t width = (values.size() + 3) / 4;
    std::size_t best = 0;
    for (std::size_t i = 0; i + width <= values.size(); ++i)
        if (values[i + width - 1] - values[i] < values[best + width - 1] - values[best]) best = i;
    const auto first = values.begin() + static_cast<std::ptrdiff_t>(best);
    return std::accumulate(first, first + static_cast<std::ptrdiff_t>(width), 0.0) /
           static_cast<double>(width);
}

/// Means of the regions of an image that differ most from a level.
struct RegionRange {
    std::optional<double> darkest;  ///< set if it is below the level by more than noise explains
    double brightest = -std::numeric_limits<double>::infinity();
};

/// Compares regions with a level. Regions are squares of a plane: small enough to lie between
/// objects, large enough for a mean. Of larger images, takes about four million pixels.
template <class T>
RegionRange range_of_regions(const ConstImageView& image, double level) {
    constexpr index_t edge = 16, enough = 1 << 22;
    // The darkest of about ten thousand dark regions is four standard errors below the mean.
    double most_errors = 8;
    RegionRange range;
    const Shape3 shape = image.shape;
    const index_t height = std::min(edge, shape.y), width = std::min(edge, shape.x);
    const auto count = static_cast<double>(height * width);
    if (count < 16) return range;
    const index_t stride = height * std::max<index_t>(1, element_count(shape) / enough);
    for (index_t z = 0; z < shape.z; ++z)
        for (index_t top = 0; top + height <= shape.y; top += stride)
            for (index_t left = 0; left + width <= shape.x; left += width) {
                double sum = 0, squares = 0;
                for (index_t y = top; y < top + height; ++y)
                    for (index_t x = left; x < left + width; ++x) {
                        const double away =
                            static_cast<double>(*static_cast<const T*>(image.at(z, y, x))) - level;
                        sum += away;
                        squares += away * away;
                    }
                const double mean = sum / count;
                range.brightest = std::max(range.brightest, mean + level);
                // Values are rounded, so their variance is at least 1/12.
                const double variance = std::max(squares / count - mean * mean, 1.0 / 12);
                const double errors = -mean / std::sqrt(variance / count);
                if (errors <= most_errors) continue;
                most_errors = errors;
                range.darkest = mean + level;
            }
    return range;
}

RegionRange range_of_regions(const ConstImageView& image, double level) {
    return visit_pixel_type(image.type, [&](auto tag) {
        using T = typename decltype(tag)::type;
        if constexpr (std::is_arithmetic_v<T>)
            return range_of_regions<T>(image, level);
        else
            return RegionRange{};
    });
}

}  // namespace

ImageBackground estimate_background(const ConstImageView& image) {
    // Haze of a widefield image, and specimens that fill less than three quarters of it, raise the
    // usual level above the darkest region by less than this share of the brightest region.
    constexpr double noticeable = 0.1;
    const double level = usual_level(image);
    const RegionRange regions = range_of_regions(image, level);
    if (!std::isfinite(regions.brightest)) return {};  // planes of fewer than 16 pixels
    if (!regions.darkest ||
        level - *regions.darkest <= noticeable * (regions.brightest - *regions.darkest))
        return {level};
    const bool far_above_zero = *regions.darkest > noticeable * regions.brightest;
    return {0, far_above_zero ? regions.darkest : std::nullopt};
}

ImageBackground check_background(const ConstImageView& image, double background) {
    if (!(background > 0)) return {background};
    return {background, range_of_regions(image, background).darkest};
}

double mean_of(double sum, index_t pixels) {
    if (pixels == 0)
        throw BadData("all pixels of the image are saturated: give a higher saturation");
    return sum / static_cast<double>(pixels);
}

LoadedImage load_image(const ConstImageView& image, bool clip, std::optional<double> saturation,
                       HostMemory memory, int threads,
                       const std::function<void(const float*, index_t, index_t)>& write) {
    const Shape3 shape = image.shape;
    const pixels::RowGather gather(identity_indices(shape.x));
    Volume plane({1, shape.y, shape.x}, PixelType::float32, memory);
    float* const values = plane.elements<float>();
    std::vector<double> sums(static_cast<std::size_t>(shape.y));
    std::vector<index_t> negatives(sums.size()), saturated(sums.size());
    const double level = saturation.value_or(std::numeric_limits<double>::infinity());
    LoadedImage loaded;
    double total = 0;
    for (index_t z = 0; z < shape.z; ++z) {
        parallel_for(shape.y, threads, [&](index_t y, int) {
            float* const row = values + y * shape.x;
            pixels::load_row(image, z, y, gather, {}, row);
            double sum = 0;
            index_t negative = 0, full = 0;
            for (index_t x = 0; x < shape.x; ++x) {
                negative += row[x] < 0;
                if (clip) row[x] = std::max(row[x], 0.0F);
                const auto value = static_cast<double>(row[x]);
                if (value >= level) row[x] = richardson_lucy::not_compared;
                full += value >= level;
                sum += value >= level ? 0 : value;
            }
            sums[static_cast<std::size_t>(y)] = sum;
            negatives[static_cast<std::size_t>(y)] = negative;
            saturated[static_cast<std::size_t>(y)] = full;
        });
        total = std::accumulate(sums.begin(), sums.end(), total);
        if (clip)
            loaded.negative_pixels =
                std::accumulate(negatives.begin(), negatives.end(), loaded.negative_pixels);
        loaded.saturated_pixels =
            std::accumulate(saturated.begin(), saturated.end(), loaded.saturated_pixels);
        write(values, z * shape.y * shape.x, shape.y * shape.x);
    }
    loaded.mean = mean_of(total, element_count(shape) - loaded.saturated_pixels);
    return loaded;
}

void load_start(const ConstImageView& start, const Shape3& object, const Index3& at, float outside,
                HostMemory memory,
                const std::function<void(const float*, index_t, index_t)>& write) {
    const Index3 first = start.shape == object ? Index3{} : at;
    const pixels::RowGather gather(identity_indices(start.shape.x));
    Volume plane({1, object.y, object.x}, PixelType::float32, memory);
    float* const values = plane.elements<float>();
    for (index_t z = 0; z < object.z; ++z) {
        std::fill_n(values, object.y * object.x, outside);
        const index_t source = z - first.z;
        if (source >= 0 && source < start.shape.z)
            for (index_t y = 0; y < start.shape.y; ++y)
                pixels::load_row(start, source, y, gather, {},
                                 values + (y + first.y) * object.x + first.x);
        write(values, z * object.y * object.x, object.y * object.x);
    }
}

void store_result(const ImageView& result, const Shape3& object, const Index3& at,
                  HostMemory memory, int threads, ExecutionReport& report,
                  const std::function<void(float*, index_t, index_t)>& read) {
    const Shape3 shape = result.shape;
    Volume plane({1, shape.y, object.x}, PixelType::float32, memory);
    float* const values = plane.elements<float>();
    std::atomic<index_t> low{0};
    std::atomic<index_t> high{0};
    for (index_t z = 0; z < shape.z; ++z) {
        read(values, ((z + at.z) * object.y + at.y) * object.x, shape.y * object.x);
        parallel_for(shape.y, threads, [&](index_t y, int) {
            const ClampCount clamped =
                pixels::store_row(values + y * object.x + at.x, shape.x, 0, result, z, y);
            low += clamped.low;
            high += clamped.high;
        });
    }
    report.clamped_low = low;
    report.clamped_high = high;
}

}  // namespace convolume::deconvolve
