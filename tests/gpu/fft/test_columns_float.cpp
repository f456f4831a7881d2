// SPDX-License-Identifier: Apache-2.0
#include <iterator>
#include <utility>

#include "tests/gpu/fft/columns_check.hpp"

namespace convolume::gpu {

TEST_CASE("float columns of one radix stage agree with reference transforms") {
    check_columns<float, 1, 7, 30>();
}
TEST_CASE("float columns of two radix stages agree with reference transforms") {
    check_columns<float, 36, 135, 528>();
}
TEST_CASE("float columns of three radix stages agree with reference transforms") {
    check_columns<float, 2240>();
}

TEST_CASE("float columns and taps agree with reference transforms in measured plans of each kind") {
    check_measured_taps_plans(std::make_index_sequence<std::size(measured_taps_plans)>{});
}

}  // namespace convolume::gpu
