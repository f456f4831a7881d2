// SPDX-License-Identifier: Apache-2.0

#include "deconvolve/estimates/levels.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "convolume/error.hpp"
#include "convolume/image_view.hpp"
#include "core/pixels/rows.hpp"
#include "deconvolve/estimates/constants.hpp"
#include "deconvolve/estimates/dark_level.hpp"
#include "deconvolve/problem.hpp"

namespace convolume::deconvolve {

void check_estimate(const ConstImageView& estimate, int threads) {
    if (const auto found = pixels::find_nonfinite(estimate, threads))
        throw BadData(message("the initial estimate holds ", found->value,
                              " at z,y,x = ", to_string(found->index, ","), ": repair it first"));
}

Level usual_level(std::vector<double> values) {
    std::sort(values.begin(), values.end());
    const std::size_t width = (values.size() + 3) / 4;
    // Means of integers have many equally short intervals. The first one would be too dark.
    std::vector<std::size_t> shortest;
    double least = std::numeric_limits<double>::infinity();
    for (std::size_t i = 0; i + width <= values.size(); ++i) {
        const double length = values[i + width - 1] - values[i];
        if (length < least) shortest.clear();
        if (length <= least) shortest.push_back(i);
        least = std::min(least, length);
    }
    const std::size_t best = shortest[shortest.size() / 2];
    const auto first = values.begin() + static_cast<std::ptrdiff_t>(best);
    // The middle quarter of normal deviates of variance 1 is 0.637 wide. The place of the shortest
    // interval converges with the cube root of the number of values (Andrews et al., Robust
    // Estimates of Location, 1972), with a factor of 2 in simulations.
    const double deviation = least / 0.637;
    return {std::accumulate(first, first + static_cast<std::ptrdiff_t>(width), 0.0) /
                static_cast<double>(width),
            2 * deviation / std::cbrt(static_cast<double>(values.size()))};
}

namespace {

/// Means of the regions of an image that differ most from a level.
struct RegionRange {
    std::optional<double> darkest;  ///< set if it is below the level by more than noise explains
    double least = std::numeric_limits<double>::infinity();
    double brightest = -std::numeric_limits<double>::infinity();
};

/// Compares the regions of strips with a level.
template <class T>
RegionRange range_of_regions(const Strips& strips, double level, double saturation) {
    double most_errors = regions::most_errors;
    RegionRange range;
    const Shape3 shape = strips.view.shape;
    const index_t height = strips.height, width = std::min(regions::edge, shape.x);
    const auto count = static_cast<double>(height * width);
    for (index_t z = 0; z < shape.z; ++z)
        for (index_t top = 0; top < strips.count * strips.stride; top += strips.stride)
            for (index_t left = 0; left + width <= shape.x; left += width) {
                double sum = 0, squares = 0;
                bool is_complete = true;
                for (index_t y = top; y < top + height; ++y)
                    for (index_t x = left; x < left + width; ++x) {
                        const auto value =
                            static_cast<double>(*static_cast<const T*>(strips.view.at(z, y, x)));
                        const double away = value - level;
                        is_complete = is_complete && value < saturation;
                        sum += away;
                        squares += away * away;
                    }
                if (!is_complete) continue;
                const double mean = sum / count;
                range.brightest = std::max(range.brightest, mean + level);
                range.least = std::min(range.least, mean + level);
                // Values are rounded, so their variance is at least 1/12.
                const double variance = std::max(squares / count - mean * mean, 1.0 / 12);
                const double errors = -mean / std::sqrt(variance / count);
                if (errors <= most_errors) continue;
                most_errors = errors;
                range.darkest = mean + level;
            }
    return range;
}

RegionRange range_of_regions(const Strips& strips, double level, double saturation) {
    if (strips.count == 0) return {};  // planes of too few pixels
    return visit_pixel_type(strips.view.type, [&](auto tag) {
        using T = typename decltype(tag)::type;
        if constexpr (std::is_arithmetic_v<T>)
            return range_of_regions<T>(strips, level, saturation);
        else
            return RegionRange{};
    });
}

}  // namespace

Strips::Strips(const Shape3& image) {
    height = std::min(regions::edge, image.y);
    stride = height * std::max<index_t>(1, element_count(image) / regions::enough_pixels);
    if (height * std::min(regions::edge, image.x) >= regions::edge)
        count = (image.y - height) / stride + 1;
}

BackgroundEstimate::BackgroundEstimate(const Shape3& image, std::optional<double> saturation)
    : shape_(image),
      saturation_(saturation.value_or(std::numeric_limits<double>::infinity())),
      strips_(image) {
    const index_t count = element_count(image);
    level_width_ = std::clamp<index_t>(count / regions::few_levels, 1,
                                       std::min(regions::widest_level, image.x));
    level_stride_ = std::max(level_width_, count / regions::enough_levels);
    levels_.reserve(static_cast<std::size_t>(ceil_div(count, level_stride_)));
}

index_t BackgroundEstimate::kept_bytes(const Shape3& image, PixelType type) {
    const Strips strips(image);
    return checked_multiply(image.z * strips.count * strips.height * image.x,
                            static_cast<index_t>(size_of(type)));
}

void BackgroundEstimate::add(const ConstImageView& planes, index_t z) {
    const index_t plane = shape_.y * shape_.x, first = z * plane;
    const index_t end = first + planes.shape.z * plane;
    visit_pixel_type(planes.type, [&](auto tag) {
        using T = typename decltype(tag)::type;
        if constexpr (std::is_arithmetic_v<T>)
            for (index_t i = round_up(first, level_stride_); i < end; i += level_stride_) {
                const index_t row = i / shape_.x;
                const index_t begin = std::min(i % shape_.x, shape_.x - level_width_);
                double sum = 0, most = -saturation_;
                for (index_t x = begin; x < begin + level_width_; ++x) {
                    const auto value = static_cast<double>(
                        *static_cast<const T*>(planes.at(row / shape_.y - z, row % shape_.y, x)));
                    sum += value;
                    most = std::max(most, value);
                }
                if (most < saturation_) levels_.push_back(sum / static_cast<double>(level_width_));
            }
    });
    if (planes.shape.z == shape_.z) {
        strips_.view = planes;
        return;
    }
    if (z == 0) kept_ = Volume({shape_.z, strips_.count * strips_.height, shape_.x}, planes.type);
    const index_t height = strips_.height, stride = Strips(shape_).stride;
    for (index_t k = 0; k < planes.shape.z; ++k)
        for (index_t strip = 0; strip < strips_.count; ++strip) {
            const index_t from = strip * stride, to = strip * height;
            convert_pixels(
                subview(planes, {{k, from, 0}, {k + 1, from + height, shape_.x}}),
                subview(kept_.view(), {{z + k, to, 0}, {z + k + 1, to + height, shape_.x}}));
        }
    strips_.stride = height;
    strips_.view = std::as_const(kept_).view();
}

ImageBackground BackgroundEstimate::estimate() const {
    if (levels_.empty()) return {};
    const auto [level, error] = usual_level(levels_);
    const RegionRange range = range_of_regions(strips_, level, saturation_);
    if (!std::isfinite(range.brightest)) return {};  // planes of fewer than 16 pixels
    if (!range.darkest ||
        level - *range.darkest <= regions::noticeable * (range.brightest - *range.darkest))
        return {level, {}, range.least, !range.darkest, error};
    const bool far_above_zero = *range.darkest > regions::noticeable * range.brightest;
    return {0, far_above_zero ? range.darkest : std::nullopt, range.least, false};
}

ImageBackground BackgroundEstimate::check(double given) const {
    if (!(given > 0)) return {given};
    const RegionRange range = range_of_regions(strips_, given, saturation_);
    return {given, range.darkest, range.least};
}

namespace {

/// Returns the offset, and sets its error if it is that of the noise.
double offset_of(const ImageBackground& background, const std::optional<NoiseFit>& noise,
                 const DeconvolveOptions& options, std::optional<double> gain,
                 std::optional<double>& error) {
    if (options.offset)
        return *options.offset - (gain ? options.read_noise * options.read_noise / *gain : 0);
    if (!noise || !noise->has_offset) return 0;
    // An image that is darker somewhere has other noise than that of photons.
    if (noise->offset > background.darkest_region + 3 * noise->offset_error) return 0;
    error = noise->offset_error;
    const double most =
        std::min(background.darkest_region, options.background.value_or(noise->offset));
    return std::max(0.0, std::min(noise->offset, most));
}

}  // namespace

void set_levels(const ImageBackground& background, const std::optional<NoiseFit>& noise,
                const DeconvolutionProblem& problem, const FindHazeBackground& find_under_haze,
                LoadedImage& loaded) {
    const DeconvolveOptions& options = problem.options;
    loaded.background = background.level;
    loaded.darkest = background.darkest;
    loaded.background_error = background.error;
    loaded.is_filtered = noise && noise->is_filtered && !options.gain;
    const bool tells_gain = noise && !noise->is_filtered;
    loaded.photons.gain = options.gain.value_or(tells_gain ? noise->gain : 1);
    loaded.has_gain = options.gain || tells_gain;
    loaded.noise = loaded.photons;
    if (!problem.traits.counts_photons && options.splits == 0) return;
    const std::optional<double> gain =
        loaded.has_gain ? std::optional(loaded.photons.gain) : std::nullopt;
    const double offset = offset_of(background, noise, options, gain, loaded.offset_error);
    loaded.noise.offset = offset;
    if (!problem.traits.counts_photons) return;
    loaded.photons.offset = offset;
    if (options.background) return;
    const bool may_be_haze = problem.dark_level && problem.dark_level->has_haze();
    if (find_under_haze && (!background.is_certain || may_be_haze)) {
        constexpr double unlimited = std::numeric_limits<double>::infinity();
        const HazeBackground found =
            find_under_haze({loaded.has_gain ? loaded.photons.gain : unlimited, offset});
        loaded.background = found.level;
        loaded.background_error = std::max(found.level - found.least, found.most - found.level);
        loaded.darkest.reset();
        loaded.is_under_haze = true;
    }
    loaded.background = std::max(loaded.background, offset);
    if (loaded.background_error) {
        const double light = loaded.mean - loaded.background;
        loaded.background_error = std::hypot(*loaded.background_error, regions::noticeable * light);
    }
}

ImageBackground find_background(const ConstImageView& image, std::optional<double> given,
                                std::optional<double> saturation) {
    BackgroundEstimate found(image.shape, saturation);
    found.add(image, 0);
    return found.find(given);
}

double mean_of(double sum, index_t pixels) {
    if (pixels == 0)
        throw BadData(
            "all pixels of the image are saturated or have no data: give a higher saturation, or "
            "another mask");
    return sum / static_cast<double>(pixels);
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

}  // namespace convolume::deconvolve
