// SPDX-License-Identifier: Apache-2.0
#include "deconvolve/estimates/light_division.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "core/threads.hpp"
#include "deconvolve/estimates/constants.hpp"
#include "deconvolve/executors/row_loops.hpp"

namespace convolume::deconvolve {

namespace {

// Returns by how many standard errors the prediction `a` is worse than `b`. The errors of pixels
// are independent, since the photons are.
double errors_worse(const Prediction& a, const Prediction& b) {
    double sum = 0, squares = 0;
    for (std::size_t i = 0; i < a.errors.size(); ++i) {
        const double difference =
            static_cast<double>(a.errors[i]) - static_cast<double>(b.errors[i]);
        sum += difference;
        squares += difference * difference;
    }
    return squares > 0 ? sum / std::sqrt(squares) : 0;
}

}  // namespace

LightDivision::LightDivision(const Convolver& blur, const Convolver& back,
                             std::vector<float> counts, std::vector<float> others, int threads)
    : blur_(blur),
      back_(back),
      counts_(std::move(counts)),
      others_(std::move(others)),
      threads_(threads),
      point_(blur.input_shape(), PixelType::float32),
      step_(blur.input_shape(), PixelType::float32),
      weights_(blur.input_shape(), PixelType::float32),
      light_(blur.output_shape(), PixelType::float32) {
    float* const is_compared = light_.elements<float>();
    double sum = 0;
    for (std::size_t i = 0; i < counts_.size(); ++i) {
        is_compared[i] = counts_[i] >= 0 ? 1 : 0;
        pixels_ += counts_[i] >= 0 ? 1 : 0;
        sum += std::max(0.0, static_cast<double>(counts_[i]));
    }
    mean_ = pixels_ > 0 ? sum / pixels_ : 0;
    back_.execute(std::as_const(light_).view(), weights_.view());
}

Prediction LightDivision::run(double share) {
    const auto voxels = static_cast<std::size_t>(element_count(point_.shape()));
    std::vector<float> estimate(voxels, static_cast<float>(share * mean_)), previous = estimate;
    std::vector<float> change(voxels, 0.0F);
    double background = (1 - share) * mean_, factor = 0;
    Prediction best;
    best.error = std::numeric_limits<double>::infinity();
    int best_iteration = 0;
    for (int k = 0; k < haze::most_iterations; ++k) {
        const richardson_lucy::Extrapolation extrapolation{static_cast<float>(factor), 0};
        parallel_ranges(element_count(point_.shape()), threads_, [&](index_t i, index_t end, int) {
            fill_point({estimate.data() + i, previous.data() + i, false, extrapolation},
                       point_.elements<float>() + i, end - i);
        });
        blur_.execute(std::as_const(point_).view(), light_.view());
        background = most_likely_background(background);
        Prediction now = prediction(background);
        if (now.error < best.error) {
            best = std::move(now);
            best_iteration = k;
        }
        if (k - best_iteration >= haze::patience) break;
        compare(background);
        back_.execute(std::as_const(light_).view(), step_.view());
        factor = advance(estimate, previous, change, extrapolation);
    }
    return best;
}

// Adds up sum(first, end) of the pixels of each row, in the order of rows.
template <class Sum>
SumPair LightDivision::sum_of_rows(const Sum& sum) const {
    const Shape3 shape = light_.shape();
    std::vector<SumPair> rows(static_cast<std::size_t>(shape.z * shape.y));
    parallel_for(shape.z * shape.y, threads_, [&](index_t row, int) {
        rows[static_cast<std::size_t>(row)] = sum(row * shape.x, (row + 1) * shape.x);
    });
    SumPair total;
    for (const SumPair& row : rows) total += row;
    return total;
}

// Solves Σ (y / (light + b) - 1) = 0. Newton's steps from below the zero of this convex
// function approach it without passing it.
double LightDivision::most_likely_background(double b) const {
    const float* const light = light_.elements<float>();
    const float* const counts = counts_.data();
    for (int round = 0; round < 20; ++round) {
        const double least = least_model();
        const SumPair sums = sum_of_rows([&](index_t first, index_t end) {
            double excess = 0, slope = 0;
#pragma omp simd reduction(+ : excess, slope)
            for (index_t i = first; i < end; ++i) {
                const double is_compared = counts[i] >= 0 ? 1 : 0;
                const double model = std::max(static_cast<double>(light[i]) + b, least);
                const double ratio = is_compared * static_cast<double>(counts[i]) / model;
                excess += ratio - is_compared;
                slope += ratio / model;
            }
            return SumPair{excess, slope};
        });
        if (!(sums.second > 0)) break;
        const double next = std::clamp(b + sums.first / sums.second, 0.0, mean_);
        const bool is_near = std::abs(next - b) <= least;
        b = next;
        if (is_near) break;
    }
    return b;
}

Prediction LightDivision::prediction(double background) const {
    Prediction result;
    result.background = background;
    result.errors.resize(counts_.size());
    const float* const light = light_.elements<float>();
    const SumPair sums = sum_of_rows([&](index_t first, index_t end) {
        double all = 0;
        for (index_t k = first; k < end; ++k) {
            const auto i = static_cast<std::size_t>(k);
            if (counts_[i] < 0) continue;
            const double model =
                std::max(static_cast<double>(light[i]) + background, least_model());
            const double error = model - static_cast<double>(others_[i]) * std::log(model);
            result.errors[i] = static_cast<float>(error);
            all += error;
        }
        return SumPair{all, 0};
    });
    result.error = sums.first;
    return result;
}

// Replaces the light by the ratios of counts to their model.
void LightDivision::compare(double background) {
    float* const light = light_.elements<float>();
    const float* const counts = counts_.data();
    const double least = least_model();
    parallel_ranges(element_count(light_.shape()), threads_, [&](index_t i, index_t end, int) {
        for (; i < end; ++i) {
            const double model = std::max(static_cast<double>(light[i]) + background, least);
            light[i] =
                counts[i] < 0 ? 0 : static_cast<float>(static_cast<double>(counts[i]) / model);
        }
    });
}

// Takes the step from the point, and returns the factor of the next extrapolation.
double LightDivision::advance(std::vector<float>& estimate, std::vector<float>& previous,
                              std::vector<float>& change,
                              const richardson_lucy::Extrapolation& extrapolation) {
    const Shape3 shape = point_.shape();
    const index_t plane = shape.y * shape.x;
    std::vector<SumPair> sums(static_cast<std::size_t>(shape.z));
    parallel_for(shape.z, threads_, [&](index_t z, int) {
        const index_t at = z * plane;
        sums[static_cast<std::size_t>(z)] =
            fill_step({{estimate.data() + at, previous.data() + at, false, extrapolation},
                       step_.elements<float>() + at,
                       weights_.elements<float>() + at,
                       richardson_lucy::MatchedRule{least_weight},
                       change.data() + at},
                      previous.data() + at, plane);
    });
    std::swap(estimate, previous);
    SumPair total;
    for (const SumPair& of_plane : sums) total += of_plane;
    return total.second > 0 ? std::clamp(total.first / total.second, 0.0, 1.0) : 0;
}

LevelRange LightDivision::plausible_levels(bool has_others) {
    std::vector<Prediction> tried;
    std::size_t best = 0;
    const auto is_refuted = [&](std::size_t i) {
        return has_others && errors_worse(tried[i], tried[best]) > haze::certain_errors;
    };
    // Beads under a bright background have a hundredth of the light.
    for (double share = 1; 2 * share > common::rare; share /= 2) {
        tried.push_back(run(share));
        if (tried.back().error < tried[best].error) best = tried.size() - 1;
        if (is_refuted(tried.size() - 1)) break;
    }
    LevelRange range{tried[best].background, tried[best].background};
    const auto include = [&](std::size_t i) {
        range.least = std::min(range.least, tried[i].background);
        range.most = std::max(range.most, tried[i].background);
        return !is_refuted(i);
    };
    for (std::size_t i = best + 1; i < tried.size() && include(i); ++i) {
    }
    std::size_t first = best;
    while (first > 0 && include(first - 1)) --first;
    // If an object of all the light is plausible, only the offset limits the background.
    if (first == 0) range.least = 0;
    return range;
}

}  // namespace convolume::deconvolve
