// SPDX-License-Identifier: Apache-2.0
#include <iterator>
#include <utility>

#include "tests/gpu/fft/columns_check.hpp"

namespace convolume::gpu {

TEST_CASE("float columns of one radix stage agree with reference transforms") {
    check_columns<float, 1, 2, 3, 7, 11, 13, 16, 27, 30>();
}
TEST_CASE("float columns of two radix stages agree with reference transforms") {
    check_columns<float, 36, 64, 135, 320, 384, 512, 528>();
}
TEST_CASE("float columns of three radix stages agree with reference transforms") {
    check_columns<float, 1056, 1152, 1200, 2240>();
}

TEST_CASE("float columns and taps agree with reference transforms in every measured plan") {
    check_measured_taps_plans(std::make_index_sequence<std::size(measured_taps_plans)>{});
}

}  // namespace convolume::gpu
