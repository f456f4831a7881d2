// SPDX-License-Identifier: Apache-2.0
// Tests linear interpolation along planes that a map turns, against sums over corners in double.

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "forward/view_sampling.hpp"
#include "tests/catch.hpp"
#include "tests/support/random.hpp"

using namespace convolume;
using namespace convolume::testing;
using forward::ViewSampling;

namespace {

// Returns a turn by 0.6 rad that leaves an axis, stretches one of the others, and moves all.
VoxelMap turned_around(int axis, double along) {
    const auto a = static_cast<std::size_t>(axis), u = (a + 1) % 3, v = (a + 2) % 3;
    VoxelMap map;
    map.matrix[u][u] = 1.7 * std::cos(0.6);
    map.matrix[u][v] = std::sin(0.6);
    map.matrix[v][u] = -1.7 * std::sin(0.6);
    map.matrix[v][v] = std::cos(0.6);
    map.offset[u] = 3.25;
    map.offset[v] = 7.5;
    map.offset[a] = along;
    return map;
}

// Returns the interpolated object at one position.
double interpolated(const std::vector<double>& object, const Shape3& shape,
                    const std::array<double, 3>& at) {
    double sum = 0;
    std::array<index_t, 3> first{};
    for (std::size_t a = 0; a < 3; ++a) first[a] = static_cast<index_t>(std::floor(at[a]));
    for (index_t corner = 0; corner < 8; ++corner) {
        const Index3 voxel{first[0] + corner / 4, first[1] + corner / 2 % 2, first[2] + corner % 2};
        double weight = 1;
        bool is_inside = true;
        for (std::size_t a = 0; a < 3; ++a) {
            const index_t i = voxel[static_cast<int>(a)];
            is_inside = is_inside && i >= 0 && i < shape[static_cast<int>(a)];
            weight *= 1 - std::abs(at[a] - static_cast<double>(i));
        }
        if (is_inside)
            sum +=
                weight *
                object[static_cast<std::size_t>((voxel.z * shape.y + voxel.y) * shape.x + voxel.x)];
    }
    return sum;
}

double error_of_floats(const std::vector<float>& a, const std::vector<double>& b) {
    double largest = 0;
    for (std::size_t i = 0; i < b.size(); ++i)
        largest = std::max(largest, std::abs(static_cast<double>(a[i]) - b[i]));
    return largest;
}

}  // namespace

TEST_CASE("turns of planes are sampled as voxel by voxel", "[forward]") {
    Random random(test_seed("turned planes"));
    for (const int axis : {0, 1, 2})
        for (const double along : {0.0, -3.0, 2.25, -20.5}) {
            Shape3 object{14, 15, 13}, grid{12, 13, 14};
            object[axis] = 37;
            grid[axis] = 21;
            const VoxelMap map = turned_around(axis, along);
            const std::vector<double> values = random.values<double>(object);
            std::vector<double> sampled(static_cast<std::size_t>(element_count(grid)), -1.0);
            ViewSampling(object, grid, map).sample(values.data(), sampled.data(), 2);
            // Columns of the matrix are 1.7 long at most along one axis: two samples of a voxel.
            const auto stretched = static_cast<std::size_t>((axis + 1) % 3);
            double largest = 0;
            for (index_t z = 0; z < grid.z; ++z)
                for (index_t y = 0; y < grid.y; ++y)
                    for (index_t x = 0; x < grid.x; ++x) {
                        double mean = 0;
                        for (const double side : {-0.25, 0.25}) {
                            std::array<double, 3> voxel{static_cast<double>(z),
                                                        static_cast<double>(y),
                                                        static_cast<double>(x)};
                            voxel[stretched] += side;
                            mean += interpolated(values, object, map(voxel)) / 2;
                        }
                        const auto i = static_cast<std::size_t>((z * grid.y + y) * grid.x + x);
                        largest = std::max(largest, std::abs(sampled[i] - mean));
                    }
            INFO("axis " << axis << ", moved by " << along);
            CHECK(largest < 1e-12);
        }
}

TEST_CASE("an object far beside a turned grid gives and gets nothing", "[forward]") {
    const Shape3 shape{18, 17, 19};  // planes along an axis of at least 16 voxels
    const auto count = static_cast<std::size_t>(element_count(shape));
    for (const int axis : {0, 1, 2})
        for (const double away : {3e9, -3e9, 1e14, -1e14}) {  // the first two are 2^31 to 2^32
            VoxelMap map = turned_around(axis, 0.5);
            map.offset[static_cast<std::size_t>((axis + 1) % 3)] += away;
            const ViewSampling sampling(shape, shape, map);
            std::vector<float> object(count, 1.0F), grid(count, 2.0F);
            sampling.sample(object.data(), grid.data(), 1);
            CHECK(grid == std::vector<float>(count, 0.0F));
            sampling.add_back(object.data(), grid.data(), 1);
            CHECK(grid == std::vector<float>(count, 0.0F));
        }
}

