// SPDX-License-Identifier: Apache-2.0
#include "optics/pinhole_array.hpp"

#include <math.h>  // the Bessel functions are POSIX's, not the C++ library's

#include <algorithm>
#include <cmath>
#include <map>
#include <numbers>

#include "core/threads.hpp"

namespace convolume::optics {

namespace {

// Steps of the grid on which excitation is summed, in radians of its band; products with J₀ have
// twice its frequencies.
constexpr double disc_step_rad = 0.6;

// Excitation is looked at so far from the axis, in spacings. What lies farther varies slowly over
// a spacing, and has no part but in the mean, which is known from the energy of the plane.
constexpr double reach_spacings = 8;

// ∫ f(r) r dr from 0 by sums over r = j h: Σ j f(j h), and these parts of f(0), f(h), f(2h), f(3h),
// which make the sum exact for even polynomials of degree 6 where it ends smoothly.
constexpr double at_axis[] = {2497.0 / 25920, -1793.0 / 120960, 599.0 / 302400, -289.0 / 1814400};

/// 1 up to half the reach, then falling to 0 like a squared cosine.
double window(double part) {
    if (part <= 0.5) return 1;
    if (part >= 1) return 0;
    const double cosine = std::cos(std::numbers::pi * (part - 0.5));
    return cosine * cosine;
}

/// Spectrum of a disc of sum 1.
double disc_spectrum(double k_radius) {
    return k_radius > 0 ? 2 * ::j1(k_radius) / k_radius : 1;
}

/// How many vectors of the square lattice Z² have each length: keys are squares of lengths.
std::map<index_t, index_t> lattice_shells(double farthest) {
    const auto most = static_cast<index_t>(farthest);
    std::map<index_t, index_t> shells;
    for (index_t y = -most; y <= most; ++y)
        for (index_t x = -most; x <= most; ++x)
            if (const index_t square = y * y + x * x;
                square > 0 && static_cast<double>(square) <= farthest * farthest)
                ++shells[square];
    return shells;
}

}  // namespace

double lattice_steps(double spacing_um, double band_per_um) {
    return spacing_um * band_per_um / (2 * std::numbers::pi);
}

PinholeArray::PinholeArray(const DiscPattern& pattern, double band_per_um,
                           const std::vector<double>& radii_um, int threads,
                           const ExecutionContext& context)
    : grid_(band_per_um, reach_spacings * pattern.spacing_um, disc_step_rad),
      radii_(static_cast<index_t>(radii_um.size())),
      cell_um2_(pattern.spacing_um * pattern.spacing_um) {
    const double unit = 2 * std::numbers::pi / pattern.spacing_um;
    std::vector<double> lengths;
    for (const auto& [square, count] :
         lattice_shells(lattice_steps(pattern.spacing_um, band_per_um))) {
        lengths.push_back(unit * std::sqrt(static_cast<double>(square)));
        const double disc = disc_spectrum(lengths.back() * pattern.radius_um);
        weights_.push_back(static_cast<double>(count) * disc * disc);
    }
    const auto shells = static_cast<index_t>(lengths.size());
    const index_t points = grid_.count();
    analysis_.resize(static_cast<std::size_t>(checked_multiply(shells, points)));
    const double step = grid_.step_um();
    parallel_for(shells, threads, [&](index_t shell, int) {
        if (context.stop.stop_requested()) return;
        double* const row = analysis_.data() + shell * points;
        for (index_t j = 0; j < points; ++j) {
            const double radius = step * static_cast<double>(j);
            const double weight = static_cast<double>(j) * window(static_cast<double>(j) /
                                                                  static_cast<double>(points - 1)) +
                                  (j < 4 ? at_axis[j] : 0);
            row[j] = 2 * std::numbers::pi * step * step * weight *
                     ::j0(lengths[static_cast<std::size_t>(shell)] * radius);
        }
    });
    synthesis_.resize(static_cast<std::size_t>(checked_multiply(shells, radii_)));
    parallel_for(radii_, threads, [&](index_t i, int) {
        if (context.stop.stop_requested()) return;
        for (index_t shell = 0; shell < shells; ++shell)
            synthesis_[static_cast<std::size_t>(i * shells + shell)] = ::j0(
                lengths[static_cast<std::size_t>(shell)] * radii_um[static_cast<std::size_t>(i)]);
    });
    throw_if_stopped(context);
}

void PinholeArray::apply(const double* h, double energy, double* scratch, double* results) const {
    const auto shells = static_cast<index_t>(weights_.size());
    const index_t points = grid_.count();
    for (index_t shell = 0; shell < shells; ++shell) {
        const double* row = analysis_.data() + shell * points;
        double sum = 0;
#pragma omp simd reduction(+ : sum)
        for (index_t j = 0; j < points; ++j) sum += row[j] * h[j];
        scratch[shell] = weights_[static_cast<std::size_t>(shell)] * sum;
    }
    for (index_t i = 0; i < radii_; ++i) {
        const double* row = synthesis_.data() + i * shells;
        double sum = energy;
#pragma omp simd reduction(+ : sum)
        for (index_t shell = 0; shell < shells; ++shell) sum += row[shell] * scratch[shell];
        results[i] = std::max(sum, 0.0) / cell_um2_;
    }
}

}  // namespace convolume::optics
