// SPDX-License-Identifier: Apache-2.0
#include "tests/gpu/fft/rows_check.hpp"

namespace convolume::gpu {

TEST_CASE("double rows of all pixel types") {
    RowsCheck<double, 60>::all_types();
}
TEST_CASE("double rows of one stage") {
    check_rows<double, 1, 2, 5, 11, 16>();
}
TEST_CASE("double rows of two stages") {
    check_rows<double, 24, 64, 128, 288>();
}
TEST_CASE("double rows of three stages") {
    check_rows<double, 1152, 2048>();
}

}  // namespace convolume::gpu
