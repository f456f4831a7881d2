// SPDX-License-Identifier: Apache-2.0
#include "tests/gpu/fft/rows_check.hpp"

namespace convolume::gpu {

TEST_CASE("double rows of all pixel types agree with reference transforms") {
    RowsCheck<double, 60>::all_types();
}
TEST_CASE("double rows of one radix stage agree with reference transforms") {
    check_rows<double, 1, 11, 16>();
}
TEST_CASE("double rows of two radix stages agree with reference transforms") {
    check_rows<double, 24, 128>();
}
TEST_CASE("double rows of three radix stages agree with reference transforms") {
    check_rows<double, 288, 1152>();
}

}  // namespace convolume::gpu
