// SPDX-License-Identifier: Apache-2.0
#include "optics/response.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <numbers>
#include <utility>

#include "core/system/system.hpp"
#include "core/threads.hpp"

namespace convolume {

namespace optics {

namespace {

constexpr double pi = std::numbers::pi;

// Returns α, half the angle of the ring of radius s that a disc covers. The disc has radius R, and
// its center is r away from the axis:
//
//     cos α = (r² + s² − R²)/2rs
//
// It is computed from tan(α/2), which is also accurate for small discs.
double half_arc(double disc, double center, double ring) {
    const double inside = (disc - center + ring) * (disc + center - ring);
    const double outside = (center + ring - disc) * (center + ring + disc);
    return 2 * std::atan2(std::sqrt(std::max(inside, 0.0)), std::sqrt(std::max(outside, 0.0)));
}

// Returns a rule of at least `count` nodes between 0 and 1. Time for a Gauss rule grows with the
// square of its nodes, so many nodes are divided among several short rules.
Quadrature unit_rule(index_t count, const ExecutionContext& context) {
    constexpr index_t most = 64;
    const index_t intervals = (count + most - 1) / most;
    const Quadrature interval = gauss_legendre((count + intervals - 1) / intervals, 0, 1, context);
    const double length = 1 / static_cast<double>(intervals);
    Quadrature rule;
    for (index_t i = 0; i < intervals; ++i)
        for (std::size_t j = 0; j < interval.nodes.size(); ++j) {
            rule.nodes.push_back((static_cast<double>(i) + interval.nodes[j]) * length);
            rule.weights.push_back(interval.weights[j] * length);
        }
    return rule;
}

// Step of the grid on which excitation is summed, in radians of its band. Products with J₀ have
// frequencies up to twice the band.
constexpr double disc_step_rad = 0.6;

// Distance from the axis up to which excitation is computed, in spacings. Farther light varies
// slowly over a spacing and enters only the mean, which is known from the energy of the plane.
constexpr double excitation_reach = 8;

// Additional weights of f(0), f(h), f(2h) and f(3h) in the sum for an integral from 0:
//
//     ∫ f(r) r dr ≈ h² Σ j f(j h)
//
// They make the sum exact for even polynomials of degree 6 if f ends smoothly.
constexpr double axis_weights[] = {2497.0 / 25920, -1793.0 / 120960, 599.0 / 302400,
                                   -289.0 / 1814400};

/// Returns the weight of a sample at `part` of the reach: 1 up to half the reach, then falling to 0
/// like a squared cosine.
double taper(double part) {
    if (part <= 0.5) return 1;
    if (part >= 1) return 0;
    const double cosine = std::cos(std::numbers::pi * (part - 0.5));
    return cosine * cosine;
}

/// Returns the spectrum of a disc of sum 1.
double disc_spectrum(double k_radius) {
    return k_radius > 0 ? 2 * system::bessel_j1(k_radius) / k_radius : 1;
}

/// Counts the vectors of the square lattice Z² of each length; keys are squares of lengths.
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

PsfOptions excitation_of(PsfOptions options) {
    options.wavelength_um = *options.excitation_um;
    return options;
}

}  // namespace

Pinhole::Pinhole(double radius_um, const RadialGrid& grid, const std::vector<double>& radii_um,
                 int threads, const ExecutionContext& context)
    : rows_(radii_um.size()) {
    index_t total = 0;
    for (std::size_t i = 0; i < rows_.size(); ++i) {
        const double nearest = std::max(radii_um[i] - radius_um, 0.0);
        const double farthest = radii_um[i] + radius_um;
        const index_t first = std::max(grid.stencil(nearest).first, index_t{0});
        const index_t last = std::max(grid.stencil(farthest).first + 5, index_t{2});
        rows_[i] = {first, total, std::min(last, grid.count() - 1) - first + 1};
        total += rows_[i].length;
    }
    weights_.assign(static_cast<std::size_t>(total), 0.0);

    // About eight nodes a step of the grid, which has 20 steps a period of the finest detail.
    const index_t count = 48 + static_cast<index_t>(4 * radius_um / grid.step_um());
    const Quadrature unit = unit_rule(count, context);
    parallel_for(static_cast<index_t>(rows_.size()), threads, [&](index_t row_number, int) {
        if (context.stop.stop_requested()) return;
        const auto i = static_cast<std::size_t>(row_number);
        double* const row = weights_.data() + rows_[i].begin;
        const auto add = [&](double ring, double weight) {
            const RadialGrid::Stencil around = grid.stencil(ring);
            for (std::size_t j = 0; j < 6; ++j) {
                const index_t at = std::abs(around.first + static_cast<index_t>(j));
                const index_t column = std::min(at - rows_[i].first, rows_[i].length - 1);
                row[column] += weight * around.weights[j];
            }
        };
        const double center = radii_um[i], area = radius_um * radius_um;  // area divided by π
        // Rings around the axis that the disc covers wholly.
        const double whole = std::max(radius_um - center, 0.0);
        for (std::size_t j = 0; j < unit.nodes.size() && whole > 0; ++j) {
            const double ring = whole * unit.nodes[j];
            add(ring, whole * unit.weights[j] * 2 * ring / area);
        }
        // Rings that the disc covers in part. Their arc behaves like a square root at both ends;
        // the substitution by θ makes it smooth.
        const double large = std::max(radius_um, center), small = std::min(radius_um, center);
        for (std::size_t j = 0; j < unit.nodes.size() && small > 0; ++j) {
            const double theta = pi * unit.nodes[j];
            const double ring = large - small * std::cos(theta);
            const double length = pi * unit.weights[j] * small * std::sin(theta);
            add(ring, length * 2 * ring * half_arc(radius_um, center, ring) / (pi * area));
        }
    });
    throw_if_stopped(context);
}

void Pinhole::apply(const double* profile, double* means) const {
    for (std::size_t i = 0; i < rows_.size(); ++i) {
        const double* const values = profile + rows_[i].first;
        const double* const weights = weights_.data() + rows_[i].begin;
        double mean = 0;
#pragma omp simd reduction(+ : mean)
        for (index_t j = 0; j < rows_[i].length; ++j) mean += weights[j] * values[j];
        means[i] = mean;
    }
}

PinholeArray::PinholeArray(const DiscPattern& pattern, double band_per_um,
                           const std::vector<double>& radii_um, int threads,
                           const ExecutionContext& context)
    : grid_(band_per_um, excitation_reach * pattern.spacing_um, disc_step_rad),
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
            const double weight = static_cast<double>(j) * taper(static_cast<double>(j) /
                                                                 static_cast<double>(points - 1)) +
                                  (j < 4 ? axis_weights[j] : 0);
            row[j] = 2 * std::numbers::pi * step * step * weight *
                     system::bessel_j0(lengths[static_cast<std::size_t>(shell)] * radius);
        }
    });
    synthesis_.resize(static_cast<std::size_t>(checked_multiply(shells, radii_)));
    parallel_for(radii_, threads, [&](index_t i, int) {
        if (context.stop.stop_requested()) return;
        for (index_t shell = 0; shell < shells; ++shell)
            synthesis_[static_cast<std::size_t>(i * shells + shell)] = system::bessel_j0(
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

MicroscopeResponse::MicroscopeResponse(const PsfOptions& options, const PupilRegion& extent,
                                       std::vector<double> radii_um, int threads,
                                       const ExecutionContext& context, double step_rad)
    : radii_(static_cast<index_t>(radii_um.size())) {
    if (options.modality == Modality::confocal) {
        PupilRegion wider = extent;
        wider.radius_um += pinhole_radius_um(options);
        const RadialGrid grid(lens_band(options, options.wavelength_um), wider.radius_um, step_rad);
        wider.radius_um = grid.end_um();
        pinhole_.emplace(pinhole_radius_um(options), grid, radii_um, threads, context);
        emission_.emplace(options, wider, grid.radii(), threads, context);
        excitation_.emplace(excitation_of(options), extent, std::move(radii_um), threads, context);
        return;
    }
    if (options.modality == Modality::spinning_disc) {
        array_.emplace(disc_pattern(options), lens_band(options, *options.excitation_um), radii_um,
                       threads, context);
        PupilRegion lit = extent;
        lit.radius_um = array_->grid().end_um();
        excitation_.emplace(excitation_of(options), lit, array_->grid().radii(), threads, context);
    }
    squared_ = options.modality == Modality::two_photon;
    emission_.emplace(squared_ ? excitation_of(options) : options, extent, std::move(radii_um),
                      threads, context);
    if (options.modality == Modality::light_sheet) {
        sheet_fwhm_um_ = *options.sheet_fwhm_um;
        sheet_z_um_ = brightest_focus_um(options, context);
    }
}

index_t MicroscopeResponse::scratch_elems() const {
    if (!excitation_) return emission_->scratch_elems() + (squared_ ? radii_ : 0);
    return std::max(emission_->scratch_elems(), excitation_->scratch_elems()) +
           pinhole_profile().radii() + 2 * radii_ + (array_ ? array_->scratch_elems() : 0);
}

double MicroscopeResponse::sheet_intensity(double z_um) const {
    if (!(sheet_fwhm_um_ > 0)) return 1;
    const double away = (z_um - sheet_z_um_) / sheet_fwhm_um_;
    return std::exp(-4 * std::numbers::ln2 * away * away);
}

double MicroscopeResponse::plane_energy(double z_um) const {
    return sheet_intensity(z_um) * emission_->plane_energy(z_um);
}

void MicroscopeResponse::add_intensity(double z_um, double weight, double* scratch,
                                       double* sum) const {
    if (squared_) {
        double* const once = scratch + emission_->scratch_elems();
        std::fill_n(once, radii_, 0.0);
        emission_->add_intensity(z_um, 1, scratch, once);
        for (index_t i = 0; i < radii_; ++i) sum[i] += weight * once[i] * once[i];
        return;
    }
    if (!excitation_)
        return emission_->add_intensity(z_um, weight * sheet_intensity(z_um), scratch, sum);
    const RadialProfile& other = array_ ? *emission_ : *excitation_;
    double* const pinhole_input = scratch;
    double* const through_pinholes = pinhole_input + pinhole_profile().radii();
    double* const other_intensity = through_pinholes + radii_;
    double* const spectrum = other_intensity + radii_;
    double* const inner = spectrum + (array_ ? array_->scratch_elems() : 0);
    std::fill_n(pinhole_input, pinhole_profile().radii(), 0.0);
    pinhole_profile().add_intensity(z_um, 1, inner, pinhole_input);
    if (array_)
        array_->apply(pinhole_input, excitation_->plane_energy(z_um), spectrum, through_pinholes);
    else
        pinhole_->apply(pinhole_input, through_pinholes);
    std::fill_n(other_intensity, radii_, 0.0);
    other.add_intensity(z_um, 1, inner, other_intensity);
    for (index_t i = 0; i < radii_; ++i)
        sum[i] += weight * other_intensity[i] * through_pinholes[i];
}

}  // namespace optics

std::vector<double> psf_intensity(const PsfOptions& options, double z_um,
                                  const std::vector<double>& radii_um,
                                  const ExecutionContext& context) {
    optics::check_lens(options);
    optics::check_points(z_um, radii_um);
    double farthest = 0;
    for (const double radius : radii_um) farthest = std::max(farthest, radius);
    const optics::MicroscopeResponse response(options, {farthest, z_um, z_um}, radii_um, 1, context,
                                              optics::RadialGrid::fine / 4);
    std::vector<double> scratch(static_cast<std::size_t>(response.scratch_elems()));
    std::vector<double> intensity(radii_um.size());
    response.add_intensity(z_um, 1, scratch.data(), intensity.data());
    return intensity;
}

}  // namespace convolume
