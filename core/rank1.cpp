// SPDX-License-Identifier: Apache-2.0
#include "core/rank1.hpp"

#include <cmath>

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

// Returns the lines through the sample of largest magnitude.
std::optional<Factors> lines_through_peak(const ConstImageView& kernel) {
    double peak = 0;
    Index3 peak_at;
    for_each_value(kernel, [&](double value, const Index3& at) {
        if (std::abs(value) > std::abs(peak)) {
            peak = value;
            peak_at = at;
        }
    });
    if (peak == 0) return {};
    Factors factors;
    for (int a = 0; a < 3; ++a)
        factors[static_cast<std::size_t>(a)].resize(static_cast<std::size_t>(kernel.shape[a]));
    for_each_value(kernel, [&](double value, const Index3& at) {
        for (int a = 0; a < 3; ++a) {
            bool on_line = true;
            for (int other = 0; other < 3; ++other)
                on_line = on_line && (other == a || at[other] == peak_at[other]);
            if (on_line)
                factors[static_cast<std::size_t>(a)][static_cast<std::size_t>(at[a])] =
                    a == 0 ? value : value / peak;
        }
    });
    return factors;
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

}  // namespace

std::optional<RankOne> factor_rank1(const ConstImageView& kernel, Precision precision) {
    std::optional<Factors> factors = lines_through_peak(kernel);
    // This check avoids the sweeps for the many kernels that are far from rank 1.
    if (!factors || relative_distance(kernel, *factors) > 1e-5) return {};
    for (int sweep = 0; sweep < 2; ++sweep)
        for (int axis = 0; axis < 3; ++axis) improve(kernel, *factors, axis);
    const double tolerance = precision == Precision::float32 ? 1e-7 : 1e-15;
    if (!(relative_distance(kernel, *factors) <= tolerance)) return {};
    return RankOne{std::move(*factors)};
}

}  // namespace convolume
