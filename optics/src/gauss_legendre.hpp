#pragma once
// Gauss–Legendre quadrature.

#include <vector>

#include "convolume/shape.hpp"

namespace convolume::optics {

struct Quadrature {
    std::vector<double> nodes;
    std::vector<double> weights;
};

/// The rule with `count` nodes on [begin, end].
Quadrature gauss_legendre(index_t count, double begin, double end);

}  // namespace convolume::optics
