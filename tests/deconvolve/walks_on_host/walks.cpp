// SPDX-License-Identifier: Apache-2.0
// Compiles the sources of walks for the host.

#include "deconvolve/executors/fused_walker.cu"
#include "deconvolve/executors/operation_walker.cu"
#include "deconvolve/executors/pass_problem.cu"
#include "deconvolve/executors/walk_arrays.cu"
#include "deconvolve/executors/walk_executor.cu"
#include "deconvolve/executors/walker.cu"
