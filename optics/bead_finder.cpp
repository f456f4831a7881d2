// SPDX-License-Identifier: Apache-2.0
#include "optics/bead_finder.hpp"

#include <algorithm>
#include <cmath>

namespace convolume::optics {

namespace {

// Noise of a sample after the binomial filter 1 4 6 4 1 along three axes: (70/256)^(3/2) of it.
constexpr double noise_left = 0.143;
constexpr double certain = 10;  // standard deviations of the noise that is left
// Rings and secondary maxima of a bead are dimmer than this part of it, other beads brighter.
constexpr double lobe = 0.15;
constexpr double dim = 0.1;  // of the fifth brightest: what is dimmer is light of others, or dirt
constexpr double far_lobe = 0.05;  // the same farther away, up to twice the box

struct Maximum {
    Index3 at;
    double height;
};

struct Level {
    double middle, deviation;
};

double median(std::vector<float>& values) {
    const auto half = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::nth_element(values.begin(), half, values.end());
    return static_cast<double>(*half);
}

/// Median, and the deviation of noise by that of distances from it.
Level level_of(const float* values, index_t count) {
    const index_t step = std::max<index_t>(1, count / 1'000'003);
    std::vector<float> some;
    for (index_t i = 0; i < count; i += step) some.push_back(values[i]);
    const double middle = median(some);
    for (float& value : some) value = std::abs(value - static_cast<float>(middle));
    return {middle, std::max(1.4826 * median(some), 1e-9 + 1e-6 * std::abs(middle))};
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

std::vector<Maximum> maxima_of(const std::vector<float>& values, const Shape3& shape,
                               double background, double least) {
    std::vector<Maximum> maxima;
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
    std::stable_sort(maxima.begin(), maxima.end(),
                     [](const Maximum& a, const Maximum& b) { return a.height > b.height; });
    return maxima;
}

bool within(const Index3& a, const Index3& b, const Shape3& reach) {
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

/// Mean of samples within three deviations of the middle, outside of all boxes.
double mean_outside(const ConstImageView& stack, const std::vector<Maximum>& beads,
                    const Shape3& reach, const Level& level) {
    const Shape3 shape = stack.shape;
    std::vector<char> covered(static_cast<std::size_t>(element_count(shape)));
    for (const Maximum& bead : beads)
        for (index_t z = std::max<index_t>(0, bead.at.z - reach.z);
             z <= std::min(shape.z - 1, bead.at.z + reach.z); ++z)
            for (index_t y = std::max<index_t>(0, bead.at.y - reach.y);
                 y <= std::min(shape.y - 1, bead.at.y + reach.y); ++y)
                std::fill_n(covered.begin() + (z * shape.y + y) * shape.x +
                                std::max<index_t>(0, bead.at.x - reach.x),
                            std::min(shape.x - 1, bead.at.x + reach.x) -
                                std::max<index_t>(0, bead.at.x - reach.x) + 1,
                            char{1});
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

FoundBeads find_beads(const ConstImageView& stack, const BeadOptions& options,
                      const ExecutionContext& context) {
    const Level level = level_of(static_cast<const float*>(stack.data), element_count(stack.shape));
    throw_if_stopped(context);
    const std::vector<Maximum> maxima = maxima_of(smoothed(stack), stack.shape, level.middle,
                                                  certain * noise_left * level.deviation);
    throw_if_stopped(context);
    const Shape3 half{options.size.z / 2, options.size.y / 2, options.size.x / 2};
    const Shape3 reach{half.z + 2, half.y + 2, half.x + 2};  // light of a bead outside of the box

    const Shape3 far{2 * reach.z, 2 * reach.y, 2 * reach.x};

    std::vector<Maximum> beads;
    std::vector<char> crowded;
    for (const Maximum& maximum : maxima) {
        if (beads.size() >= 5 && maximum.height < dim * beads[4].height) break;
        bool is_lobe = false, has_neighbor = false;
        for (std::size_t i = 0; i < beads.size(); ++i) {
            const double part = maximum.height / beads[i].height;
            is_lobe = is_lobe || (part < lobe && within(maximum.at, beads[i].at, reach)) ||
                      (part < far_lobe && within(maximum.at, beads[i].at, far));
            if (part < lobe || !within(maximum.at, beads[i].at, reach)) continue;
            has_neighbor = true;
            crowded[i] = 1;
        }
        if (is_lobe) continue;
        beads.push_back(maximum);
        crowded.push_back(has_neighbor);
    }

    FoundBeads found;
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
            found.alone.push_back(at);
    }
    return found;
}

}  // namespace convolume::optics
