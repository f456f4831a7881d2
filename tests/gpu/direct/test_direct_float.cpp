// SPDX-License-Identifier: Apache-2.0
#include "tests/gpu/direct/direct_check.hpp"

namespace convolume::gpu {

TEST_CASE("float sums of every size of tap groups agree") {
    for (const int height : group_heights<float>())
        for (const int width : group_widths<float>())
            check_sources<float>({2, height, width}, {3, 5, 13});
}
TEST_CASE("float sums of several tap groups, tiles and planes agree") {
    check_sources<float>({1, 1, 1}, {1, 1, 1});
    check_sources<float>({5, 5, 5}, {4, 37, 140});
    check_sources<float>({3, 11, 11}, {2, 33, 7});
    check_sources<float>({1, 21, 23}, {1, 6, 16});
    check_sources<float>({1, 2, 40}, {2, 2, 129});
    check_sources<float>({9, 6, 2}, {1, 4, 4});
    check_sources<float>({40, 1, 1}, {5, 3, 8});
}
TEST_CASE("long float sums keep their precision") {
    check_sources<float>({11, 11, 11}, {2, 3, 5});
    check_sources<float>({7, 9, 9}, {3, 2, 4});
}

}  // namespace convolume::gpu
