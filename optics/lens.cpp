// SPDX-License-Identifier: Apache-2.0
#include "optics/lens.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

#include "core/system/system.hpp"
#include "core/threads.hpp"
#include "optics/sampling.hpp"

namespace convolume::optics {

namespace {

using Complex = std::complex<double>;

// Returns √(n² − s²) for s = NAρ, the axial part of the index. It is positive imaginary if the wave
// is evanescent, so that the wave decays.
Complex axial_index(double index, double sine) {
    return std::sqrt(Complex((index - sine) * (index + sine), 0.0));
}

double wavenumber(const PsfOptions& options) {
    return 2 * std::numbers::pi / options.wavelength_um;
}

// Returns the lowest index: s = NAρ reaches its square-root end point first.
double lowest_index(const PsfOptions& options) {
    const Objective& lens = options.objective;
    return has_layers(options.model) ? std::min({lens.ns, lens.ng, lens.ni}) : lens.ni;
}

// Returns the optical path difference to the design, without the part z q(nᵢ) that depends on z.
Complex static_path(const PsfOptions& options, double sine) {
    if (!has_layers(options.model)) return 0;
    const Objective& lens = options.objective;
    return options.depth_um * axial_index(lens.ns, sine) +
           lens.ti0_um * (axial_index(lens.ni, sine) - axial_index(lens.ni0, sine)) +
           lens.tg_um * axial_index(lens.ng, sine) - lens.tg0_um * axial_index(lens.ng0, sine);
}

// Fresnel's transmission coefficients, with index n and axial part q = n cosθ on either side.
Complex transmit_s(Complex q1, Complex q2) {
    return 2.0 * q1 / (q1 + q2);
}
Complex transmit_p(double n1, Complex q1, double n2, Complex q2) {
    return 2.0 * n1 * n2 * q1 / (n2 * n2 * q1 + n1 * n1 * q2);
}

void fill_bessel(double x, int terms, index_t stride, double* row) {
    const double zero = system::bessel_j0(x);
    row[0] = zero;
    if (terms == 1) return;
    const double one = system::bessel_j1(x);
    row[stride] = one;
    row[2 * stride] = x > 0 ? 2 * one / x - zero : 0.0;
}

// Standard deviations of the Gaussian model, in µm.
struct GaussianWidths {
    double r, z;

