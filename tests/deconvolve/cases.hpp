// SPDX-License-Identifier: Apache-2.0
#pragma once
// Checks of what deconvolution promises, on given engines: tests/deconvolve runs them on the CPU,
// tests/gpu on a device.

#include "tests/deconvolve/specimen.hpp"

namespace convolume::testing {

/// Compares iterations of Richardson and Lucy, without a penalty, with total variation and with a
/// roughness, with their definition in double precision; every edge, odd and even PSFs, several
/// centers.
void check_iterations(const EngineChoice& engines);
/// Compares iterations without saturated pixels, whose values must make no difference.
void check_saturated(const EngineChoice& engines);
/// Compares iterations with weights of pixels, of which some are 0, with their definition.
void check_pixel_weights(const EngineChoice& engines);
/// Compares iterations of non-negative least squares with their definition in double precision,
/// and checks the optimality conditions of the solution.
void check_least_squares(const EngineChoice& engines);
/// Compares Wiener's result with the solution of its dense linear system.
void check_wiener(const EngineChoice& engines);
/// Checks Σ (Aᵀ1) x = Σ y after every plain iteration without background.
void check_flux(const EngineChoice& engines);
/// Checks that plain iterations never lower the likelihood, and that accelerated ones reach the
/// likelihood of 60 plain ones in fewer than half as many.
void check_likelihood(const EngineChoice& engines);
/// Checks that results, the last likelihood and overflow errors do not depend on whether the
/// caller observes the iterations.
void check_unobserved(const EngineChoice& engines);
/// Checks that the misfit of the scaled heavy ball falls to its least as 1 / k² or faster, and that
/// it reaches the likelihood of 60 plain iterations in fewer than half as many.
void check_heavy_ball(const EngineChoice& engines);
/// Checks that held-out photons end the iterations, and that the result then uses all photons.
void check_held_out(const EngineChoice& engines);
/// Checks that noise and blur decrease, and that beads keep their positions.
void check_beads(const EngineChoice& engines);

}  // namespace convolume::testing
