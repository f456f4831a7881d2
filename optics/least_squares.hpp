// SPDX-License-Identifier: Apache-2.0
#pragma once
// Fits bounded parameters by least squares: Levenberg-Marquardt with numeric derivatives.

#include <functional>
#include <vector>

#include "convolume/execution.hpp"

namespace convolume::optics {

struct FitParameter {
    double start, low, high;  ///< initial value, and bounds with low < high
    double step;              ///< step of the numeric derivatives
};

struct FittedParameter {
    double value;
    /// Standard deviation, as if there were no bounds. It is infinite if residuals do not depend on
    /// the parameter, or if other parameters change them in the same way.
    double deviation;
    bool at_bound;  ///< the value is at a bound, beyond which the sum of squares still falls
};

struct LeastSquaresFit {
    std::vector<FittedParameter> parameters;
    double sum_of_squares;
};

/// A square matrix, row by row.
using Matrix = std::vector<std::vector<double>>;

/// Returns the inverse of a symmetric matrix by Gauss-Jordan elimination. The diagonal is first
/// scaled to slightly more than 1, so that no matrix is singular. Rows of zeros stay zeros.
Matrix symmetric_inverse(Matrix a);

/// Function that returns the residuals at x, the same number in every call.
using Residuals = std::function<std::vector<double>(const std::vector<double>& x)>;

/// Minimizes the sum of squared residuals. Standard deviations are by White's estimator,
/// Econometrica 48:817 (1980): residuals may have different, unknown variances. Throws Cancelled.
LeastSquaresFit least_squares(const Residuals& residuals,
                              const std::vector<FitParameter>& parameters,
                              const ExecutionContext& context = {});

}  // namespace convolume::optics
