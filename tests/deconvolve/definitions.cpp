// SPDX-License-Identifier: Apache-2.0
#include "tests/deconvolve/definitions.hpp"

#include <algorithm>
#include <cmath>

#include "convolume/missing_pixels.hpp"

namespace convolume::testing {

Array filled(const Shape3& shape, double value) {
    Array array(shape);
    for (Complex& element : array.values) element = value;
    return array;
}

double total(const Array& array) {
    double sum = 0;
    for (const Complex& value : array.values) sum += value.real();
    return sum;
}

namespace {

double difference(const Array& x, const Index3& at, int axis, const DeconvolveOptions& options) {
    Index3 next = at;
    if (++next[axis] == x.shape[axis]) return 0;
    const VoxelSize& size = options.voxel;
    const double spacing = size[axis] / std::min(size[0], std::min(size[1], size[2]));
    return (x(next.z, next.y, next.x) - x(at.z, at.y, at.x)).real() / spacing;
}

// Returns the terms of the total variation that depend on the sample at `at`.
double local_variation(const Array& x, const Index3& at, double smallest,
                       const DeconvolveOptions& options) {
    double sum = 0;
    for (int neighbor = 0; neighbor < 4; ++neighbor) {
        Index3 place = at;
        if (neighbor < 3 && --place[neighbor] < 0) continue;
        double squares = smallest * smallest;
        for (int a = 0; a < 3; ++a) squares += std::pow(difference(x, place, a, options), 2);
        sum += std::sqrt(squares);
    }
    return sum;
}

// Computes the derivative of the total variation by finite differences.
Array variation_derivative(Array x, double smallest, const DeconvolveOptions& options) {
    Array result(x.shape);
    const double h = 1e-6;
    for (index_t k = 0; k < x.shape.z; ++k)
        for (index_t j = 0; j < x.shape.y; ++j)
            for (index_t i = 0; i < x.shape.x; ++i) {
                const Complex here = x(k, j, i);
                x(k, j, i) = here + h;
                const double above = local_variation(x, {k, j, i}, smallest, options);
                x(k, j, i) = here - h;
                const double below = local_variation(x, {k, j, i}, smallest, options);
                x(k, j, i) = here;
                result(k, j, i) = (above - below) / (2 * h);
            }
    return result;
}

// Returns the minimum over f of De Pierro's bound for a voxel, squared: the root of its derivative,
//     a f - p c / f + Σ w (2 f - √p - √p_j)
// `point` is p, `light` is p c, and the sum has all neighbors but those of 0.
double most_probable(const Array& point, const Index3& at, double reach, double light,
                     const DeconvolveOptions& options) {
    const VoxelSize& size = options.voxel;
    const double least = std::min(size[0], std::min(size[1], size[2]));
    const double here = std::sqrt(point(at.z, at.y, at.x).real());
    const auto derivative = [&](double f) {
        double sum = reach * f - light / f;
        for (int a = 0; a < 3; ++a)
            for (const int side : {-1, 1}) {
                Index3 next = at;
                next[a] += side;
                if (next[a] < 0 || next[a] == point.shape[a]) continue;
                const double there = point(next.z, next.y, next.x).real();
                const double weight = *options.roughness * std::pow(least / size[a], 2);
                if (there > 0 && here > 0) sum += weight * (2 * f - here - std::sqrt(there));
            }
        return sum;
    };
    double low = 1e-12, high = 1e6;
    for (int k = 0; k < 200; ++k) {
        const double middle = std::sqrt(low * high);
        (derivative(middle) < 0 ? low : high) = middle;
    }
    return low * high;
}

}  // namespace

Array richardson_lucy(const Model& model, const Array& y, const DeconvolveOptions& options,
                      const Array* weights) {
    const double offset = options.offset.value_or(0);
    const double background = *options.background - offset;
    Array compared = filled(model.image, 1), measured = compared, kept = y;
    const auto is_at_least = [&](std::size_t i, double level) {
        return y.values[i].real() >= level;
    };
    const auto is_saturated = [&](std::size_t i) {
        return options.saturation && is_at_least(i, *options.saturation);
    };
    for (std::size_t i = 0; i < y.values.size(); ++i) {
        if (is_saturated(i)) measured.values[i] = kept.values[i] = 0;
        if (is_at_least(i, static_cast<double>(missing_pixel))) compared.values[i] = 0;
        if (weights) compared.values[i] *= weights->values[i];
    }
    const double mean = total(kept) / total(measured);
    const Array weight = model.back(compared);
    Array x = filled(model.object, mean - *options.background);
    for (int k = 0; k < options.iterations; ++k) {
        Array ratio = model.blur(x);
        for (std::size_t i = 0; i < ratio.values.size(); ++i) {
            const double expected = ratio.values[i].real() + background;
            const double counts = std::max(y.values[i].real() - offset, 0.0);
            ratio.values[i] = counts / expected;
            // A saturated pixel is a lower bound.
            if (is_saturated(i))
                ratio.values[i] = std::max(*options.saturation - offset, expected) / expected;
            ratio.values[i] *= compared.values[i];
        }
        const Array correction = model.back(ratio);
        const bool tv = options.method == DeconvolveMethod::richardson_lucy_tv;
        const double weight_of_penalty = options.tv_weight.value_or(0);
        const double smallest = std::max(1e-3, 40 * weight_of_penalty) *
                                std::max(mean - *options.background, 1e-3 * (mean - offset));
        const Array penalty =
            tv ? variation_derivative(x, smallest, options) : filled(model.object, 0);
        const Array point = x;
        for (std::size_t i = 0; i < x.values.size(); ++i) {
            const double reach = weight.values[i].real();
            if (options.method == DeconvolveMethod::maximum_a_posteriori) {
                const index_t n = static_cast<index_t>(i), row = x.shape.x, plane = x.shape.y * row;
                const Index3 at{n / plane, n % plane / row, n % row};
                const double light = (point.values[i] * correction.values[i]).real();
                x.values[i] = reach < 1e-2 ? 0 : most_probable(point, at, reach, light, options);
                continue;
            }
            const double divisor =
                std::max(reach + weight_of_penalty * std::sqrt(std::max(reach, 0.0)) *
                                     penalty.values[i].real(),
                         0.1 * reach);
            x.values[i] = reach < 1e-2 ? 0 : x.values[i] * correction.values[i] / divisor;
        }
    }
    return x;
}

Array least_squares(const Model& model, const Array& y, const DeconvolveOptions& options) {
    const double background = *options.background;
    const Array weight = model.back(filled(model.image, 1));
    const double mean = total(y) / static_cast<double>(y.count());
    Array x = filled(model.object, mean - background), previous = x;
    double t = 1, last = 0;
    for (int k = 0; k < options.iterations; ++k) {
        const double next = (1 + std::sqrt(1 + 4 * t * t)) / 2;
        Array point = x;
        if (k > 0)
            for (std::size_t i = 0; i < x.values.size(); ++i) {
                const double step = (x.values[i] - previous.values[i]).real();
                point.values[i] = std::max(x.values[i].real() + (t - 1) / next * step, 0.0);
            }
        if (k > 0) t = next;
        const Gradient gradient(model, y, point, background);
        if (k > 0 && gradient.objective > last) t = 1;
        last = gradient.objective;
        previous = x;
        for (std::size_t i = 0; i < x.values.size(); ++i) {
            const double reach = weight.values[i].real();
            x.values[i] =
                reach < 1e-2 ? 0 : std::max(point.values[i].real() - gradient[i] / reach, 0.0);
        }
    }
    return x;
}

}  // namespace convolume::testing
