// SPDX-License-Identifier: Apache-2.0
#include "cli/diff/difference.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include "core/threads.hpp"

namespace convolume::cli {

namespace {

constexpr index_t rows_at_once = 64;  // rows that one thread compares at a time

using Weights = std::array<double, ssim_window>;

/// Returns the weights of SSIM's windows along an axis.
Weights gaussian_weights() {
    constexpr double sigma = 1.5;
    Weights weights;
    double sum = 0;
    for (index_t i = 0; i < ssim_window; ++i) {
        const double x = static_cast<double>(i - ssim_window / 2) / sigma;
        sum += weights[static_cast<std::size_t>(i)] = std::exp(-x * x / 2);
    }
    for (double& weight : weights) weight /= sum;
    return weights;
}

/// Weighted means in windows: of both images, of the sum of their squares, and of their product.
enum Moment { mean_a, mean_b, squares, product, moment_count };

/// SSIM of the windows of a plane. The rows of the plane are added one by one.
class WindowedSimilarity {
  public:
    WindowedSimilarity(index_t columns, double range)
        : columns_(columns),
          outputs_(columns - ssim_window + 1),
          c1_(0.01 * range * 0.01 * range),
          c2_(0.03 * range * 0.03 * range),
          line_(static_cast<std::size_t>(columns)),
          ring_(static_cast<std::size_t>(ssim_window * moment_count * outputs_)),
          means_(static_cast<std::size_t>(moment_count * outputs_)) {}

    index_t windows_in_row() const { return outputs_; }

    /// Adds a row. Returns the sum of SSIM over the windows that end in it; 0 for the first rows.
    double add_row(const double* a, const double* b) {
        double* const slot = ring_.data() + row_ % ssim_window * moment_count * outputs_;
        for (int moment = 0; moment < moment_count; ++moment) {
            for (index_t x = 0; x < columns_; ++x)
                line_[static_cast<std::size_t>(x)] =
                    sample(static_cast<Moment>(moment), a[x], b[x]);
            weigh(line_.data(), 1, slot + moment * outputs_, outputs_);
        }
        ++row_;
        return row_ < ssim_window ? 0 : sum_of_row();
    }

  private:
    static double sample(Moment moment, double a, double b) {
        switch (moment) {
            case mean_a:
                return a;
            case mean_b:
                return b;
            case squares:
                return a * a + b * b;
            default:
                return a * b;
        }
    }

    /// Sets to[i] to the weighted sum of from[i + k * stride] over the taps k.
    void weigh(const double* from, index_t stride, double* to, index_t count) const {
        std::fill_n(to, count, 0.0);
        for (index_t k = 0; k < ssim_window; ++k) {
            const double weight = weights_[static_cast<std::size_t>(k)];
            const double* const shifted = from + k * stride;
#pragma omp simd
            for (index_t i = 0; i < count; ++i) to[i] += weight * shifted[i];
        }
    }

    double sum_of_row() {
        const index_t values = moment_count * outputs_;
        std::fill(means_.begin(), means_.end(), 0.0);
        for (index_t k = 0; k < ssim_window; ++k) {
            const double weight = weights_[static_cast<std::size_t>(k)];
            const double* const slot = ring_.data() + (row_ + k) % ssim_window * values;
            double* const sums = means_.data();
#pragma omp simd
            for (index_t i = 0; i < values; ++i) sums[i] += weight * slot[i];
        }
        const auto mean = [&](Moment moment, index_t x) {
            return means_[static_cast<std::size_t>(moment * outputs_ + x)];
        };
        double sum = 0;
        for (index_t x = 0; x < outputs_; ++x) {
            const double a = mean(mean_a, x), b = mean(mean_b, x);
            const double variances = mean(squares, x) - (a * a + b * b);
            const double covariance = mean(product, x) - a * b;
            sum += (2 * a * b + c1_) * (2 * covariance + c2_) /
                   ((a * a + b * b + c1_) * (variances + c2_));
        }
        return sum;
    }

    Weights weights_ = gaussian_weights();
    index_t columns_, outputs_;
    double c1_, c2_;  ///< constants that keep the quotient finite
    std::vector<double> line_;
    std::vector<double> ring_;  ///< moments of the last rows, weighted along x
    std::vector<double> means_;
    index_t row_ = 0;
};

void compare_row(const BoxPair& box, index_t z, index_t y, ImageDifference& sums) {
    const index_t at = (z * box.shape.y + y) * box.shape.x;
    const double* const a = box.first + at;
    const double* const b = box.second + at;
    for (index_t x = 0; x < box.shape.x; ++x) {
        if (a[x] == b[x] || (std::isnan(a[x]) && std::isnan(b[x]))) continue;
        double difference = std::abs(a[x] - b[x]);
        if (std::isnan(difference)) difference = std::numeric_limits<double>::infinity();
        ++sums.different;
        sums.squares += difference * difference;
        if (difference > sums.largest.difference)
            sums.largest = {
                difference, box.t, {box.begin.z + z, box.begin.y + y, box.begin.x + x}, a[x], b[x]};
    }
    sums.samples += box.shape.x;
}

/// Compares rows [begin, end) of a plane, and the windows that begin in them.
ImageDifference compare_rows(const BoxPair& box, index_t z, index_t begin, index_t end) {
    ImageDifference sums;
    for (index_t y = begin; y < end; ++y) compare_row(box, z, y, sums);
    const index_t end_of_windows = std::min(end + ssim_window - 1, box.shape.y);
    if (end_of_windows - begin < ssim_window || box.shape.x < ssim_window) return sums;
    WindowedSimilarity similarity(box.shape.x, box.range);
    for (index_t y = begin; y < end_of_windows; ++y) {
        const index_t at = (z * box.shape.y + y) * box.shape.x;
        sums.similarity += similarity.add_row(box.first + at, box.second + at);
    }
    sums.windows = (end_of_windows - begin - ssim_window + 1) * similarity.windows_in_row();
    return sums;
}

}  // namespace

void extend_range(const double* samples, index_t count, double& low, double& high) {
    for (index_t i = 0; i < count; ++i) {
        if (!std::isfinite(samples[i])) continue;
        low = std::min(low, samples[i]);
        high = std::max(high, samples[i]);
    }
}

void ImageDifference::add(const ImageDifference& later) {
    samples += later.samples;
    different += later.different;
    squares += later.squares;
    if (later.largest.difference > largest.difference) largest = later.largest;
    windows += later.windows;
    similarity += later.similarity;
}

double ImageDifference::rms() const {
    return std::sqrt(squares / static_cast<double>(samples));
}

std::optional<double> ImageDifference::psnr(double range) const {
    if (!(range > 0)) return std::nullopt;
    return 20 * std::log10(range / rms());
}

std::optional<double> ImageDifference::ssim() const {
    const double mean = similarity / static_cast<double>(windows);
    return windows > 0 && std::isfinite(mean) ? std::optional(mean) : std::nullopt;
}

ImageDifference difference_of(const BoxPair& box) {
    const index_t parts = ceil_div(box.rows, rows_at_once);
    std::vector<ImageDifference> found(static_cast<std::size_t>(box.shape.z * parts));
    parallel_for(box.shape.z * parts, thread_count(0), [&](index_t item, int) {
        const index_t begin = item % parts * rows_at_once;
        found[static_cast<std::size_t>(item)] =
            compare_rows(box, item / parts, begin, std::min(begin + rows_at_once, box.rows));
    });
    ImageDifference sums;
    for (const ImageDifference& part : found) sums.add(part);
    return sums;
}

}  // namespace convolume::cli
