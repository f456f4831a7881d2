// SPDX-License-Identifier: Apache-2.0
#pragma once
// What holds for every plan, whatever was chosen.

#include <string>

#include "engines/engines.hpp"
#include "volumes/plan.hpp"

namespace convolume::testing {

/// The first rule a plan breaks, or nothing: tasks are disjoint and reunite to the output, blocks
/// fit their windows, bytes stay within `engine_limit_bytes` (0: none) and the plan's host limit.
std::string broken_rule(const TaskPlan& plan, const EngineList& engines,
                        index_t engine_limit_bytes = 0);

/// The problem of mode `same` with center k/2 in float32.
ConvolutionProblem same_problem(const Shape3& image, const Shape3& kernel,
                                BoundaryKind boundary = BoundaryKind::zero);

}  // namespace convolume::testing
