// SPDX-License-Identifier: Apache-2.0

#include "deconvolve/estimates/levels.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <numeric>
#include <utility>

#include "convolume/error.hpp"
#include "convolume/image_view.hpp"
#include "core/pixels/rows.hpp"
#include "deconvolve/estimates/constants.hpp"
#include "deconvolve/estimates/dark_level.hpp"
#include "deconvolve/problem.hpp"
#include "deconvolve/staged_planes.hpp"

namespace convolume::deconvolve {

void check_estimate(const ConstImageView& estimate, int threads) {
    if (const auto found = pixels::find_nonfinite(estimate, threads))
        throw BadData(message("the initial estimate holds ", found->value,
                              " at z,y,x = ", to_string(found->index, ","), ": repair it first"));
}

double mean_of_estimate(const ConstImageView& estimate, int threads) {
    const pixels::RowGather gather(identity_indices(estimate.shape.x));
    std::vector<double> sums(static_cast<std::size_t>(estimate.shape.z));
    parallel_for(estimate.shape.z, threads, [&](index_t z, int) {
        std::vector<float> row(static_cast<std::size_t>(estimate.shape.x));
        for (index_t y = 0; y < estimate.shape.y; ++y) {
            pixels::load_row(estimate, z, y, gather, {}, row.data());
            sums[static_cast<std::size_t>(z)] += std::accumulate(row.begin(), row.end(), 0.0);
        }
    });
    return std::accumulate(sums.begin(), sums.end(), 0.0) /
           static_cast<double>(element_count(estimate.shape));
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

/// Mean of the pixels of a region, and the variance of their noise.
struct RegionMean {
    double mean = 0, variance = 0;
};

/// The regions of an image that have no saturated pixel.
struct RegionMeans {
    std::vector<RegionMean> all;
    double pixels = 0;       ///< number of pixels of a region
    bool is_rounded = true;  ///< whether all values are integers
};

template <class T>
RegionMeans region_means(const Strips& strips, index_t edge, double saturation) {
    RegionMeans regions;
    const Shape3 shape = strips.view.shape;
    const index_t height = std::min(edge, strips.height), width = std::min(edge, shape.x);
    regions.pixels = static_cast<double>(height * width);
    const index_t steps = width > 1 ? height * (width - 1) : std::max<index_t>(1, height - 1);
    const auto add = [&](index_t z, index_t top, index_t left) {
        double sum = 0, squares = 0, previous = 0;
        for (index_t y = top; y < top + height; ++y) {
            for (index_t x = left; x < left + width; ++x) {
                const auto value =
                    static_cast<double>(*static_cast<const T*>(strips.view.at(z, y, x)));
                if (value >= saturation) return;
                regions.is_rounded = regions.is_rounded && value == std::round(value);
                sum += value;
                // Neighbors in a row differ by noise, and less by structures. Rows of one pixel
                // are neighbors of each other.
                const bool has_neighbor = width > 1 ? x > left : y > top;
                squares += has_neighbor ? (value - previous) * (value - previous) : 0;
                previous = value;
            }
        }
        regions.all.push_back({sum / regions.pixels, squares / (2 * static_cast<double>(steps))});
    };
    for (index_t z = 0; z < shape.z; ++z)
        for (index_t strip = 0; strip < strips.count; ++strip)
            for (index_t y = 0; y + height <= strips.height; y += height)
                for (index_t left = 0; left + width <= shape.x; left += width)
                    add(z, strip * strips.stride + y, left);
    return regions;
}

RegionMeans region_means(const Strips& strips, index_t edge, double saturation) {
    if (strips.count == 0) return {};  // planes of too few pixels
    return visit_pixel_type(strips.view.type, [&](auto tag) {
        using T = typename decltype(tag)::type;
        if constexpr (std::is_arithmetic_v<T>)
            return region_means<T>(strips, edge, saturation);
        else
            return RegionMeans{};
    });
}

/// Returns how far rounding to integers may move the mean of normal deviates, from the variance of
/// the rounded values: the first term of its Fourier series.
double rounding_error(double rounded_variance) {
    const double variance = std::max(0.0, rounded_variance - 1.0 / 12);
    return std::exp(-2 * std::numbers::pi * std::numbers::pi * variance) / std::numbers::pi;
}

/// Returns the level of the dark regions, of which there is at least one. Their means differ by
/// noise only, so that their median is the level, and those below the median are below it by
/// √(2/π) standard deviations in the mean, as normal deviates are. The level is the brightest mean
/// of a region that fits as such a median. Its error is at most that of a single region.
Level darkest_level(RegionMeans& regions) {
    std::vector<RegionMean>& all = regions.all;
    std::sort(all.begin(), all.end(),
              [](const RegionMean& a, const RegionMean& b) { return a.mean < b.mean; });
    const double depth = std::sqrt(2 / std::numbers::pi);
    Level level;
    double below = 0, variances = 0;
    for (std::size_t i = 0; i < all.size(); ++i) {
        variances += all[i].variance;
        const double number = static_cast<double>(i), variance = variances / (number + 1);
        const double deviation = std::sqrt(variance / regions.pixels);
        if (number * all[i].mean - below <= depth * deviation * number)
            level = {all[i].mean,
                     std::hypot(deviation, regions.is_rounded ? rounding_error(variance) : 0)};
        below += all[i].mean;
    }
    return level;
}

}  // namespace

Strips::Strips(const Shape3& image) {
    const index_t enough_pixels = common::enough * regions::edge * regions::edge;
    height = std::min(2 * regions::edge, image.y);
    stride = height * std::max<index_t>(1, element_count(image) / enough_pixels);
    if (height * std::min(2 * regions::edge, image.x) >= 2 * regions::edge)
        count = (image.y - height) / stride + 1;
}

BackgroundEstimate::BackgroundEstimate(const Shape3& image, std::optional<double> saturation)
    : shape_(image),
      saturation_(saturation.value_or(std::numeric_limits<double>::infinity())),
      strips_(image) {
    const index_t count = element_count(image);
    level_width_ =
        std::clamp<index_t>(count / regions::few_levels, 1, std::min(regions::edge, image.x));
    level_stride_ = std::max(level_width_, count / common::enough);
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
    RegionMeans regions = region_means(strips_, regions::edge, saturation_);
    RegionMeans larger = region_means(strips_, 2 * regions::edge, saturation_);
    if (levels_.empty() || regions.all.empty() || larger.all.empty()) return {};
    const Level darkest = darkest_level(regions), of_larger = darkest_level(larger);
    const Level usual = usual_level(levels_);
    const double light = mean_of_levels() - darkest.value;
    const auto is_as_dark = [&](const Level& level) {
        const double chance = haze::certain_errors * std::hypot(level.error, darkest.error);
        return level.value - darkest.value <= std::hypot(chance, common::noticeable * light);
    };
    ImageBackground found{darkest.value, {}, darkest.value};
    found.is_rounded = regions.is_rounded;
    // A quarter of the image is as dark, or quarters of a dark region are as dark as the region.
    found.is_dark = is_as_dark(usual) || is_as_dark(of_larger);
    found.error = std::hypot(darkest.error, std::max(0.0, of_larger.value - darkest.value));
    // The usual level is of more pixels, but no region may be darker.
    const double error = std::hypot(usual.error, darkest.error);
    if (usual.value - darkest.value <= error) {
        found.level = usual.value;
        found.error = error;
    }
    return found;
}

double BackgroundEstimate::mean_of_levels() const {
    return std::accumulate(levels_.begin(), levels_.end(), 0.0) /
           static_cast<double>(levels_.size());
}

ImageBackground BackgroundEstimate::check(double given) const {
    if (!(given > 0)) return {given};
    RegionMeans regions = region_means(strips_, regions::edge, saturation_);
    if (levels_.empty() || regions.all.empty()) return {given};
    const auto [darkest, error] = darkest_level(regions);
    const bool is_above =
        given - darkest >
        std::hypot(haze::certain_errors * error, common::noticeable * (mean_of_levels() - darkest));
    ImageBackground checked{given, is_above ? std::optional(darkest) : std::nullopt, darkest};
    checked.is_rounded = regions.is_rounded;
    return checked;
}

namespace {

/// Returns the offset of a camera that adds nothing but the rounding of g photons, which are whole,
/// to integers: its variance of (1 − 1/g²) / 12 counts as light, like read noise. It is at most the
/// background, as a model with more light than there is converges slowly.
double offset_of_rounding(const ImageBackground& background, std::optional<double> gain) {
    if (!gain || !background.is_rounded) return 0;
    const double rounding = std::max(0.0, *gain - 1 / *gain) / 12;
    return -std::clamp(background.level, 0.0, rounding);
}

/// Returns the offset, and sets its error if it is that of the noise.
double offset_of(const ImageBackground& background, const std::optional<NoiseFit>& noise,
                 const DeconvolveOptions& options, std::optional<double> gain,
                 std::optional<double>& error) {
    if (options.offset)
        return *options.offset - (gain ? options.read_noise * options.read_noise / *gain : 0);
    // An image that is darker somewhere has other noise than that of photons.
    if (!noise || !noise->has_offset ||
        noise->offset > background.darkest_region + 3 * noise->offset_error)
        return offset_of_rounding(background, gain);
    error = noise->offset_error;
    const double most =
        std::min(background.darkest_region, options.background.value_or(noise->offset));
    return std::max(0.0, std::min(noise->offset, most));
}

/// Sets the background, so that the light is as many times too much at one end of its range as too
/// little at the other.
void set_background(const ImageBackground& found, const DeconvolutionProblem& problem,
                    const FindHazeBackground& find_under_haze, LoadedImage& loaded) {
    const double haze = problem.dark_level ? problem.dark_level->haze() : 0;
    const double offset = loaded.photons.offset, all = std::max(0.0, loaded.mean - offset);
    // Haze over the dark regions is at most as bright as haze of the same light spread evenly.
    const auto with_haze = [&](double light) {
        return found.is_dark && light < (1 - haze) * all ? light / (1 - haze) : all;
    };
    const double above = loaded.mean - found.level;
    double least = above, most = with_haze(above), light = above, error = *found.error;
    loaded.is_under_haze = haze > common::noticeable;
    if (loaded.is_under_haze && find_under_haze) {
        constexpr double unlimited = std::numeric_limits<double>::infinity();
        const LevelRange range =
            find_under_haze({loaded.has_gain ? loaded.photons.gain : unlimited, offset});
        const double lowest = std::clamp(above - error, 0.0, all);
        const double highest = std::max(lowest, with_haze(above + error));
        least = std::clamp(loaded.mean - range.most, lowest, highest);
        most = std::clamp(loaded.mean - range.least, lowest, highest);
        if (least >= most) error = highest - lowest;  // photons and regions contradict each other
    }
    // Regions that may hold light tell nothing about it if the offset is not known.
    const bool tells_light =
        loaded.is_under_haze || found.is_dark || problem.options.offset || loaded.offset_error;
    if (tells_light && least > 0) light = std::sqrt(least * most);
    light = std::min(light, all);
    const double half_range = std::max({light - least, most - light, 0.0});
    if (!found.is_dark && half_range > common::noticeable * light) loaded.darkest = found.level;
    loaded.background = loaded.mean - light;
    loaded.background_error = std::hypot(error, half_range, common::noticeable * light);
}

}  // namespace

void set_levels(const ImageBackground& background, const std::optional<NoiseFit>& noise,
                const DeconvolutionProblem& problem, const FindHazeBackground& find_under_haze,
                LoadedImage& loaded) {
    const DeconvolveOptions& options = problem.options;
    loaded.background = background.level;
    loaded.darkest = background.darkest;
    loaded.is_filtered = noise && noise->is_filtered && !options.gain;
    const bool tells_gain = noise && !noise->is_filtered;
    loaded.photons.gain = options.gain.value_or(tells_gain ? noise->gain : 1);
    loaded.has_gain = options.gain || tells_gain;
    loaded.noise = loaded.photons;
    if (problem.traits.counts_photons || options.splits > 0) {
        const std::optional<double> gain =
            loaded.has_gain ? std::optional(loaded.photons.gain) : std::nullopt;
        loaded.noise.offset = offset_of(background, noise, options, gain, loaded.offset_error);
    }
    if (problem.traits.counts_photons) loaded.photons.offset = loaded.noise.offset;
    if (options.background) return;
    if (background.error)
        set_background(background, problem, find_under_haze, loaded);
    else
        loaded.background = loaded.photons.offset;
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
    const index_t plane = object.y * object.x;
    StagedPlanes(memory, object)
        .fill_and_copy(
            object.z,
            [&](const IndexRange& planes, float* values) {
                std::fill_n(values, planes.count() * plane, outside);
                for (index_t z = planes.begin; z < planes.end; ++z) {
                    const index_t source = z - first.z;
                    if (source < 0 || source >= start.shape.z) continue;
                    float* const target = values + (z - planes.begin) * plane;
                    for (index_t y = 0; y < start.shape.y; ++y)
                        pixels::load_row(start, source, y, gather, {},
                                         target + (y + first.y) * object.x + first.x);
                }
            },
            write);
}

}  // namespace convolume::deconvolve
