// SPDX-License-Identifier: Apache-2.0
#pragma once
// Comparison of volumes byte by byte.

#include <cstring>

#include "convolume/volume.hpp"

namespace convolume::testing {

/// Returns whether two volumes have equal shapes, types and bytes.
inline bool same_bytes(const Volume& a, const Volume& b) {
    return a.shape() == b.shape() && a.type() == b.type() &&
           std::memcmp(a.view().data, b.view().data, static_cast<std::size_t>(a.bytes())) == 0;
}

}  // namespace convolume::testing
