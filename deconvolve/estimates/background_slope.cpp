// SPDX-License-Identifier: Apache-2.0
#include "deconvolve/estimates/background_slope.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <vector>

#include "convolume/error.hpp"
#include "convolume/missing_pixels.hpp"
#include "core/threads.hpp"
#include "deconvolve/estimates/constants.hpp"
#include "deconvolve/estimates/dark_level.hpp"
#include "deconvolve/estimates/levels.hpp"
#include "deconvolve/missing/plane_bands.hpp"
#include "optics/least_squares.hpp"

namespace convolume::deconvolve {

namespace {

// A square of all planes, and means of a few of its pixels.
struct Region {
    index_t y = 0, x = 0, height = 0, width = 0;
    std::vector<double> levels{};

    double middle_y() const { return static_cast<double>(y) + static_cast<double>(height - 1) / 2; }
    double middle_x() const { return static_cast<double>(x) + static_cast<double>(width - 1) / 2; }
};

// Edge of the regions along an axis, each of which overlaps its neighbors by half.
index_t edge_of(index_t extent) {
    return std::max(varying::least_edge, extent / varying::edges_of_image);
}

std::vector<index_t> starts_of(index_t extent) {
    const index_t left = extent - edge_of(extent);
    const index_t steps = ceil_div(2 * left, edge_of(extent));
    std::vector<index_t> starts{0};
    for (index_t i = 1; i <= steps; ++i) starts.push_back(i * left / steps);
    return starts;
}

std::vector<Region> regions_of(const Shape3& image) {
    std::vector<Region> all;
    for (const index_t y : starts_of(image.y))
        for (const index_t x : starts_of(image.x))
            all.push_back({y, x, edge_of(image.y), edge_of(image.x)});
    return all;
}

// Adds the levels of a plane. Of large regions some rows are taken.
void add_levels(const Plane& plane, index_t z, index_t planes, const PixelBounds& bounds,
                Region& region) {
    const index_t of_row = region.width / regions::edge;
    const index_t rows = std::max<index_t>(1, planes * region.height * of_row / common::enough);
    for (index_t y = 0; y < region.height; ++y) {
        if ((z * region.height + y) % rows != 0) continue;
        for (index_t i = 0; i < of_row; ++i) {
            double sum = 0;
            bool is_compared = true;
            for (index_t k = 0; k < regions::edge; ++k) {
                const float pixel = plane.at(region.y + y, region.x + i * regions::edge + k);
                is_compared = is_compared && pixel < missing_pixel && !bounds.apply_to(pixel);
                sum += static_cast<double>(pixel);
            }
            if (is_compared) region.levels.push_back(sum / static_cast<double>(regions::edge));
        }
    }
}

// A plane over y and x, which are counted from the image's middle.
struct FittedPlane {
    double mean = 0, along_y = 0, along_x = 0;
};

struct RegionLevel : Level {
    double y = 0, x = 0;

