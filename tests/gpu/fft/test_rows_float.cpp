// SPDX-License-Identifier: Apache-2.0
#include "tests/gpu/fft/rows_check.hpp"

namespace convolume::gpu {

TEST_CASE("float rows of all pixel types agree with reference transforms") {
    RowsCheck<float, 60>::all_types();
}
TEST_CASE("float rows of one radix stage agree with reference transforms") {
    check_rows<float, 1, 11, 16>();
}
TEST_CASE("float rows of two radix stages agree with reference transforms") {
    check_rows<float, 27, 128>();
}
TEST_CASE("float rows of three radix stages agree with reference transforms") {
    check_rows<float, 320, 2048>();
}

}  // namespace convolume::gpu
