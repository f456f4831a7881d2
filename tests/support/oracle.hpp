// SPDX-License-Identifier: Apache-2.0
#pragma once
// Computes convolutions from their definition, in double with long double sums. It shares no code
// with the library: positions, boundaries and output sizes are derived here again. SciPy checks it
// in turn (check_oracle.py).

#include "tests/support/array.hpp"

namespace convolume::testing {

/// All settings that a result depends on besides image and kernel.
struct Definition {
    Mode mode = Mode::same;
    Boundary boundary{};
    Operation operation = Operation::convolve;  ///< convolve or correlate; see oracle_adjoint
    Index3 center{};                            ///< center of the kernel, used by Mode::same only
};

/// Returns the kernel's center as an index.
Index3 center_index(const KernelCenter& center, const Shape3& kernel);

/// Returns the shape of convolve's output; extents are below 1 if `valid` has no output.
Shape3 oracle_output_shape(Mode mode, const Shape3& image, const Shape3& kernel);

/// Returns the index in [0, extent) that position i reads, or -1 outside if the boundary is a
/// value.
index_t oracle_source(index_t i, index_t extent, BoundaryKind boundary);

Array oracle_convolve(const Array& image, const Array& kernel, const Definition& definition);

/// Applies the conjugate transpose of oracle_convolve's linear part to `data` of its output shape.
Array oracle_adjoint(const Array& data, const Shape3& image, const Array& kernel,
                     const Definition& definition);

/// Computes convolve, correlate or adjoint; `image` is the shape that convolve would take.
Array oracle(const Array& input, const Shape3& image, const Array& kernel,
             const Definition& definition);

/// Returns the number of products in the definition's sums, which is the work of one call.
double oracle_cost(Mode mode, const Shape3& image, const Shape3& kernel);

}  // namespace convolume::testing
