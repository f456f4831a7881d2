// SPDX-License-Identifier: Apache-2.0
// Tests affine maps between voxels.

#include <cmath>
#include <limits>

#include "convolume/error.hpp"
#include "convolume/voxel_map.hpp"
#include "tests/catch.hpp"
#include "tests/support/errors.hpp"
#include "tests/support/random.hpp"

using namespace convolume;
using namespace convolume::testing;

namespace {

VoxelMap random_map(Random& random) {
    VoxelMap map;
    for (std::size_t a = 0; a < 3; ++a) {
        for (double& element : map.matrix[a]) element += random.uniform() - 0.5;
        map.offset[a] = 10 * random.uniform();
    }
    return map;
}

void check_near(const std::array<double, 3>& a, const std::array<double, 3>& b) {
    for (std::size_t axis = 0; axis < 3; ++axis)
        CHECK(std::abs(a[axis] - b[axis]) < 1e-9 * (1 + std::abs(b[axis])));
}

}  // namespace

TEST_CASE("maps are composed and inverted", "[forward]") {
    Random random(test_seed("voxel maps"));
    for (int i = 0; i < 20; ++i) {
        const VoxelMap outer = random_map(random), inner = random_map(random);
        const std::array<double, 3> at{random.uniform(), -random.uniform(), 5 * random.uniform()};
        check_near(composed(outer, inner)(at), outer(inner(at)));
        check_near(inverse(outer)(outer(at)), at);
    }
}

TEST_CASE("maps of micrometers become maps of voxels", "[forward]") {
    VoxelMap um;
    um.matrix = {{{0, 0, 1}, {0, 1, 0}, {-1, 0, 0}}};
    um.offset = {1, 2, 3};
    const VoxelSize from{0.5, 0.1, 0.1}, to{0.2, 0.2, 0.2};
    const VoxelMap voxels = between_voxels(um, from, to);
    // Voxel (2, 3, 4) is at (1, 0.3, 0.4) µm, which is mapped to (1.4, 2.3, 2) µm.
    check_near(voxels({2, 3, 4}), {7, 11.5, 10});
}

TEST_CASE("maps without an inverse are refused", "[forward]") {
    VoxelMap flat;
    flat.matrix[1] = flat.matrix[0];
    CHECK(contains(message_of<InvalidArgument>([&] { inverse(flat); }), "has no inverse"));
    VoxelMap infinite;
    infinite.offset[2] = std::numeric_limits<double>::infinity();
    CHECK_THROWS_AS(inverse(infinite), InvalidArgument);
    VoxelMap tiny;  // small voxels are not a reason
    for (std::size_t a = 0; a < 3; ++a) tiny.matrix[a][a] = 1e-4;
    CHECK(inverse(tiny).matrix[0][0] == Approx(1e4));
}
