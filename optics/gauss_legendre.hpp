// SPDX-License-Identifier: Apache-2.0
#pragma once
// Gauss–Legendre quadrature.

#include <vector>

#include "convolume/execution.hpp"
#include "convolume/shape.hpp"

namespace convolume::optics {

struct Quadrature {
    std::vector<double> nodes;
    std::vector<double> weights;
};

/// The rule with `count` nodes on [begin, end]. Throws Cancelled.
Quadrature gauss_legendre(index_t count, double begin, double end, const ExecutionContext& context);

}  // namespace convolume::optics
