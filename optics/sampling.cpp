// SPDX-License-Identifier: Apache-2.0
#include "optics/sampling.hpp"

#include <cmath>
#include <numbers>

namespace convolume::optics {

Quadrature gauss_legendre(index_t count, double begin, double end,
                          const ExecutionContext& context) {
    const double middle = (begin + end) / 2, half = (end - begin) / 2;
    const double n = static_cast<double>(count);
    Quadrature rule{std::vector<double>(static_cast<std::size_t>(count)),
                    std::vector<double>(static_cast<std::size_t>(count))};
    for (index_t i = 0; i < count; ++i) {
        throw_if_stopped(context);  // thousands of nodes take seconds
        // Newton's method from Tricomi's estimate of the i-th zero of P_n converges in a few steps.
        double x = std::cos(std::numbers::pi * (static_cast<double>(i) + 0.75) / (n + 0.5));
        double slope = 1;
        for (int step = 0; step < 8; ++step) {
            double p = x, before = 1;
            for (index_t j = 2; j <= count; ++j) {
                const double m = static_cast<double>(j);
                const double next = ((2 * m - 1) * x * p - (m - 1) * before) / m;
                before = p;
                p = next;
            }
            slope = n * (x * p - before) / (x * x - 1);
            const double change = p / slope;
            x -= change;
            if (std::abs(change) < 1e-15) break;
        }
        const std::size_t at = static_cast<std::size_t>(count - 1 - i);
        rule.nodes[at] = middle + half * x;
        rule.weights[at] = half * 2 / ((1 - x * x) * slope * slope);
    }
    return rule;
}

}  // namespace convolume::optics
