// SPDX-License-Identifier: Apache-2.0
#include "optics/radial_profile.hpp"

#include <math.h>  // the Bessel functions are POSIX's, not the C++ library's

#include <cmath>
#include <numbers>
#include <utility>

#include "core/threads.hpp"

namespace convolume::optics {

namespace {

void fill_bessel(double x, int terms, index_t stride, double* row) {
    const double zero = ::j0(x);
    row[0] = zero;
    if (terms == 1) return;
    const double one = ::j1(x);
    row[stride] = one;
    row[2 * stride] = x > 0 ? 2 * one / x - zero : 0.0;
}

// Of the Gaussian, in µm.
struct Widths {
    double r, z;

    explicit Widths(const PsfOptions& options) {
        const Objective& lens = options.objective;
        const double k = 2 * std::numbers::pi / options.wavelength_um;
        r = std::sqrt(2.0) / (k * lens.na);
        z = 2 * std::sqrt(6.0) * lens.ni / (k * lens.na * lens.na);
    }
};

}  // namespace

RadialProfile::RadialProfile(const PsfOptions& options, const Extent& extent,
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
    const Widths sigma(options_);
    const double v = z_um / sigma.z;
    return 2 * std::numbers::pi * sigma.r * sigma.r * std::exp(-v * v / 2);
}

void RadialProfile::add_gaussian(double z_um, double weight, double* sum) const {
    const Widths sigma(options_);
    for (std::size_t i = 0; i < radii_um_.size(); ++i) {
        const double u = radii_um_[i] / sigma.r, v = z_um / sigma.z;
        sum[i] += weight * std::exp(-(u * u + v * v) / 2);
    }
}

}  // namespace convolume::optics
