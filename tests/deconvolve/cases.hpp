// SPDX-License-Identifier: Apache-2.0
#pragma once
// What deconvolution promises, checked on whichever engines are given: here on the CPU, in
// tests/gpu on a device.

#include "tests/deconvolve/specimen.hpp"

namespace convolume::testing {

/// Iterations of Richardson and Lucy, with and without total variation, against the same in
/// double precision from the definitions; every edge, odd and even PSFs, several centers.
void check_iterations(const EngineChoice& engines);
/// The same with some pixels left out, whose values then make no difference.
void check_saturated(const EngineChoice& engines);
/// Non-negative least squares: iterations against the same in double precision from the
/// definitions, and the conditions of its solution.
void check_least_squares(const EngineChoice& engines);
/// Wiener against the solution of its dense system.
void check_wiener(const EngineChoice& engines);
/// Σ (Aᵀ1) x = Σ y after every plain iteration without background.
void check_flux(const EngineChoice& engines);
/// 60 plain iterations never lower the likelihood; accelerated ones reach it in fewer than half.
void check_likelihood(const EngineChoice& engines);
/// Results and the last likelihood are the same whether anybody looks at iterations or not, and so
/// is the error where an image is too bright for float32.
void check_unobserved(const EngineChoice& engines);
/// The scaled heavy ball's misfit falls to its least as 1 / k² or faster, plain iterations do not;
/// it reaches the likelihood of 60 of these in fewer than half.
void check_heavy_ball(const EngineChoice& engines);
/// Held-out photons end iterations; the result is that of as many iterations with all photons.
void check_held_out(const EngineChoice& engines);
/// Noise and blur go, and beads stay where they are.
void check_beads(const EngineChoice& engines);

}  // namespace convolume::testing
