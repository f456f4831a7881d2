// SPDX-License-Identifier: Apache-2.0
// Tests what GPUs do for each voxel of a forward model, on the host: samples of an object and their
// adjoint as ViewSampling has them, and boxes with weights.

#include <algorithm>
#include <cmath>
#include <vector>

#include "forward/view_sampling.hpp"
#include "forward/voxel_loops.hpp"
#include "tests/catch.hpp"
#include "tests/support/random.hpp"

using namespace convolume;
using namespace convolume::testing;
using namespace convolume::forward;

namespace {

// Calls a functor as a GPU does, in another order.
template <class Functor>
void for_each_voxel(const Shape3& shape, const Functor& functor) {
    for (index_t x = shape.x - 1; x >= 0; --x)
        for (index_t y = 0; y < shape.y; ++y)
            for (index_t z = 0; z < shape.z; ++z) functor(z, y, x);
}

template <class T>
double largest_difference(const std::vector<T>& a, const std::vector<T>& b) {
    double largest = 0;
    for (std::size_t i = 0; i < a.size(); ++i)
        largest =
            std::max(largest, std::abs(static_cast<double>(a[i]) - static_cast<double>(b[i])));
    return largest;
}

VoxelMap map_of(const std::array<std::array<double, 3>, 3>& matrix,
                const std::array<double, 3>& offset) {
    VoxelMap map;
    map.matrix = matrix;
    map.offset = offset;
    return map;
}

template <class T>
void check_sampling(const VoxelMap& map, double most) {
    Random random(test_seed("voxels of a GPU"));
    const Shape3 object{11, 13, 17}, grid{9, 14, 12};
    const ViewSampling sampling(object, grid, map);
    const SamplingParameters parameters = sampling.parameters();
    const std::vector<T> voxels = random.values<T>(object);
    const auto nowhere = static_cast<T>(NAN);
    std::vector<T> right(static_cast<std::size_t>(element_count(grid)), nowhere), found = right;
    sampling.sample(voxels.data(), right.data(), 1);
    for_each_voxel(grid, GridSample<T>{parameters, voxels.data(), found.data()});
    CHECK(largest_difference(right, found) < most);
    CHECK(*std::max_element(right.begin(), right.end()) > 0.1);

    const std::vector<T> image = random.values<T>(grid);
    std::vector<T> sums = random.values<T>(object), gathered = sums;
    sampling.add_back(image.data(), sums.data(), 1);
    for_each_voxel(object, GridGathering<T>{parameters, image.data(), gathered.data()});
    CHECK(largest_difference(sums, gathered) < 4 * most);
}

}  // namespace

TEST_CASE("voxels on a GPU are sampled as on the host", "[forward]") {
    const double cos = std::cos(0.6), sin = std::sin(0.6);
    const std::array<std::array<double, 3>, 3> equal{{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}};
    const std::vector<VoxelMap> maps{
        map_of(equal, {}),
        map_of(equal, {2, -1, 3}),
        map_of(equal, {0.5, 0.25, -0.75}),
        map_of({{{0, 0, 1}, {0, 1, 0}, {-1, 0, 0}}}, {0, 0, 10}),
        map_of({{{cos, 0, sin}, {0, 1, 0}, {-sin, 0, cos}}}, {-2, 0.5, 4}),
        map_of({{{cos, -sin, 0}, {sin, cos, 0}, {0.1, 0, 1.1}}}, {2, 0, 1}),
        map_of({{{2.4, 0, 0}, {0.3, 0.7, 0}, {1.7, 0, 1}}}, {-1, 1, -4}),
        map_of({{{0.4, 0, 0}, {0, 0.5, 0.1}, {0, 0, 1.6}}}, {3, 2, -1})};
    for (std::size_t i = 0; i < maps.size(); ++i) {
        CAPTURE(i);
        check_sampling<double>(maps[i], 1e-12);
        check_sampling<float>(maps[i], 1e-5);
    }
}

TEST_CASE("boxes on a GPU are weighted, added and masked", "[forward]") {
    Random random(test_seed("boxes of a GPU"));
    const Shape3 array{5, 6, 7};
    const Box3 part{{1, 2, 3}, {4, 6, 5}};
    const Shape3 extents = part.shape();
    const std::vector<double> of_z = random.values<double>({1, 1, extents.z}),
                              of_y = random.values<double>({1, 1, extents.y}),
                              of_x = random.values<double>({1, 1, extents.x});
    const WeightedBox<double> weighed{array, part, of_z.data(), of_y.data(), of_x.data()};
    const WeightedBox<double> plain{array, part};
    const std::vector<double> values = random.values<double>(array),
                              mask = random.values<double>(array);
    std::vector<double> box(static_cast<std::size_t>(element_count(extents)), NAN), copied = box;
    for_each_voxel(extents, BoxCopy<double>{weighed, values.data(), box.data()});
    for_each_voxel(extents, BoxCopy<double>{plain, values.data(), copied.data()});
    for_each_voxel(extents, BoxMasking<double>{plain, mask.data(), copied.data()});
    std::vector<double> sums = values;
    for_each_voxel(extents, BoxAddition<double>{weighed, copied.data(), sums.data()});
    std::vector<double> right = values;
    std::size_t i = 0;
    for (index_t z = 0; z < extents.z; ++z)
        for (index_t y = 0; y < extents.y; ++y)
            for (index_t x = 0; x < extents.x; ++x, ++i) {
                const auto at = static_cast<std::size_t>(((z + 1) * 6 + y + 2) * 7 + x + 3);
                const double weight = of_z[static_cast<std::size_t>(z)] *
                                      of_y[static_cast<std::size_t>(y)] *
                                      of_x[static_cast<std::size_t>(x)];
                CHECK(std::abs(box[i] - weight * values[at]) < 1e-15);
                right[at] += weight * mask[at] * values[at];
            }
    CHECK(largest_difference(sums, right) < 1e-15);
}
