// SPDX-License-Identifier: Apache-2.0
#pragma once
// Seeded data for comparisons without files. Equal seeds and sizes give equal data on every
// machine.

#include <cstdint>

#include "convolume/volume.hpp"

namespace convolume::cli {

/// uint16 with the contrast of fluorescence: a dark background and few bright voxels, 100 … 4095,
/// which is 12 bits. Every voxel is random on its own: round(100 + 3995 u⁴), u uniform in [0, 1).
Volume synthetic_image(const Shape3& shape, std::uint64_t seed);

/// float32, positive, of no particular form: a Gaussian of a sixth of the extents, every sample
/// times a random number in [0.5, 1.5).
Volume synthetic_kernel(const Shape3& shape, std::uint64_t seed);

/// `rows` rows of random float32 in [-1, 1), one after another: signals or filters.
Volume synthetic_rows(index_t rows, index_t samples, std::uint64_t seed);

}  // namespace convolume::cli
