// SPDX-License-Identifier: Apache-2.0
#pragma once
// Rules that every plan must keep, whatever method it chose.

#include <string>

#include "engines/engines.hpp"
#include "volumes/plan.hpp"

namespace convolume::testing {

/// Describes the first rule that a plan breaks, or returns "". Tasks are disjoint and cover the
/// output, blocks fit their windows, and bytes stay within `engine_limit_bytes` (0: none) and the
/// plan's host limit.
std::string broken_rule(const TaskPlan& plan, const EngineList& engines,
                        index_t engine_limit_bytes = 0);

/// Returns the problem of mode `same` with center k/2 in float32.
ConvolutionProblem same_problem(const Shape3& image, const Shape3& kernel,
                                BoundaryKind boundary = BoundaryKind::zero);

}  // namespace convolume::testing
