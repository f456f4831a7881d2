// SPDX-License-Identifier: Apache-2.0
// The sources of walks, compiled for the host.

#include "deconvolve/consensus_walker.cu"
#include "deconvolve/pass_problem.cu"
#include "deconvolve/step_walker.cu"
#include "deconvolve/tile_walker.cu"
#include "deconvolve/walk_steps.cu"
#include "deconvolve/walk_wiener.cu"
#include "deconvolve/walker.cu"
#include "deconvolve/walker_rings.cu"
#include "deconvolve/wiener_walker.cu"
