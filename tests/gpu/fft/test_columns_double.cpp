// SPDX-License-Identifier: Apache-2.0
#include "tests/gpu/fft/columns_check.hpp"

namespace convolume::gpu {

TEST_CASE("double columns of one radix stage agree with reference transforms") {
    check_columns<double, 1, 14>();
}
TEST_CASE("double columns of two radix stages agree with reference transforms") {
    check_columns<double, 45, 288>();
}
TEST_CASE("double columns of three radix stages agree with reference transforms") {
    check_columns<double, 320, 512>();
}

}  // namespace convolume::gpu
