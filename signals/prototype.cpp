// SPDX-License-Identifier: Apache-2.0
// Prototypes of polyphase filter banks: windowed sincs, and the taps that reconstruct a signal.

#include <algorithm>
#include <cmath>
#include <numbers>

#include "convolume/channelizer.hpp"
#include "convolume/error.hpp"
#include "core/text.hpp"
#include "core/threads.hpp"
#include "signals/channel_problem.hpp"

namespace convolume {

namespace {

std::size_t at(index_t i) {
    return static_cast<std::size_t>(i);
}

// Returns the sample at `position`, -1 … 1, of a window.
double window_value(const PrototypeWindow& window, double position) {
    const double cosine = std::cos(std::numbers::pi * position);
    switch (window.kind) {
        case PrototypeWindow::Kind::hamming:
            return 0.54 + 0.46 * cosine;
        case PrototypeWindow::Kind::hann:
            return 0.5 + 0.5 * cosine;
        case PrototypeWindow::Kind::kaiser:
            return std::cyl_bessel_i(
                       0.0, window.beta * std::sqrt(std::max(0.0, 1 - position * position))) /
                   std::cyl_bessel_i(0.0, window.beta);
        case PrototypeWindow::Kind::rectangular:
            return 1;
    }
    throw InternalError("a window outside its enumeration");
}

// A symmetric positive definite matrix, row by row, which is factored in place.
class Cholesky {
  public:
    explicit Cholesky(index_t size) : size_(size), values_(at(size * size)) {}

    double& operator()(index_t row, index_t column) { return values_[at(row * size_ + column)]; }

    /// Adds a small multiple of the largest diagonal element, since rows may depend on each other,
    /// and factors.
    void factor() {
        double largest = 0;
        for (index_t i = 0; i < size_; ++i) largest = std::max(largest, (*this)(i, i));
        for (index_t i = 0; i < size_; ++i) (*this)(i, i) += 1e-15 * largest;
        for (index_t i = 0; i < size_; ++i)
            for (index_t j = 0; j <= i; ++j) {
                double sum = (*this)(i, j);
                for (index_t k = 0; k < j; ++k) sum -= (*this)(i, k) * (*this)(j, k);
                if (i == j)
                    (*this)(i, i) = std::sqrt(std::max(sum, 1e-16 * largest));
                else
                    (*this)(i, j) = sum / (*this)(j, j);
            }
    }
    void solve(std::vector<double>& b) {
        for (index_t i = 0; i < size_; ++i) {
            for (index_t k = 0; k < i; ++k) b[at(i)] -= (*this)(i, k) * b[at(k)];
            b[at(i)] /= (*this)(i, i);
        }
        for (index_t i = size_; i-- > 0;) {
            for (index_t k = i + 1; k < size_; ++k) b[at(i)] -= (*this)(k, i) * b[at(k)];
            b[at(i)] /= (*this)(i, i);
        }
    }

  private:
    index_t size_;
    std::vector<double> values_;
};

// The equations of the taps f[l], l = phase, phase + step, …, of one phase:
//     M Σ_l f[l] h[l − kM] = δ(k),    |k| < P
class PhaseEquations {
  public:
    PhaseEquations(const std::vector<double>& taps, index_t channels, index_t step, index_t phase)
        : taps_per_channel_(static_cast<index_t>(taps.size()) / channels),
          rows_(2 * taps_per_channel_ - 1),
          columns_(ceil_div(static_cast<index_t>(taps.size()) - phase, step)),
          matrix_(at(rows_ * columns_)) {
        const auto count = static_cast<index_t>(taps.size());
        for (index_t r = 0; r < rows_; ++r)
            for (index_t c = 0; c < columns_; ++c) {
                const index_t l = phase + c * step - (r - taps_per_channel_ + 1) * channels;
                if (l >= 0 && l < count)
                    matrix_[at(r * columns_ + c)] = static_cast<double>(channels) * taps[at(l)];
            }
    }

    index_t columns() const { return columns_; }

    /// Returns the solution of least squares and of least norm, improved once.
    std::vector<double> solve() const {
        const bool is_wide = columns_ >= rows_;
        const index_t size = is_wide ? rows_ : columns_;
        Cholesky normal(size);
        for (index_t i = 0; i < size; ++i)
            for (index_t j = 0; j <= i; ++j) {
                double sum = 0;
                for (index_t k = 0; k < (is_wide ? columns_ : rows_); ++k)
                    sum += is_wide ? value(i, k) * value(j, k) : value(k, i) * value(k, j);
                normal(i, j) = sum;
            }
        normal.factor();
        std::vector<double> solution(at(columns_)), error = residual(solution);
        for (int turn = 0; turn < 2; ++turn) {
            std::vector<double> update = is_wide ? error : transposed(error);
            normal.solve(update);
            if (is_wide) update = transposed(update);
            for (index_t c = 0; c < columns_; ++c) solution[at(c)] += update[at(c)];
            error = residual(solution);
        }
        return solution;
    }

