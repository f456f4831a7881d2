// SPDX-License-Identifier: Apache-2.0
// Tests camera pixels over voxels: light is conserved for any ratio of their sizes.

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "convolume/camera.hpp"
#include "convolume/error.hpp"
#include "convolume/volume.hpp"
#include "tests/catch.hpp"

using namespace convolume;

namespace {

template <class T>
Volume random_light(const Shape3& shape) {
    Volume volume(shape, pixel_type_of_v<T>);
    std::mt19937 random(20);
    for (index_t i = 0; i < element_count(shape); ++i)
        volume.elements<T>()[i] = static_cast<T>(random()) * static_cast<T>(0x1p-32);
    return volume;
}

/// Returns the length of the overlap of [a, a+1) and [low, high).
double overlap(index_t a, double low, double high) {
    const double begin = static_cast<double>(a);
    return std::max(0.0, std::min(begin + 1, high) - std::max(begin, low));
}

/// Sums the light of every voxel in every pixel.
template <class T>
std::vector<double> direct_sample(const Volume& light, const VoxelSize& ratio, const Shape3& camera,
                                  index_t plane) {
    const Shape3 shape = light.shape();
    std::vector<double> pixels;
    const double depth = static_cast<double>(plane) * ratio.z_um;
    for (index_t j = 0; j < camera.y; ++j)
        for (index_t i = 0; i < camera.x; ++i) {
            double sum = 0;
            for (index_t z = 0; z < shape.z; ++z)
                for (index_t y = 0; y < shape.y; ++y)
                    for (index_t x = 0; x < shape.x; ++x) {
                        const double near =
                            std::max(0.0, 1 - std::abs(static_cast<double>(z) - depth));
                        const double jj = static_cast<double>(j), ii = static_cast<double>(i);
                        sum += near * overlap(y, jj * ratio.y_um, (jj + 1) * ratio.y_um) *
                               overlap(x, ii * ratio.x_um, (ii + 1) * ratio.x_um) *
                               static_cast<double>(
                                   light.elements<T>()[(z * shape.y + y) * shape.x + x]);
                    }
            pixels.push_back(sum);
        }
    return pixels;
}

template <class T>
void check_ratio(const VoxelSize& voxel, const VoxelSize& pixel, const Shape3& expected_shape) {
    const Volume light = random_light<T>({5, 13, 17});
    const CameraGrid grid(light.shape(), voxel, pixel);
    CHECK(grid.shape() == expected_shape);
    const VoxelSize ratio{pixel.z_um / voxel.z_um, pixel.y_um / voxel.y_um,
                          pixel.x_um / voxel.x_um};
    std::vector<double> found(static_cast<std::size_t>(grid.shape().y * grid.shape().x));
    std::vector<double> again(found.size());
    for (index_t plane = 0; plane < grid.shape().z; ++plane) {
        grid.sample(light.view(), plane, found.data(), 1);
        const auto expected = direct_sample<T>(light, ratio, grid.shape(), plane);
        double worst = 0;
        for (std::size_t i = 0; i < found.size(); ++i)
            worst = std::max(worst, std::abs(found[i] - expected[i]));
        INFO("ratio " << ratio.z_um << "," << ratio.y_um << "," << ratio.x_um << " plane "
                      << plane);
        CHECK(worst < 1e-11);  // rounding of float64 sums of a few hundred terms
        grid.sample(light.view(), plane, again.data(), 3);
        CHECK(found == again);
        const PlaneRange below = grid.planes_below(plane);
        REQUIRE(below.end - below.begin <= 2);
        const ConstImageView seen =
            subview(light.view(), {{below.begin, 0, 0}, {below.end, 13, 17}});
        grid.sample_planes(seen, plane, again.data(), 2);
        CHECK(found == again);
    }
}

}  // namespace

TEST_CASE("camera pixels gather the light below them") {
    check_ratio<float>({0.2, 0.1, 0.1}, {0.2, 0.1, 0.1}, {5, 13, 17});
    check_ratio<double>({0.2, 0.1, 0.1}, {0.4, 0.13, 0.13}, {3, 10, 13});
    check_ratio<float>({0.2, 0.1, 0.1}, {0.3, 0.3, 0.2}, {3, 4, 8});
    check_ratio<float>({0.2, 0.1, 0.1}, {0.05, 0.100001, 0.7853}, {17, 12, 2});
    check_ratio<double>({0.2, 0.065, 0.065}, {0.8, 0.845, 0.325}, {2, 1, 3});
}

TEST_CASE("all light that falls on the camera is counted once") {
    const Shape3 shape{1, 130, 117};
    const Volume light = random_light<double>(shape);
    // 100 pixels of 0.13 µm cover 130 voxels of 0.1 µm exactly, and 90 cover 117.
    const CameraGrid grid(shape, {1, 0.1, 0.1}, {1, 0.13, 0.13});
    REQUIRE(grid.shape() == Shape3{1, 100, 90});
    std::vector<double> pixels(100 * 90);
    grid.sample(light.view(), 0, pixels.data());
    double recorded = 0, sent = 0;
    for (const double pixel : pixels) recorded += pixel;
    for (index_t i = 0; i < element_count(shape); ++i) sent += light.elements<double>()[i];
    CHECK(std::abs(recorded / sent - 1) < 1e-13);
}

TEST_CASE("cameras that do not fit the image are refused") {
    const VoxelSize voxel{0.2, 0.1, 0.1};
    const Shape3 shape{4, 8, 8};
    CHECK_THROWS_AS(CameraGrid(shape, voxel, {0.2, 0.09, 0.1}), InvalidArgument);
    CHECK_THROWS_AS(CameraGrid(shape, voxel, {0.2, 0.1, 0.0999}), InvalidArgument);
    CHECK_THROWS_AS(CameraGrid(shape, voxel, {0.2, 0.81, 0.1}), InvalidArgument);
    CHECK_THROWS_AS(CameraGrid(shape, voxel, {0, 0.1, 0.1}), InvalidArgument);
    CHECK_THROWS_AS(CameraGrid(shape, voxel, {0.2, NAN, 0.1}), InvalidArgument);
    CHECK_THROWS_AS(CameraGrid(shape, {0.2, 0, 0.1}, voxel), InvalidArgument);
    const CameraGrid grid(shape, voxel, voxel);
    std::vector<double> pixels(64);
    const Volume integers(shape, PixelType::uint16), other({4, 8, 9}, PixelType::float32),
        light(shape, PixelType::float32);
    CHECK_THROWS_AS(grid.sample(integers.view(), 0, pixels.data()), InvalidArgument);
    CHECK_THROWS_AS(grid.sample(other.view(), 0, pixels.data()), InvalidArgument);
    CHECK_THROWS_AS(grid.sample(light.view(), 4, pixels.data()), InvalidArgument);
    CHECK_THROWS_AS(grid.planes_below(-1), InvalidArgument);
    CHECK_THROWS_AS(grid.sample_planes(light.view(), 1, pixels.data()), InvalidArgument);
}
