// SPDX-License-Identifier: Apache-2.0
#include "tests/gpu/signals/segments_check.hpp"

namespace convolume::gpu {

TEST_CASE("float segments of complex signals agree with sums") {
    SegmentsCheck<float, 256, true>::all();
    SegmentsCheck<float, 1024, true>::all();
}
TEST_CASE("float long segments of complex signals agree with sums") {
    SegmentsCheck<float, 8192, true>::run({2000, 1, 1, 9000, {0, 9000}});
    SegmentsCheck<float, 16384, true>::run(
        {5000, 2, 1, 20000, {17, 14000}, true, {WindowPost::Kind::peak, 1000}, false, 2});
}

}  // namespace convolume::gpu
