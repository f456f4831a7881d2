// SPDX-License-Identifier: Apache-2.0
// Tests fits with known answers: closed forms, Rosenbrock's valley, bounds, repeated draws.

#include <cmath>
#include <random>
#include <vector>

#include "convolume/error.hpp"
#include "optics/least_squares.hpp"
#include "tests/catch.hpp"

using namespace convolume;
using namespace convolume::optics;

namespace {

constexpr double far = 1e6;

/// Returns y = a + b t with noise that grows with t.
std::vector<double> noisy_line(unsigned seed, std::size_t count) {
    std::mt19937_64 draw(seed);
    std::normal_distribution<double> normal;
    std::vector<double> y;
    for (std::size_t i = 0; i < count; ++i) {
        const auto t = static_cast<double>(i) / static_cast<double>(count);
        y.push_back(2 + 3 * t + t * normal(draw));
    }
    return y;
}

Residuals line_through(const std::vector<double>& y) {
    return [&y](const std::vector<double>& x) {
        std::vector<double> r;
        for (std::size_t i = 0; i < y.size(); ++i)
            r.push_back(x[0] + x[1] * static_cast<double>(i) / static_cast<double>(y.size()) -
                        y[i]);
        return r;
    };
}

const std::vector<FitParameter> anywhere{{0, -far, far, 1e-3}, {0, -far, far, 1e-3}};

}  // namespace

TEST_CASE("A fitted line satisfies the normal equations", "[optics][fit]") {
    const std::vector<double> y = noisy_line(1, 50);
    double st = 0, stt = 0, sy = 0, sty = 0;
    for (std::size_t i = 0; i < y.size(); ++i) {
        const double t = static_cast<double>(i) / 50;
        st += t;
        stt += t * t;
        sy += y[i];
        sty += t * y[i];
    }
    const double slope = (50 * sty - st * sy) / (50 * stt - st * st);
    const LeastSquaresFit fit = least_squares(line_through(y), anywhere);
    CHECK(std::abs(fit.parameters[1].value - slope) < 1e-6);
    CHECK(std::abs(fit.parameters[0].value - (sy - slope * st) / 50) < 1e-6);
    CHECK_FALSE(fit.parameters[0].at_bound);
}

TEST_CASE("Deviations agree with repeated fits, also for uneven noise", "[optics][fit]") {
    constexpr unsigned repeats = 400;
    double sum = 0, squares = 0, claimed = 0;
    for (unsigned i = 0; i < repeats; ++i) {
        const std::vector<double> y = noisy_line(100 + i, 200);
        const FittedParameter slope = least_squares(line_through(y), anywhere).parameters[1];
        sum += slope.value;
        squares += slope.value * slope.value;
        claimed += slope.deviation * slope.deviation;
    }
    const double spread = std::sqrt(squares / repeats - std::pow(sum / repeats, 2));
    // The deviation of 400 draws has an uncertainty of 3.5 %.
    CHECK(std::sqrt(claimed / repeats) == Approx(spread).epsilon(0.12));
}

TEST_CASE("A curved valley is followed to its end", "[optics][fit]") {
    const Residuals rosenbrock = [](const std::vector<double>& x) {
        return std::vector<double>{1 - x[0], 10 * (x[1] - x[0] * x[0])};
    };
    const LeastSquaresFit fit = least_squares(rosenbrock, {{-1.2, -5, 5, 1e-5}, {1, -5, 5, 1e-5}});
    CHECK(std::abs(fit.parameters[0].value - 1) < 1e-4);
    CHECK(std::abs(fit.parameters[1].value - 1) < 1e-4);
    CHECK(fit.sum_of_squares < 1e-8);
}

TEST_CASE("Parameters end at their bounds, and the others at the best values for these",
          "[optics][fit]") {
    // Minimizes (x − 3)² + (y − x)² with x ≤ 2: y follows x to 2.
    const Residuals residuals = [](const std::vector<double>& x) {
        return std::vector<double>{x[0] - 3, x[1] - x[0]};
    };
    const LeastSquaresFit fit = least_squares(residuals, {{0, 0, 2, 1e-3}, {9, 0, 10, 1e-3}});
    CHECK(fit.parameters[0].value == 2);
    CHECK(fit.parameters[0].at_bound);
    CHECK(std::abs(fit.parameters[1].value - 2) < 1e-6);
    CHECK_FALSE(fit.parameters[1].at_bound);
}

TEST_CASE("Parameters that the data do not determine have infinite deviations", "[optics][fit]") {
    const Residuals idle = [](const std::vector<double>& x) {
        return std::vector<double>{x[0] - 1, x[0] - 1.1, x[0] - 0.9};
    };
    CHECK(std::isinf(
        least_squares(idle, {{0, -9, 9, 1e-3}, {0, -9, 9, 1e-3}}).parameters[1].deviation));
    const Residuals sums = [](const std::vector<double>& x) {
        return std::vector<double>{x[0] + x[1] - 1, x[0] + x[1] - 1.1, x[0] + x[1] - 0.9};
    };
    const LeastSquaresFit fit = least_squares(sums, {{0, -9, 9, 1e-3}, {0, -9, 9, 1e-3}});
    CHECK(std::isinf(fit.parameters[0].deviation));
    CHECK(std::abs(fit.parameters[0].value + fit.parameters[1].value - 1) < 1e-4);
}

TEST_CASE("A parameter at its bound has the same deviation as a free one", "[optics][fit]") {
    const std::vector<double> y = noisy_line(1, 50);
    const LeastSquaresFit open = least_squares(line_through(y), anywhere);
    const double slope = open.parameters[1].value;
    const LeastSquaresFit held =
        least_squares(line_through(y), {anywhere[0], {0, -far, slope - 1e-6, 1e-3}});
    CHECK(held.parameters[1].at_bound);
    CHECK(held.parameters[1].deviation == Approx(open.parameters[1].deviation).epsilon(1e-3));
}

TEST_CASE("A stop request ends a fit", "[optics][fit]") {
    std::stop_source source;
    source.request_stop();
    ExecutionContext context;
    context.stop = source.get_token();
    const std::vector<double> y = noisy_line(1, 50);
    CHECK_THROWS_AS(least_squares(line_through(y), anywhere, context), Cancelled);
}
