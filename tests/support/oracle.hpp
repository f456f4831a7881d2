// SPDX-License-Identifier: Apache-2.0
#pragma once
// Convolution straight from its definition, in double with long double sums. It shares no line with
// the library: positions, boundaries and output sizes are worked out here once more. SciPy checks
// it, too (check_oracle.py).

#include "tests/support/array.hpp"

namespace convolume::testing {

/// Everything a result depends on besides image and kernel.
struct Definition {
    Mode mode = Mode::same;
    Boundary boundary{};
    Operation operation = Operation::convolve;  ///< convolve or correlate; see oracle_adjoint
    Index3 center{};                            ///< used by Mode::same
};

/// The kernel's center as an index.
Index3 center_index(const KernelCenter& center, const Shape3& kernel);

/// Shape of convolve's output; extents below 1 where `valid` has none.
Shape3 oracle_output_shape(Mode mode, const Shape3& image, const Shape3& kernel);

/// Index in [0, extent) that position i reads, or -1 outside of a zero or constant boundary.
index_t oracle_source(index_t i, index_t extent, BoundaryKind boundary);

Array oracle_convolve(const Array& image, const Array& kernel, const Definition& definition);

/// The conjugate transpose of oracle_convolve's linear part, applied to `data` of its output shape.
Array oracle_adjoint(const Array& data, const Shape3& image, const Array& kernel,
                     const Definition& definition);

/// convolve, correlate or adjoint as `operation` says; `image` is the shape convolve would take.
Array oracle(const Array& input, const Shape3& image, const Array& kernel,
             const Definition& definition);

/// Products of the definition's sums: the work of one call.
double oracle_cost(Mode mode, const Shape3& image, const Shape3& kernel);

}  // namespace convolume::testing
