// SPDX-License-Identifier: Apache-2.0
#include "tests/gpu/direct/direct_check.hpp"

namespace convolume::gpu {

template <class T>
void check_complex() {
    for (const int height : group_heights<T>())
        for (const int width : group_widths<T>()) check_sources<T>({2, height, width}, {3, 5, 13});
    check_sources<T>({3, 5, 6}, {3, 34, 67});
    check_sources<T>({9, 8, 9}, {2, 3, 5});
}

TEST_CASE("complex float sums agree with sums in double") {
    check_complex<Complex<float>>();
}
TEST_CASE("complex double sums agree with sums in double") {
    check_complex<Complex<double>>();
}

}  // namespace convolume::gpu
