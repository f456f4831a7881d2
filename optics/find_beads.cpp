// SPDX-License-Identifier: Apache-2.0
#include "optics/find_beads.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "core/order_statistics.hpp"

namespace convolume::optics {

namespace {

// Noise of a sample after the binomial filter 1 4 6 4 1 along three axes, as a share of the noise
// before: (70/256)^(3/2).
constexpr double smoothed_noise = 0.143;
// Least height of a bead above the background, in standard deviations of the smoothed noise.
constexpr double detection_sigmas = 10;
// Largest height of rings and side lobes near a bead, as a share of the bead's height. A higher
// maximum is another bead.
constexpr double highest_lobe = 0.15;
// Least height of a bead, as a share of the fifth brightest bead's. Lower maxima are stray light or
// dirt.
constexpr double dimmest_bead = 0.1;
// Largest height of side lobes up to twice as far from a bead, as a share of the bead's height.
constexpr double highest_far_lobe = 0.05;

struct LocalMaximum {
    Index3 at;
    double height;
};

struct BackgroundLevel {
    double middle, deviation;
};

/// Returns the median, and the standard deviation of noise by the median distance from it. If most
/// values are equal to the median, as in 8 bits, the noise may be as large as would just round to
/// it: half a gray level is then the median distance.
BackgroundLevel background_level(const float* values, index_t count) {
    const index_t step = std::max<index_t>(1, count / 1'000'003);
    std::vector<float> sampled;
    for (index_t i = 0; i < count; i += step) sampled.push_back(values[i]);
    const auto middle = static_cast<double>(take_distances(sampled));
    auto distance = static_cast<double>(upper_median(sampled));
    if (distance == 0) {
        float gray_level = std::numeric_limits<float>::infinity();
        for (const float away : sampled)
            if (away > 0) gray_level = std::min(gray_level, away);
        if (std::isfinite(gray_level)) distance = 0.5 * static_cast<double>(gray_level);
    }
    return {middle, std::max(deviation_of_distance * distance, 1e-9 + 1e-6 * std::abs(middle))};
}

std::vector<float> smoothed(const ConstImageView& stack) {
    const Shape3 shape = stack.shape;
    const auto* const first = static_cast<const float*>(stack.data);
    std::vector<float> from(first, first + element_count(shape)), to(from.size());
    const index_t strides[] = {shape.y * shape.x, shape.x, 1};
    constexpr float weights[] = {0.0625F, 0.25F, 0.375F, 0.25F, 0.0625F};
    for (int axis = 0; axis < 3; ++axis) {
        const index_t stride = strides[axis], extent = shape[axis];
        if (extent == 1) continue;
        for (index_t i = 0; i < element_count(shape); ++i) {
            const index_t at = i / stride % extent;
            float sum = 0;
            for (index_t t = -2; t <= 2; ++t) {
                const index_t there = std::clamp(at + t, index_t{0}, extent - 1);
                sum += weights[t + 2] * from[static_cast<std::size_t>(i + (there - at) * stride)];
            }
            to[static_cast<std::size_t>(i)] = sum;
        }
        from.swap(to);
    }
    return from;
}

std::vector<LocalMaximum> local_maxima(const std::vector<float>& values, const Shape3& shape,
                                       double background, double least) {
    std::vector<LocalMaximum> maxima;
    const auto at = [&](index_t z, index_t y, index_t x) {
        return values[static_cast<std::size_t>((z * shape.y + y) * shape.x + x)];
    };
    for (index_t z = 0; z < shape.z; ++z)
        for (index_t y = 0; y < shape.y; ++y)
            for (index_t x = 0; x < shape.x; ++x) {
                const float here = at(z, y, x);
                if (static_cast<double>(here) - background < least) continue;
                bool highest = true;
                for (index_t i = 0; i < 27 && highest; ++i) {
                    const index_t there[] = {z + i / 9 - 1, y + i / 3 % 3 - 1, x + i % 3 - 1};
                    if (i == 13 || there[0] < 0 || there[1] < 0 || there[2] < 0 ||
                        there[0] >= shape.z || there[1] >= shape.y || there[2] >= shape.x)
                        continue;
                    const float other = at(there[0], there[1], there[2]);
                    highest = i < 13 ? here > other : here >= other;
                }
                if (highest) maxima.push_back({{z, y, x}, static_cast<double>(here) - background});
            }
    std::stable_sort(
        maxima.begin(), maxima.end(),
        [](const LocalMaximum& a, const LocalMaximum& b) { return a.height > b.height; });
    return maxima;
}

bool is_within(const Index3& a, const Index3& b, const Shape3& reach) {
    for (int axis = 0; axis < 3; ++axis)
        if (std::abs(a[axis] - b[axis]) > reach[axis]) return false;
    return true;
}

bool is_saturated(const ConstImageView& stack, const Index3& at, double value) {
    int count = 0;
    for (index_t i = 0; i < 125; ++i) {
        const Index3 there{at.z + i / 25 - 2, at.y + i / 5 % 5 - 2, at.x + i % 5 - 2};
        bool inside = true;
        for (int axis = 0; axis < 3; ++axis)
            inside = inside && there[axis] >= 0 && there[axis] < stack.shape[axis];
        if (inside)
            count += static_cast<double>(
                         *static_cast<const float*>(stack.at(there.z, there.y, there.x))) >= value;
    }
    return count > 1;
}

/// Returns the mean of samples within three deviations of the median, outside of all beads' boxes.
double mean_outside(const ConstImageView& stack, const std::vector<LocalMaximum>& beads,
                    const Shape3& reach, const BackgroundLevel& level) {
    const Shape3 shape = stack.shape;
    std::vector<char> covered(static_cast<std::size_t>(element_count(shape)));
    const auto low = [&](const LocalMaximum& bead, int axis) {
        return std::max<index_t>(0, bead.at[axis] - reach[axis]);
    };
    const auto high = [&](const LocalMaximum& bead, int axis) {
        return std::min(shape[axis] - 1, bead.at[axis] + reach[axis]);
    };
    for (const LocalMaximum& bead : beads)
        for (index_t z = low(bead, 0); z <= high(bead, 0); ++z)
            for (index_t y = low(bead, 1); y <= high(bead, 1); ++y)
                std::fill_n(covered.begin() + (z * shape.y + y) * shape.x + low(bead, 2),
                            high(bead, 2) - low(bead, 2) + 1, char{1});
    const auto* const values = static_cast<const float*>(stack.data);
    double sum = 0;
    index_t count = 0;
    for (std::size_t i = 0; i < covered.size(); ++i) {
        const double away = static_cast<double>(values[i]) - level.middle;
        if (covered[i] || std::abs(away) > 3 * level.deviation + 0.5) continue;
        sum += away;
        ++count;
    }
    return level.middle + (count > 0 ? sum / static_cast<double>(count) : 0);
}

}  // namespace

BeadPsf find_beads(const ConstImageView& stack, const BeadOptions& options,
                   const ExecutionContext& context) {
    const BackgroundLevel level =
        background_level(static_cast<const float*>(stack.data), element_count(stack.shape));
    throw_if_stopped(context);
    const std::vector<LocalMaximum> maxima =
        local_maxima(smoothed(stack), stack.shape, level.middle,
                     detection_sigmas * smoothed_noise * level.deviation);
    throw_if_stopped(context);
    const Shape3 half{options.size.z / 2, options.size.y / 2, options.size.x / 2};
    // Half extents of the box and the light around it.
    const Shape3 reach{half.z + 2, half.y + 2, half.x + 2};

    const Shape3 far{2 * reach.z, 2 * reach.y, 2 * reach.x};

    std::vector<LocalMaximum> beads;
    std::vector<char> crowded;
    for (const LocalMaximum& maximum : maxima) {
        if (beads.size() >= 5 && maximum.height < dimmest_bead * beads[4].height) break;
        bool is_lobe = false, has_neighbor = false;
        for (std::size_t i = 0; i < beads.size(); ++i) {
            const double part = maximum.height / beads[i].height;
            is_lobe = is_lobe ||
                      (part < highest_lobe && is_within(maximum.at, beads[i].at, reach)) ||
                      (part < highest_far_lobe && is_within(maximum.at, beads[i].at, far));
            if (part < highest_lobe || !is_within(maximum.at, beads[i].at, reach)) continue;
            has_neighbor = true;
            crowded[i] = 1;
        }
        if (is_lobe) continue;
        beads.push_back(maximum);
        crowded.push_back(has_neighbor);
    }

    BeadPsf found;
    found.found = static_cast<index_t>(beads.size());
    found.background = mean_outside(stack, beads, reach, level);
    for (std::size_t i = 0; i < beads.size(); ++i) {
        const Index3 at = beads[i].at;
        bool inside = true;
        for (int axis = 0; axis < 3; ++axis)
            inside = inside && at[axis] >= half[axis] && at[axis] + half[axis] < stack.shape[axis];
        if (options.saturation && is_saturated(stack, at, *options.saturation))
            ++found.saturated;
        else if (crowded[i])
            ++found.crowded;
        else if (!inside)
            ++found.at_border;
        else
            found.beads.push_back(
                {{static_cast<double>(at.z), static_cast<double>(at.y), static_cast<double>(at.x)},
                 0});
    }
    return found;
}

}  // namespace convolume::optics