    double above(const FittedPlane& plane) const {
        return value - plane.mean - plane.along_y * y - plane.along_x * x;
    }
};

// Fits a plane by weighted least squares. weight(level) is 0 for levels that are left out.
template <class Weight>
FittedPlane fit(const std::vector<RegionLevel>& levels, const Weight& weight) {
    optics::Matrix normal(3, std::vector<double>(3, 0.0));
    std::array<double, 3> right{};
    for (const RegionLevel& level : levels) {
        const std::array<double, 3> terms{1, level.y, level.x};
        const double of_level = weight(level);
        for (std::size_t i = 0; i < 3; ++i) {
            right[i] += of_level * terms[i] * level.value;
            for (std::size_t j = 0; j < 3; ++j) normal[i][j] += of_level * terms[i] * terms[j];
        }
    }
    const optics::Matrix inverse = optics::symmetric_inverse(normal);
    const auto solution = [&](std::size_t i) {
        return std::inner_product(inverse[i].begin(), inverse[i].end(), right.begin(), 0.0);
    };
    return {solution(0), solution(1), solution(2)};
}

// Fits the plane above which three quarters of the levels are, by reweighted least squares of their
// absolute errors (Koenker and Bassett, Econometrica 46:33, 1978). Objects in less than about half
// of the regions do not lift it.
FittedPlane fit_lower_quarter(const std::vector<RegionLevel>& levels) {
    FittedPlane plane = fit(levels, [](const RegionLevel& level) { return 1 / level.error; });
    constexpr int rounds = 50;
    for (int round = 0; round < rounds; ++round)
        plane = fit(levels, [&, last = plane](const RegionLevel& level) {
            const double above = level.above(last);
            return (above > 0 ? 0.25 : 0.75) /
                   (level.error * std::max(std::abs(above), level.error));
        });
    return plane;
}

// Fits a plane to the levels that are not brighter than it by more than noise explains. Returns a
// plane without slope if these are not most levels: objects may then decide on it.
FittedPlane fit_dark(const std::vector<RegionLevel>& levels) {
    constexpr std::size_t fewest = 6;  // most of them are more than a plane needs
    if (levels.size() < fewest) return {};
    FittedPlane plane = fit_lower_quarter(levels);
    const auto is_dark = [&](const RegionLevel& level, const FittedPlane& below) {
        return level.above(below) < varying::most_errors * level.error;
    };
    const auto count = static_cast<index_t>(levels.size());
    index_t used = 0;
    constexpr int most_rounds = 20;
    for (int round = 0; round < most_rounds; ++round) {
        const auto dark =
            std::count_if(levels.begin(), levels.end(),
                          [&](const RegionLevel& level) { return is_dark(level, plane); });
        if (2 * dark <= count) return {};
        if (dark == used) break;
        used = dark;
        plane = fit(levels, [&, last = plane](const RegionLevel& level) {
            return is_dark(level, last) ? 1 / (level.error * level.error) : 0;
        });
    }
    return plane;
}

}  // namespace

void check_varying_background(const DeconvolutionProblem& problem) {
    const index_t least = 2 * varying::least_edge;
    if (std::min(problem.image.y, problem.image.x) < least)
        throw InvalidArgument(sentence("a background that varies shows in images of at least ",
                                       least, " pixels along y and x, and this one has ",
                                       to_string(problem.image), ": give ",
                                       OptionName{"background"}, " as a number, or auto"));
    if (has_haze(problem))
        throw InvalidArgument(sentence(
            "the PSF lays haze over the image, which varies as slowly as a background: give ",
            OptionName{"background"},
            " as a number or auto, or divide by a flat field before the deconvolution"));
}

BackgroundSlope find_background_slope(ImageSource& image, const PixelBounds& bounds, int threads) {
    const Shape3 shape = image.format().shape;
    constexpr index_t band_bytes = index_t{64} << 20;
    std::vector<Region> all = regions_of(shape);
    for_each_band(image, 0, 0, band_bytes, [&](index_t first, const ImageView& planes) {
        parallel_for(static_cast<index_t>(all.size()), threads, [&](index_t i, int) {
            for (index_t k = 0; k < planes.shape.z; ++k)
                add_levels(plane_of(planes, k), first + k, shape.z, bounds,
                           all[static_cast<std::size_t>(i)]);
        });
    });
    std::vector<RegionLevel> levels;
    double errors = 0;
    for (Region& region : all) {
        if (region.levels.size() < static_cast<std::size_t>(common::fewest)) continue;
        RegionLevel level{usual_level(std::move(region.levels)),
                          region.middle_y() - static_cast<double>(shape.y - 1) / 2,
                          region.middle_x() - static_cast<double>(shape.x - 1) / 2};
        errors += level.error;
        levels.push_back(level);
    }
    // Levels of integers may be equal by chance: no region is much surer than others.
    const double least = errors > 0 ? 0.1 * errors / static_cast<double>(levels.size()) : 1;
    for (RegionLevel& level : levels) level.error = std::max(level.error, least);
    const FittedPlane plane = fit_dark(levels);
    return {shape, plane.along_y, plane.along_x};
}

StackFormat FlattenedVolume::format() const {
    StackFormat format = source_.format();
    format.type = PixelType::float32;
    return format;
}

void FlattenedVolume::read_box(index_t t, index_t c, const Box3& box, const ImageView& target) {
    read_as_float32(source_, t, c, box, target);
    const Shape3 shape = box.shape();
    std::vector<float> less(static_cast<std::size_t>(shape.x));
    for (index_t y = 0; y < shape.y; ++y) {
        for (index_t x = 0; x < shape.x; ++x)
            less[static_cast<std::size_t>(x)] = static_cast<float>(slope_.at(
                static_cast<double>(box.begin.y + y), static_cast<double>(box.begin.x + x)));
        for (index_t z = 0; z < shape.z; ++z)
            for (index_t x = 0; x < shape.x; ++x) {
                auto& pixel = target.at<float>(z, y, x);
                if (pixel >= missing_pixel) continue;
                const float here = less[static_cast<std::size_t>(x)];
                pixel = bounds_.apply_to(pixel) ? encoded_bound(*bounds_.bound_of(pixel) - here)
                                                : pixel - here;
            }
    }
}

}  // namespace convolume::deconvolve
