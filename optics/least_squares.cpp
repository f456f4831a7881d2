// SPDX-License-Identifier: Apache-2.0
#include "optics/least_squares.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace convolume::optics {

Matrix symmetric_inverse(Matrix a) {
    constexpr double ridge = 1e-12;
    const std::size_t n = a.size();
    std::vector<double> scale(n);
    for (std::size_t i = 0; i < n; ++i) scale[i] = a[i][i] > 0 ? 1 / std::sqrt(a[i][i]) : 0;
    Matrix result(n, std::vector<double>(n));
    for (std::size_t i = 0; i < n; ++i) {
        for (std::size_t j = 0; j < n; ++j) a[i][j] *= scale[i] * scale[j];
        a[i][i] = 1 + ridge;
        result[i][i] = 1;
    }
    for (std::size_t i = 0; i < n; ++i) {
        const double pivot = 1 / std::max(a[i][i], ridge);
        for (std::size_t k = 0; k < n; ++k) {
            a[i][k] *= pivot;
            result[i][k] *= pivot;
        }
        for (std::size_t j = 0; j < n; ++j) {
            if (j == i) continue;
            const double factor = a[j][i];
            for (std::size_t k = 0; k < n; ++k) {
                a[j][k] -= factor * a[i][k];
                result[j][k] -= factor * result[i][k];
            }
        }
    }
    for (std::size_t i = 0; i < n; ++i)
        for (std::size_t j = 0; j < n; ++j) result[i][j] *= scale[i] * scale[j];
    return result;
}

namespace {

using Vector = std::vector<double>;

double dot(const Vector& a, const Vector& b) {
    double sum = 0;
    for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
    return sum;
}

class LevenbergMarquardt {
  public:
    LevenbergMarquardt(const Residuals& residuals, const std::vector<FitParameter>& parameters,
                       const ExecutionContext& context)
        : residuals_(residuals), parameters_(parameters), context_(context) {
        for (const FitParameter& p : parameters) x_.push_back(std::clamp(p.start, p.low, p.high));
        r_ = residuals_at(x_);
        sum_ = dot(r_, r_);
    }

    void run() {
        constexpr int most_rounds = 40;
        double damping = 1e-3;
        for (int round = 0; round < most_rounds; ++round) {
            linearize();
            if (free_.empty() || !descend(damping)) break;
        }
        linearize();
    }

    LeastSquaresFit result() const {
        LeastSquaresFit fit{{}, sum_};
        for (const double x : x_) fit.parameters.push_back({x, 0, true});
        for (const std::size_t i : free_) fit.parameters[i].at_bound = false;
        std::vector<std::size_t> all(x_.size());
        std::iota(all.begin(), all.end(), std::size_t{0});
        const Matrix a = normal(all), inner = symmetric_inverse(a);
        for (const std::size_t i : all)
            fit.parameters[i].deviation = deviation(a[i][i], inner[i], i);
        return fit;
    }

  private:
    Vector residuals_at(const Vector& x) const {
        throw_if_stopped(context_);
        return residuals_(x);
    }

    /// Computes the derivatives, and which parameters are free: those not at a bound that the
    /// descent direction crosses.
    void linearize() {
        columns_.clear();
        free_.clear();
        for (std::size_t i = 0; i < x_.size(); ++i) {
            const FitParameter& p = parameters_[i];
            Vector below = x_, above = x_;
            below[i] = std::max(p.low, x_[i] - p.step);
            above[i] = std::min(p.high, x_[i] + p.step);
            Vector column = residuals_at(above);
            const Vector before = residuals_at(below);
            for (std::size_t k = 0; k < column.size(); ++k)
                column[k] = (column[k] - before[k]) / (above[i] - below[i]);
            const double slope = dot(column, r_);
            columns_.push_back(std::move(column));
            if ((x_[i] > p.low || slope < 0) && (x_[i] < p.high || slope > 0)) free_.push_back(i);
        }
    }

    /// Returns the matrix of the normal equations for the chosen parameters.
    Matrix normal(const std::vector<std::size_t>& chosen) const {
        Matrix a(chosen.size(), Vector(chosen.size()));
        for (std::size_t i = 0; i < a.size(); ++i)
            for (std::size_t j = 0; j < a.size(); ++j)
                a[i][j] = dot(columns_[chosen[i]], columns_[chosen[j]]);
        return a;
    }

    /// Tries ever shorter steps until the sum falls. Returns false if it hardly falls.
    bool descend(double& damping) {
        constexpr double most_damping = 1e8, least_gain = 1e-10;
        const Matrix a = normal(free_);
        Vector slopes;
        for (const std::size_t i : free_) slopes.push_back(dot(columns_[i], r_));
        for (; damping < most_damping; damping *= 10) {
            Matrix damped = a;
            for (std::size_t i = 0; i < a.size(); ++i) damped[i][i] *= 1 + damping;
            const Matrix inner = symmetric_inverse(damped);
            Vector next = x_;
            for (std::size_t i = 0; i < a.size(); ++i) {
                const FitParameter& p = parameters_[free_[i]];
                next[free_[i]] = std::clamp(x_[free_[i]] - dot(inner[i], slopes), p.low, p.high);
            }
            Vector r = residuals_at(next);
            const double sum = dot(r, r);
            if (!(sum < sum_)) continue;
            const double gain = sum_ - sum;
            x_ = std::move(next);
            r_ = std::move(r);
            sum_ = sum;
            damping = std::max(damping / 10, 1e-9);
            return gain > least_gain * sum;
        }
        return false;
    }

    /// Returns the standard deviation of parameter i, from its diagonal element of the normal
    /// matrix and its row of the inverse.
    double deviation(double diagonal, const Vector& row, std::size_t i) const {
        constexpr double independent_share =
            1e-10;  // least effect that other parameters do not share
        const auto count = static_cast<double>(r_.size());
        const double spare = count - static_cast<double>(row.size());
        if (!(diagonal * row[i] > 0 && diagonal * row[i] * independent_share < 1) || !(spare > 0))
            return std::numeric_limits<double>::infinity();
        double variance = 0;
        for (std::size_t k = 0; k < r_.size(); ++k) {
            double change = 0;
            for (std::size_t j = 0; j < row.size(); ++j) change += row[j] * columns_[j][k];
            variance += change * change * r_[k] * r_[k];
        }
        return std::sqrt(variance * count / spare);
    }

    const Residuals& residuals_;
    const std::vector<FitParameter>& parameters_;
    const ExecutionContext& context_;
    Vector x_, r_;
    double sum_;
    std::vector<std::size_t> free_;
    std::vector<Vector> columns_;  ///< derivatives of the residuals by each parameter
};

}  // namespace

LeastSquaresFit least_squares(const Residuals& residuals,
                              const std::vector<FitParameter>& parameters,
                              const ExecutionContext& context) {
    LevenbergMarquardt fit(residuals, parameters, context);
    fit.run();
    return fit.result();
}

}  // namespace convolume::optics
