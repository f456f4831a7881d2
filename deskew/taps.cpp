// SPDX-License-Identifier: Apache-2.0
#include "deskew/taps.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace convolume::deskewing {

namespace {

// Positions this near to the edge of the recording count as inside, and weights this small as 0.
// Both are rounding errors.
constexpr double tolerance = 1e-9;
constexpr double lanczos_lobes = 3;

double sinc(double t) {
    if (t == 0) return 1;
    return std::sin(std::numbers::pi * t) / (std::numbers::pi * t);
}

double weight_at(Interpolation interpolation, double t) {
    if (interpolation == Interpolation::linear) return std::max(0.0, 1 - std::abs(t));
    return std::abs(t) < lanczos_lobes ? sinc(t) * sinc(t / lanczos_lobes) : 0;
}

bool is_inside(double position, index_t samples) {
    return position >= -tolerance && position <= static_cast<double>(samples - 1) + tolerance;
}

// Calls use(sample, weight) for the samples that an interpolation at `position` reaches. They may
// be outside of an image.
template <class Use>
void for_each_sample(Interpolation interpolation, double stretch, double position, const Use& use) {
    const double reached = reach(interpolation, stretch);
    const auto last = static_cast<index_t>(std::floor(position + reached));
    for (auto i = static_cast<index_t>(std::ceil(position - reached)); i <= last; ++i) {
        const double weight =
            weight_at(interpolation, (static_cast<double>(i) - position) / stretch);
        if (std::abs(weight) > tolerance) use(i, weight);
    }
}

}  // namespace

double reach(Interpolation interpolation, double stretch) {
    return stretch * (interpolation == Interpolation::linear ? 1 : lanczos_lobes);
}

void RowTaps::add_plane(index_t plane, double position, double weight) {
    const std::size_t begin = taps_.size();
    double sum = 0;
    for_each_sample(interpolation_, geometry_.row_stretch, position, [&](index_t row, double part) {
        if (row < 0 || row >= geometry_.recorded.y) return;
        taps_.push_back({plane, row, part});
        sum += part;
    });
    for (std::size_t i = begin; i < taps_.size(); ++i) taps_[i].weight *= weight / sum;
}

const std::vector<RowTap>& RowTaps::of(index_t z, index_t y) {
    taps_.clear();
    const auto z_at = static_cast<double>(z), y_at = static_cast<double>(y);
    const double plane_at = geometry_.plane(z_at, y_at), row_at = geometry_.row(z_at, y_at);
    if (!is_inside(plane_at, geometry_.recorded.z)) return taps_;
    if (geometry_.planes_coincide) {
        if (is_inside(row_at, geometry_.recorded.y)) add_plane(z, row_at, 1);
        return taps_;
    }
    double all = 0, inside = 0;
    for_each_sample(
        interpolation_, geometry_.plane_stretch, plane_at, [&](index_t plane, double weight) {
            all += weight;
            const double row = row_at + (plane_at - static_cast<double>(plane)) * geometry_.shear;
            if (plane < 0 || plane >= geometry_.recorded.z || !is_inside(row, geometry_.recorded.y))
                return;
            inside += weight;
            add_plane(plane, row, weight);
        });
    if (inside < all / 2 - tolerance) taps_.clear();
    for (RowTap& tap : taps_) tap.weight /= inside;
    return taps_;
}

ColumnTaps::ColumnTaps(const Geometry& geometry, Interpolation interpolation) {
    if (geometry.columns == 1) return;
    const index_t columns = geometry.recorded.x;
    for (index_t x = 0; x < geometry.result.x; ++x) {
        const double position = static_cast<double>(x) * geometry.columns;
        Span span{0, weights_.size(), weights_.size()};
        double sum = 0;
        if (is_inside(position, columns))
            for_each_sample(
                interpolation, geometry.column_stretch, position,
                [&](index_t column, double weight) {
                    if (column < 0 || column >= columns) return;
                    const auto skipped = weights_.size() - span.begin;
                    if (skipped == 0) span.sample = column;
                    // Samples between that have no weight
                    weights_.resize(span.begin + static_cast<std::size_t>(column - span.sample));
                    weights_.push_back(weight);
                    sum += weight;
                });
        span.end = weights_.size();
        for (std::size_t i = span.begin; i < span.end; ++i) weights_[i] /= sum;
        spans_.push_back(span);
    }
}

template <class Real>
void ColumnTaps::apply(const Real* samples, index_t first, Real fill, index_t begin,
                       std::vector<Real>& result) const {
    const Span* span = &spans_[static_cast<std::size_t>(begin)];
    for (Real& column : result) {
        Real sum = span->begin == span->end ? fill : 0;
        for (std::size_t i = span->begin; i < span->end; ++i)
            sum += static_cast<Real>(weights_[i]) *
                   samples[span->sample - first + static_cast<index_t>(i - span->begin)];
        column = sum;
        ++span;
    }
}

template void ColumnTaps::apply(const float*, index_t, float, index_t, std::vector<float>&) const;
template void ColumnTaps::apply(const double*, index_t, double, index_t,
                                std::vector<double>&) const;

}  // namespace convolume::deskewing
