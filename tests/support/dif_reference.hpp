// SPDX-License-Identifier: Apache-2.0
#pragma once
// Decimation in frequency of one column, term by term from its definition.

#include <vector>

#include "tests/support/array.hpp"

namespace convolume::testing {

/// Splits a column of K samples into its parts: complex data into s_p(n), real data into one real
/// and parts - 1 complex parts.
std::vector<std::vector<Complex>> dif_column(const std::vector<Complex>& column, int parts,
                                             bool complex_data);

/// Returns all parts of `volume`, zero-padded to `z_grid` planes and split along z.
std::vector<Array> dif_parts(const Array& volume, index_t z_grid, int parts, bool complex_data);

}  // namespace convolume::testing