    /// Returns the sum of the squares of what the equations lack.
    double squared_error(const std::vector<double>& solution) const {
        double sum = 0;
        for (const double e : residual(solution)) sum += e * e;
        return sum;
    }

  private:
    double value(index_t row, index_t column) const { return matrix_[at(row * columns_ + column)]; }

    std::vector<double> residual(const std::vector<double>& solution) const {
        std::vector<double> error(at(rows_));
        error[at(taps_per_channel_ - 1)] = 1;
        for (index_t r = 0; r < rows_; ++r)
            for (index_t c = 0; c < columns_; ++c) error[at(r)] -= value(r, c) * solution[at(c)];
        return error;
    }
    std::vector<double> transposed(const std::vector<double>& of_rows) const {
        std::vector<double> product(at(columns_));
        for (index_t r = 0; r < rows_; ++r)
            for (index_t c = 0; c < columns_; ++c) product[at(c)] += value(r, c) * of_rows[at(r)];
        return product;
    }

    index_t taps_per_channel_, rows_, columns_;
    std::vector<double> matrix_;
};

}  // namespace

std::string to_string(const PrototypeWindow& window) {
    switch (window.kind) {
        case PrototypeWindow::Kind::hamming:
            return "hamming";
        case PrototypeWindow::Kind::hann:
            return "hann";
        case PrototypeWindow::Kind::kaiser:
            return message("kaiser:", window.beta);
        case PrototypeWindow::Kind::rectangular:
            return "rectangular";
    }
    throw InternalError("a window outside its enumeration");
}

PrototypeWindow parse_prototype_window(std::string_view text) {
    if (text == "hamming") return {};
    if (text == "hann") return {PrototypeWindow::Kind::hann, 0};
    if (text == "rectangular") return {PrototypeWindow::Kind::rectangular, 0};
    if (text.starts_with("kaiser:")) {
        const auto beta = number_in<double>(text.substr(7));
        if (beta && *beta >= 0 && *beta <= 500) return {PrototypeWindow::Kind::kaiser, *beta};
    }
    throw InvalidArgument(message("'", text,
                                  "' is no window of a prototype: write hamming, hann, rectangular "
                                  "or kaiser:BETA with a BETA of 0 to 500"));
}

index_t parse_first_sample(std::string_view text) {
    if (const auto sample = number_in<index_t>(text); sample && *sample >= 0) return *sample;
    throw InvalidArgument(
        message("'", text, "' is no number of a sample: write a whole number from 0"));
}

std::vector<double> prototype_filter(index_t channels, index_t taps_per_channel,
                                     const PrototypeWindow& window) {
    check_channel_sizes(channels, taps_per_channel, channels);
    const index_t count = channels * taps_per_channel;
    std::vector<double> taps(at(count));
    double sum = 0;
    const double middle = static_cast<double>(count - 1) / 2;
    for (index_t l = 0; l < count; ++l) {
        const double distance = static_cast<double>(l) - middle;
        const double angle = std::numbers::pi * distance / static_cast<double>(channels);
        const double sinc = angle == 0 ? 1 : std::sin(angle) / angle;
        taps[at(l)] = sinc * window_value(window, middle > 0 ? distance / middle : 0);
        sum += taps[at(l)];
    }
    for (double& tap : taps) tap /= sum;
    return taps;
}

DualPrototype dual_prototype(const std::vector<double>& prototype, index_t channels, index_t step) {
    const auto given = static_cast<index_t>(prototype.size());
    check_channel_sizes(channels, ceil_div(given, std::max<index_t>(channels, 1)), step);
    check_prototype(prototype);
    std::vector<double> taps = prototype;
    taps.resize(at(round_up(given, channels)));
    DualPrototype dual;
    dual.taps.resize(taps.size());
    std::vector<double> errors(at(step));
    parallel_for(step, thread_count(0), [&](index_t phase, int) {
        const PhaseEquations equations(taps, channels, step, phase);
        const std::vector<double> solution = equations.solve();
        for (index_t c = 0; c < equations.columns(); ++c)
            dual.taps[at(phase + c * step)] = solution[at(c)];
        errors[at(phase)] = equations.squared_error(solution);
    });
    double sum = 0;
    for (const double error : errors) sum += error;
    dual.error = std::sqrt(sum / static_cast<double>(step));
    return dual;
}

}  // namespace convolume
