// SPDX-License-Identifier: Apache-2.0
#pragma once
// Helpers for tests of modalities: objectives, and a PSF as a plain sum.

#include <math.h>

#include <cmath>
#include <complex>
#include <numbers>

#include "convolume/psf.hpp"

namespace convolume::testing {

using std::numbers::pi;
inline constexpr PsfModel models[] = {PsfModel::gaussian, PsfModel::born_wolf,
                                      PsfModel::gibson_lanni, PsfModel::vectorial};

inline PsfOptions air_objective() {
    PsfOptions options;
    options.model = PsfModel::born_wolf;
    options.objective.na = 0.75;
    options.objective.ni = 1;
    options.wavelength_um = 0.55;
    return options;
}

inline PsfOptions confocal(PsfOptions options, double pinhole_au) {
    options.modality = Modality::confocal;
    options.excitation_um = 0.45;
    options.pinhole_au = pinhole_au;
    return options;
}

inline PsfOptions widefield(PsfOptions options, double wavelength_um) {
    options.modality = Modality::widefield;
    options.excitation_um.reset();
    options.pinhole_au.reset();
    options.wavelength_um = wavelength_um;
    return options;
}

inline double simpson_weight(int i, int intervals) {
    return (i == 0 || i == intervals ? 1 : i % 2 == 1 ? 4 : 2) / (3.0 * intervals);
}

// Computes Born and Wolf's integral in air by Simpson's rule.
inline double direct_born_wolf(double na, double wavelength, double z, double r,
                               int intervals = 300) {
    const double k = 2 * pi / wavelength;
    std::complex<double> field = 0;
    for (int i = 0; i <= intervals; ++i) {
        const double rho = static_cast<double>(i) / intervals;
        field += simpson_weight(i, intervals) * rho * ::j0(k * na * r * rho) *
                 std::polar(1.0, k * z * std::sqrt(1 - na * na * rho * rho));
    }
    return 4 * std::norm(field);
}

}  // namespace convolume::testing