    explicit GaussianWidths(const PsfOptions& options) {
        const Objective& lens = options.objective;
        const double k = 2 * std::numbers::pi / options.wavelength_um;
        r = std::sqrt(2.0) / (k * lens.na);
        z = 2 * std::sqrt(6.0) * lens.ni / (k * lens.na * lens.na);
    }
};

}  // namespace

Pupil::Pupil(const PsfOptions& options, const PupilRegion& extent, const ExecutionContext& context)
    : amplitudes_(options.model == PsfModel::vectorial ? 3 : 1) {
    const double na = options.objective.na, critical = lowest_index(options);
    add_segment(options, extent, std::asin(std::min(1.0, na / critical)), false, context);
    if (options.model == PsfModel::vectorial && na > critical)
        add_segment(options, extent, std::acosh(na / critical), true, context);
}

// Adds the nodes for t from 0 to `end`. NAρ is n sin t below the critical angle and n cosh t above
// it, so that q(n) is smooth in t.
void Pupil::add_segment(const PsfOptions& options, const PupilRegion& extent, double end,
                        bool evanescent, const ExecutionContext& context) {
    const double k = wavenumber(options), index = lowest_index(options);
    const auto sine = [&](double t) { return index * (evanescent ? std::cosh(t) : std::sin(t)); };
    const auto slope = [&](double t) { return index * (evanescent ? std::sinh(t) : std::cos(t)); };

    // A Gauss rule of n nodes resolves an even phase change of up to 4n over the interval.
    constexpr int probes = 512;
    double steepest_phase = 0;
    for (const double z : {extent.z_low_um, extent.z_high_um}) {
        const auto phase = [&](double t) {
            return k *
                   (static_path(options, sine(t)) + z * axial_index(options.objective.ni, sine(t)));
        };
        for (int i = 0; i < probes; ++i) {
            const double t = end * i / probes, step = end / probes;
            steepest_phase =
                std::max(steepest_phase, std::abs(phase(t + step) - phase(t)) / step +
                                             k * extent.radius_um * slope(t + step / 2));
        }
    }
    const index_t count = 32 + static_cast<index_t>(1.2 * steepest_phase * end / 4);
    const Quadrature rule = gauss_legendre(count, 0, end, context);
    for (std::size_t i = 0; i < rule.nodes.size(); ++i)
        add_node(options, sine(rule.nodes[i]), rule.weights[i] * slope(rule.nodes[i]));
}

// Adds a node at s = NAρ = `sine`; `weight` is the quadrature weight of ds.
void Pupil::add_node(const PsfOptions& options, double sine, double weight) {
    const Objective& lens = options.objective;
    const double k = wavenumber(options);
    const Complex qi = axial_index(lens.ni, sine);
    const Complex phase_factor = std::exp(Complex(0, k) * static_path(options, sine));
    waves_.push_back(k * sine);
    defocus_.push_back(k * qi.real());
    if (options.model != PsfModel::vectorial) {
        amplitudes_[0].push_back(2 * weight * sine / (lens.na * lens.na) * phase_factor);
        add_energy(k, sine, weight);
        return;
    }
    const Complex qg = axial_index(lens.ng, sine), qs = axial_index(lens.ns, sine);
    const Complex ts = transmit_s(qi, qg) * transmit_s(qg, qs);
    const Complex tp = transmit_p(lens.ni, qi, lens.ng, qg) * transmit_p(lens.ng, qg, lens.ns, qs);
    // √cosθᵢ sinθᵢ dθᵢ = s ds / (nᵢ² √cosθᵢ).
    const Complex common =
        weight * sine / (lens.ni * lens.ni) / std::sqrt(qi / lens.ni) * phase_factor;
    const Complex cosine = qs / lens.ns;
    amplitudes_[0].push_back(common * (ts + tp * cosine));
    amplitudes_[1].push_back(common * tp * (sine / lens.ns));
    amplitudes_[2].push_back(common * (ts - tp * cosine));
    add_energy(k, sine, weight);
}

// Adds a node's energy by Parseval's theorem for Hankel transforms:
//
//     ∫ |∫ a(s) Jₘ(k s r) ds|² r dr = ∫ |a(s)|² / (k² s) ds
void Pupil::add_energy(double k, double sine, double weight) {
    double power = 0;
    for (std::size_t m = 0; m < amplitudes_.size(); ++m)
        power += (m == 1 ? 2 : 1) * std::norm(amplitudes_[m].back());
    energy_ += 2 * std::numbers::pi * power / (k * k * sine * weight);
}

void Pupil::sample(double z_um, double* real, double* imag) const {
    const std::size_t count = waves_.size();
    for (std::size_t j = 0; j < count; ++j) {
        const Complex phase_factor = std::polar(1.0, z_um * defocus_[j]);
        for (std::size_t m = 0; m < amplitudes_.size(); ++m) {
            const Complex value = amplitudes_[m][j] * phase_factor;
            real[m * count + j] = value.real();
            imag[m * count + j] = value.imag();
        }
    }
}

double ray_radius_um(const PsfOptions& options, double z_um, double share) {
    if (options.model == PsfModel::gaussian) return 0;
    const double end = std::min(options.objective.na, lowest_index(options));
    // A ray of sine s meets the plane at a distance of d(path)/ds, with light proportional to s.
    constexpr int rays = 256;
    const auto path = [&](int i) {
        const double sine = end * i / rays;
        return (static_path(options, sine) + z_um * axial_index(options.objective.ni, sine)).real();
    };
    std::vector<std::pair<double, double>> rings;
    for (int i = 0; i < rays; ++i)
        rings.emplace_back(std::abs(path(i + 1) - path(i)) * rays / end, 2 * i + 1);
    std::sort(rings.begin(), rings.end());
    double light = 0;
    for (const auto& [radius, part] : rings)
        if (light += part; light >= share * rays * rays) return radius;
    return rings.back().first;
}

RadialProfile::RadialProfile(const PsfOptions& options, const PupilRegion& extent,
                             std::vector<double> radii_um, int threads,
                             const ExecutionContext& context)
    : options_(options), radii_um_(std::move(radii_um)), pupil_(options, extent, context) {
    if (options.model == PsfModel::gaussian) return;
    const int terms = pupil_.terms();
    const index_t nodes = pupil_.nodes(), count = radii();
    const index_t elems = checked_multiply(count, terms * nodes);
    bessel_ = Buffer(checked_multiply(elems, sizeof(double)), "the Bessel functions of a PSF");
    parallel_for(count, threads, [&](index_t i, int) {
        if (context.stop.stop_requested()) return;
        double* row = bessel_.as<double>() + i * terms * nodes;
        const double radius = radii_um_[static_cast<std::size_t>(i)];
        for (index_t j = 0; j < nodes; ++j)
            fill_bessel(pupil_.wave(j) * radius, terms, nodes, row + j);
    });
    throw_if_stopped(context);
}

void RadialProfile::add_intensity(double z_um, double weight, double* scratch, double* sum) const {
    if (options_.model == PsfModel::gaussian) return add_gaussian(z_um, weight, sum);
    const index_t nodes = pupil_.nodes(), count = radii();
    const int terms = pupil_.terms();
    double *real = scratch, *imag = scratch + terms * nodes;
    pupil_.sample(z_um, real, imag);
    for (index_t i = 0; i < count; ++i) {
        double intensity = 0;
        for (int m = 0; m < terms; ++m) {
            const double* row = bessel_.as<double>() + (i * terms + m) * nodes;
            const double *re = real + m * nodes, *im = imag + m * nodes;
            double field_re = 0, field_im = 0;
#pragma omp simd reduction(+ : field_re, field_im)
            for (index_t j = 0; j < nodes; ++j) {
                field_re += row[j] * re[j];
                field_im += row[j] * im[j];
            }
            intensity += (m == 1 ? 2 : 1) * (field_re * field_re + field_im * field_im);
        }
        sum[i] += weight * intensity;
    }
}

double RadialProfile::plane_energy(double z_um) const {
    if (options_.model != PsfModel::gaussian) return pupil_.energy();
    const GaussianWidths sigma(options_);
    const double v = z_um / sigma.z;
    return 2 * std::numbers::pi * sigma.r * sigma.r * std::exp(-v * v / 2);
}

void RadialProfile::add_gaussian(double z_um, double weight, double* sum) const {
    const GaussianWidths sigma(options_);
    for (std::size_t i = 0; i < radii_um_.size(); ++i) {
        const double u = radii_um_[i] / sigma.r, v = z_um / sigma.z;
        sum[i] += weight * std::exp(-(u * u + v * v) / 2);
    }
}

}  // namespace convolume::optics
