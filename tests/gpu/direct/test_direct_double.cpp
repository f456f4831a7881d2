// SPDX-License-Identifier: Apache-2.0
#include "tests/gpu/direct/direct_check.hpp"

namespace convolume::gpu {

TEST_CASE("double sums of every size of tap groups agree") {
    for (const int height : group_heights<double>())
        for (const int width : group_widths<double>())
            check_sources<double>({2, height, width}, {3, 5, 13});
}
TEST_CASE("double sums of several tap groups, tiles and planes agree") {
    check_sources<double>({5, 5, 5}, {3, 37, 70});
    check_sources<double>({3, 10, 11}, {2, 33, 7});
    check_sources<double>({9, 9, 9}, {2, 3, 5});
}

}  // namespace convolume::gpu
