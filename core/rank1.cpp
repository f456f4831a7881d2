// SPDX-License-Identifier: Apache-2.0
#include "core/rank1.hpp"

#include <cmath>
#include <utility>

#include "core/views.hpp"

namespace convolume {

namespace {

using Factors = std::array<std::vector<double>, 3>;

// Calls f(value, {z, y, x}) for every sample.
template <class F>
void for_each_value(const ConstImageView& kernel, const F& f) {
    for_each_sample(kernel, [&](const auto& sample, const Index3& at) {
        if constexpr (requires { static_cast<double>(sample); })
            f(static_cast<double>(sample), at);
        else
            throw InternalError("rank 1 is asked of real kernels only");
    });
}

double product_without(const Factors& factors, const Index3& at, int axis) {
    double product = 1;
    for (int a = 0; a < 3; ++a)
        if (a != axis)
            product *= factors[static_cast<std::size_t>(a)][static_cast<std::size_t>(at[a])];
    return product;
}

struct PeakLines {
    Factors factors;  // their product is `peak` at the peak
    double peak = 0;
};

// Returns the lines through the sample of largest magnitude.
std::optional<PeakLines> lines_through_peak(const ConstImageView& kernel) {
    PeakLines lines;
    double& peak = lines.peak;
    Index3 peak_at;
    for_each_value(kernel, [&](double value, const Index3& at) {
        if (std::abs(value) > std::abs(peak)) {
            peak = value;
            peak_at = at;
        }
    });
    if (peak == 0) return {};
    for (int a = 0; a < 3; ++a) {
        Box3 line{peak_at, {peak_at.z + 1, peak_at.y + 1, peak_at.x + 1}};
        line.begin[a] = 0;
        line.end[a] = kernel.shape[a];
        auto& factor = lines.factors[static_cast<std::size_t>(a)];
        for_each_value(subview(kernel, line), [&](double value, const Index3&) {
            factor.push_back(a == 0 ? value : value / peak);
        });
    }
    return lines;
}

// Replaces one factor by the least-squares solution for the other two.
void improve(const ConstImageView& kernel, Factors& factors, int axis) {
    std::vector<double> numerator(static_cast<std::size_t>(kernel.shape[axis]), 0.0);
    for_each_value(kernel, [&](double value, const Index3& at) {
        numerator[static_cast<std::size_t>(at[axis])] += value * product_without(factors, at, axis);
    });
    double norm = 1;
    for (int a = 0; a < 3; ++a) {
        if (a == axis) continue;
        double squares = 0;
        for (const double value : factors[static_cast<std::size_t>(a)]) squares += value * value;
        norm *= squares;
    }
    for (std::size_t i = 0; i < numerator.size(); ++i)
        factors[static_cast<std::size_t>(axis)][i] = numerator[i] / norm;
}

double relative_distance(const ConstImageView& kernel, const Factors& factors) {
    double difference = 0;
    double total = 0;
    for_each_value(kernel, [&](double value, const Index3& at) {
        const double residual = value - product_without(factors, at, 3);
        difference += residual * residual;
        total += value * value;
    });
    return std::sqrt(difference / total);
}

// Whether the relative distance from the product of the lines surely exceeds `bound`. Most kernels
// that are not of rank 1 show it in their first planes. No sample is larger than the peak.
bool is_far(const ConstImageView& kernel, const PeakLines& lines, double bound) {
    const double largest =
        static_cast<double>(element_count(kernel.shape)) * lines.peak * lines.peak;
    double difference = 0;
    for (index_t z = 0; z < kernel.shape.z; ++z) {
        const Box3 plane{{z, 0, 0}, {z + 1, kernel.shape.y, kernel.shape.x}};
        for_each_value(subview(kernel, plane), [&](double value, const Index3& at) {
            const double residual = value - product_without(lines.factors, {z, at.y, at.x}, 3);
            difference += residual * residual;
        });
        if (difference > bound * bound * largest) return true;
    }
    return false;
}

}  // namespace

std::optional<RankOne> factor_rank1(const ConstImageView& kernel, Precision precision) {
    std::optional<PeakLines> lines = lines_through_peak(kernel);
    // These checks avoid the sweeps for the many kernels that are far from rank 1.
    constexpr double far = 1e-5;
    if (!lines || is_far(kernel, *lines, far)) return {};
    std::optional<Factors> factors = std::move(lines->factors);
    if (relative_distance(kernel, *factors) > far) return {};
    for (int sweep = 0; sweep < 2; ++sweep)
        for (int axis = 0; axis < 3; ++axis) improve(kernel, *factors, axis);
    const double tolerance = precision == Precision::float32 ? 1e-7 : 1e-15;
    if (!(relative_distance(kernel, *factors) <= tolerance)) return {};
    return RankOne{std::move(*factors)};
}

}  // namespace convolume
