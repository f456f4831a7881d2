// SPDX-License-Identifier: Apache-2.0
// The sources of walks, compiled for the host.

#include "deconvolve/consensus_walker.cu"
#include "deconvolve/executors/fused_walker.cu"
#include "deconvolve/executors/pass_problem.cu"
#include "deconvolve/executors/walk_arrays.cu"
#include "deconvolve/executors/walk_executor.cu"
#include "deconvolve/executors/walker.cu"
#include "deconvolve/tile_walker.cu"
#include "deconvolve/walk_wiener.cu"
#include "deconvolve/wiener_walker.cu"
