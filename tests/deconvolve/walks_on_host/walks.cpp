// SPDX-License-Identifier: Apache-2.0
// Compiles the CUDA sources of deconvolution walks for the host, as part of test_walks. A walk is
// an iteration that goes along z, with only some planes in device memory.

#include "deconvolve/executors/fused_walker.cu"
#include "deconvolve/executors/operation_walker.cu"
#include "deconvolve/executors/pass_problem.cpp"
#include "deconvolve/executors/walk_arrays.cpp"
#include "deconvolve/executors/walk_executor.cpp"
#include "deconvolve/executors/walker.cu"