TEST_CASE("the adjoint of turned planes does not depend on threads, and floats are near doubles",
          "[forward]") {
    Random random(test_seed("adjoint of turned planes"));
    for (const int axis : {0, 1, 2}) {
        Shape3 object{14, 15, 22}, grid{12, 13, 19};
        object[axis] = 37;
        grid[axis] = 21;
        const ViewSampling sampling(object, grid, turned_around(axis, 2.25));
        const auto x = random.values<double>(object), y = random.values<double>(grid);
        std::vector<double> seen(y.size()), back(x.size()), again(x.size());
        sampling.sample(x.data(), seen.data(), 3);
        sampling.add_back(y.data(), back.data(), 1);
        sampling.add_back(y.data(), again.data(), 3);
        CHECK(back == again);
        double of_images = 0, of_objects = 0;
        for (std::size_t i = 0; i < y.size(); ++i) of_images += seen[i] * y[i];
        for (std::size_t i = 0; i < x.size(); ++i) of_objects += x[i] * back[i];
        CHECK(std::abs(of_images - of_objects) < 1e-12 * std::abs(of_images));

        const std::vector<float> x_floats(x.begin(), x.end()), y_floats(y.begin(), y.end());
        std::vector<float> seen_floats(y.size()), back_floats(x.size());
        sampling.sample(x_floats.data(), seen_floats.data(), 2);
        sampling.add_back(y_floats.data(), back_floats.data(), 2);
        CHECK(error_of_floats(seen_floats, seen) < 1e-5);
        CHECK(error_of_floats(back_floats, back) < 1e-5);
    }
}

TEST_CASE("oblique rows are sampled as voxel by voxel, and back by the adjoint", "[forward]") {
    Random random(test_seed("oblique rows"));
    VoxelMap oblique = composed(turned_around(0, 1.5), turned_around(1, -2.25));
    oblique.offset = {-3.5, 9, 4.25};
    // Steps of 2000 voxels along z lead to indices that no vector of 32 bits holds.
    VoxelMap steep;
    steep.matrix = {{{1, 0, 2000}, {0, 1, 0.25}, {0, 0.125, 1}}};
    steep.offset = {-1999, 3, 2};
    struct Case {
        Shape3 object, grid;
        VoxelMap map;
    };
    for (const auto& [object, grid, map] :
         {Case{{20, 19, 75}, {17, 12, 90}, oblique}, Case{{5, 300, 500}, {2, 2, 3}, steep}}) {
        const ViewSampling sampling(object, grid, map);
        const std::vector<double> x = random.values<double>(object),
                                  y = random.values<double>(grid);
        std::vector<double> seen(y.size()), back(x.size()), again(x.size());
        sampling.sample(x.data(), seen.data(), 3);
        const std::vector<float> floats(x.begin(), x.end());
        std::vector<float> seen_floats(y.size()), back_floats(x.size());
        const std::vector<float> y_floats(y.begin(), y.end());
        sampling.sample(floats.data(), seen_floats.data(), 2);
        std::array<index_t, 3> samples{};
        for (std::size_t a = 0; a < 3; ++a) {
            double longest = 1;
            for (std::size_t b = 0; b < 3; ++b)
                longest = std::max(longest, std::abs(map.matrix[b][a]));
            samples[a] = static_cast<index_t>(std::ceil(longest - 1e-6));
        }
        double largest = 0, largest_of_floats = 0, of_images = 0, of_objects = 0;
        for (index_t i = 0; i < element_count(grid); ++i) {
            const std::array<index_t, 3> voxel{i / (grid.y * grid.x), i / grid.x % grid.y,
                                               i % grid.x};
            double mean = 0;
            const index_t count = samples[0] * samples[1] * samples[2];
            for (index_t k = 0; k < count; ++k) {
                const std::array<index_t, 3> sample{k / (samples[1] * samples[2]),
                                                    k / samples[2] % samples[1], k % samples[2]};
                std::array<double, 3> at{};
                for (std::size_t a = 0; a < 3; ++a)
                    at[a] =
                        static_cast<double>(voxel[a]) - 0.5 +
                        (static_cast<double>(sample[a]) + 0.5) / static_cast<double>(samples[a]);
                mean += interpolated(x, object, map(at)) / static_cast<double>(count);
            }
            const auto at = static_cast<std::size_t>(i);
            largest = std::max(largest, std::abs(seen[at] - mean));
            const double of_float = seen_floats[at];
            largest_of_floats = std::max(largest_of_floats, std::abs(of_float - mean));
            of_images += seen[at] * y[at];
        }
        INFO("steps along z of " << map.matrix[0][2]);
        CHECK(of_images > 0);
        CHECK(largest < 1e-11);
        CHECK(largest_of_floats < 1e-6);
        sampling.add_back(y.data(), back.data(), 1);
        sampling.add_back(y.data(), again.data(), 3);
        CHECK(back == again);
        sampling.add_back(y_floats.data(), back_floats.data(), 2);
        for (std::size_t i = 0; i < x.size(); ++i) of_objects += x[i] * back[i];
        CHECK(std::abs(of_images - of_objects) < 1e-12 * std::abs(of_images));
        CHECK(error_of_floats(back_floats, back) < 1e-5);
    }
}
