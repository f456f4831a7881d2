// SPDX-License-Identifier: Apache-2.0
#pragma once
// Which transform lengths a device has passes for.

#include "convolume/options.hpp"

namespace convolume::gpu {

/// The best length of at least `least` along `axis` (0 is z) that has a pass of our own, for data
/// split along z into `parts`; 0 where there is none.
index_t own_length(int device, int axis, index_t least, int parts, bool complex_data,
                   Precision precision);

}  // namespace convolume::gpu
