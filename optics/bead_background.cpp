// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "convolume/beads.hpp"

namespace convolume {

double subtract_background(BeadPsf& psf, const PsfOptions& model, const ExecutionContext& context) {
    PsfOptions sized = model;
    sized.size = psf.values.shape();
    const Psf modeled = make_psf(sized, context);
    const float* const m = modeled.values.elements<float>();
    float* const p = psf.values.elements<float>();
    const index_t count = element_count(sized.size);
    double mm = 0, mp = 0, sm = 0, sp = 0;
    for (index_t i = 0; i < count; ++i) {
        const auto a = static_cast<double>(m[i]), b = static_cast<double>(p[i]);
        mm += a * a;
        mp += a * b;
        sm += a;
        sp += b;
    }
    const auto n = static_cast<double>(count);
    const double brightness = (n * mp - sm * sp) / (n * mm - sm * sm);
    const double constant = (sp - brightness * sm) / n;
    double rest = 0;
    for (index_t i = 0; i < count; ++i)
        rest += std::pow(
            static_cast<double>(p[i]) - constant - brightness * static_cast<double>(m[i]), 2);
    const double residual = std::sqrt(rest / (brightness * brightness * mm));
    constexpr double trusted = 0.2;
    if (!(residual < trusted)) return residual;
    const double left = sp - constant * n;
    for (index_t i = 0; i < count; ++i)
        p[i] = static_cast<float>((static_cast<double>(p[i]) - constant) / left);
    psf.background += constant * psf.flux;
    for (Bead& bead : psf.beads) bead.flux *= left;
    psf.flux *= left;
    return residual;
}

}  // namespace convolume
