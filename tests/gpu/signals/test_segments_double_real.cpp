// SPDX-License-Identifier: Apache-2.0
#include "tests/gpu/signals/segments_check.hpp"

namespace convolume::gpu {

TEST_CASE("double segments of real signals agree with sums") {
    SegmentsCheck<double, 256, false>::all();
    SegmentsCheck<double, 1024, false>::all();
}
TEST_CASE("double long segments of real signals agree with sums") {
    SegmentsCheck<double, 8192, false>::run({2000, 1, 1, 9000, {0, 9000}});
    SegmentsCheck<double, 8192, false>::run(
        {5000, 2, 1, 20000, {17, 14000}, true, {WindowPost::Kind::peak, 1000}, false, 2});
}

}  // namespace convolume::gpu
