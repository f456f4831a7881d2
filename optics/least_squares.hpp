// SPDX-License-Identifier: Apache-2.0
#pragma once
// Least squares of a few bounded parameters by Levenberg and Marquardt's method with numeric
// derivatives.

#include <functional>
#include <vector>

#include "convolume/execution.hpp"

namespace convolume::optics {

struct FitParameter {
    double start, low, high;  ///< low < high
    double step;              ///< of numeric derivatives
};

struct FittedParameter {
    double value;
    /// Standard deviation, as if there were no bounds; infinite where residuals do not depend on
    /// the parameter, or other parameters change them in the same way.
    double deviation;
    bool at_bound;  ///< the sum of squares still falls beyond it
};

struct LeastSquaresFit {
    std::vector<FittedParameter> parameters;
    double sum_of_squares;
};

/// The residuals at x, as many in every call.
using Residuals = std::function<std::vector<double>(const std::vector<double>& x)>;

/// Standard deviations are those of White's estimator, Econometrica 48:817 (1980): residuals may
/// have different variances, which need not be known. Throws Cancelled.
LeastSquaresFit least_squares(const Residuals& residuals,
                              const std::vector<FitParameter>& parameters,
                              const ExecutionContext& context = {});

}  // namespace convolume::optics
