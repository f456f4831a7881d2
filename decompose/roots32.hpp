// SPDX-License-Identifier: Apache-2.0
#pragma once
// The constant factors of butterflies of up to 32 points.

#include <cstddef>

namespace convolume::decompose {

/// cos(2π k/32).
constexpr double cosine32(std::size_t k) {
    constexpr double quarter[9] = {1.0,
                                   0.98078528040323044912618,
                                   0.92387953251128675612818,
                                   0.83146961230254523707879,
                                   0.70710678118654752440084,
                                   0.55557023301960222474283,
                                   0.38268343236508977172846,
                                   0.19509032201612826784829,
                                   0.0};
    k %= 32;
    if (k > 16) k = 32 - k;
    return k <= 8 ? quarter[k] : -quarter[16 - k];
}
constexpr double sine32(std::size_t k) {
    return cosine32(k + 24);
}

}  // namespace convolume::decompose
