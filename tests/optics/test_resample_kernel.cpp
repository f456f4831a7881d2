// SPDX-License-Identifier: Apache-2.0
// Resamples kernels to other voxel sizes, and compares with Gaussians integrated in closed form.

#include <algorithm>
#include <cmath>
#include <complex>
#include <vector>

#include "convolume/error.hpp"
#include "convolume/psf.hpp"
#include "tests/catch.hpp"

using namespace convolume;

namespace {

constexpr double sigma_z_um = 0.35, sigma_yx_um = 0.12;

/// Returns the share of a Gaussian between two positions.
double share(double low_um, double high_um, double sigma_um) {
    const double scale = 1 / (sigma_um * std::sqrt(2.0));
    return 0.5 * (std::erf(high_um * scale) - std::erf(low_um * scale));
}

/// Returns the integrals over voxels of a Gaussian in the middle of voxel `center`.
template <class T>
std::vector<T> gaussian(const Shape3& shape, const Index3& center, const VoxelSize& voxel) {
    std::vector<T> values;
    const auto along = [&](int axis, index_t i, double sigma_um) {
        const double middle_um = static_cast<double>(i - center[axis]) * voxel[axis];
        return share(middle_um - voxel[axis] / 2, middle_um + voxel[axis] / 2, sigma_um);
    };
    for (index_t z = 0; z < shape.z; ++z)
        for (index_t y = 0; y < shape.y; ++y)
            for (index_t x = 0; x < shape.x; ++x)
                values.push_back(static_cast<T>(along(0, z, sigma_z_um) * along(1, y, sigma_yx_um) *
                                                along(2, x, sigma_yx_um)));
    return values;
}

double sum_of(const Volume& volume) {
    double sum = 0;
    for (index_t i = 0; i < element_count(volume.shape()); ++i)
        sum += volume.type() == PixelType::float64
                   ? volume.elements<double>()[i]
                   : static_cast<double>(volume.elements<float>()[i]);
    return sum;
}

TEST_CASE("resampling a kernel needs the memory that is predicted", "[optics][kernel]") {
    struct Case {
        Shape3 shape;
        PixelType type;
        VoxelSize from, to;
    };
    for (const Case& c : {Case{{9, 40, 40}, PixelType::float32, {1, 1, 1}, {0.3, 0.4, 0.25}},
                          Case{{40, 60, 60}, PixelType::float64, {1, 1, 1}, {2, 1, 3}},
                          Case{{5, 64, 64}, PixelType::uint16, {1, 1, 1}, {1, 0.2, 1}}}) {
        const Volume kernel(c.shape, c.type);
        const Index3 center{c.shape.z / 2, c.shape.y / 2, c.shape.x / 2};
        const index_t before = memory_use().current_bytes;
        reset_memory_peak();
        const ResampledKernel result = resample_kernel(kernel.view(), center, c.from, c.to);
        CHECK(memory_use().peak_bytes - before ==
              resampling_bytes(c.shape, c.type, center, c.from, c.to));
    }
}

}  // namespace

TEST_CASE("a resampled Gaussian equals the Gaussian of the other voxels") {
    const VoxelSize from{0.2, 0.065, 0.065};
    const Shape3 shape{23, 31, 33};
    struct Case {
        VoxelSize to;
        Index3 center;
        double tolerance;  // error allowed for the spline, relative to the peak
    };
    // Coarser and finer voxels, fractional ratios, a change of one axis alone, and centers off the
    // middle.
    for (const Case& c :
         {Case{{0.3, 0.1, 0.1}, {11, 15, 16}, 3e-3}, Case{{0.1, 0.04, 0.05}, {12, 14, 17}, 4e-3},
          Case{{0.2, 0.065, 0.13}, {10, 15, 16}, 3e-3},
          Case{{0.27, 0.07, 0.06}, {11, 16, 15}, 3e-3}}) {
        const std::vector<double> kernel = gaussian<double>(shape, c.center, from);
        const ResampledKernel result =
            resample_kernel(view_of(kernel.data(), shape), c.center, from, c.to);
        const std::vector<double> wanted =
            gaussian<double>(result.values.shape(), result.center, c.to);
        const double peak = *std::max_element(wanted.begin(), wanted.end());
        double worst = 0, lowest = 0;
        for (std::size_t i = 0; i < wanted.size(); ++i) {
            const double found = result.values.elements<double>()[i];
            worst = std::max(worst, std::abs(found - wanted[i]));
            lowest = std::min(lowest, found);
        }
        INFO("to " << c.to.z_um << "×" << c.to.y_um << "×" << c.to.x_um << ", "
                   << to_string(result.values.shape()) << ": " << worst / peak);
        CHECK(worst <= c.tolerance * peak);
        CHECK(lowest == 0);
        double given = 0;
        for (const double value : kernel) given += value;
        CHECK(sum_of(result.values) == Approx(given).epsilon(1e-12));
        for (int axis = 0; axis < 3; ++axis) {  // the result covers the kernel's extent
            const double below = (static_cast<double>(result.center[axis]) + 0.5) * c.to[axis];
            CHECK(below >= (static_cast<double>(c.center[axis]) + 0.5) * from[axis] - 1e-9);
            const double above =
                (static_cast<double>(result.values.shape()[axis] - result.center[axis]) - 0.5) *
                c.to[axis];
            CHECK(above >=
                  (static_cast<double>(shape[axis] - c.center[axis]) - 0.5) * from[axis] - 1e-9);
        }
    }
}

TEST_CASE("equal voxels do not change a kernel") {
    const VoxelSize voxel{0.2, 0.065, 0.065};
    const Shape3 shape{4, 6, 7};
    const std::vector<float> kernel = gaussian<float>(shape, {2, 3, 3}, voxel);
    const ResampledKernel result =
        resample_kernel(view_of(kernel.data(), shape), {2, 3, 3}, voxel, voxel);
    REQUIRE(result.values.shape() == shape);
    CHECK(result.center == Index3{2, 3, 3});
    CHECK(result.values.type() == PixelType::float32);
    CHECK(std::equal(kernel.begin(), kernel.end(), result.values.elements<float>()));
}

TEST_CASE("half and double voxels of a flat kernel are known exactly") {
    // Eight taps of value 2 become 15 taps of value 1 and, at either end, a tap of value 0.5, of
    // which half lies outside the kernel.
    const std::vector<std::uint16_t> flat(8, 2);
    const ResampledKernel finer =
        resample_kernel(view_of(flat.data(), {1, 1, 8}), {0, 0, 4}, {1, 1, 1}, {1, 1, 0.5});
    REQUIRE(finer.values.shape() == Shape3{1, 1, 17});
    CHECK(finer.center == Index3{0, 0, 9});
    for (index_t x = 0; x < 17; ++x)
        CHECK(finer.values.elements<float>()[x] ==
              Approx(x == 0 || x == 16 ? 0.5 : 1.0).epsilon(1e-6));
    const ResampledKernel coarser =
        resample_kernel(view_of(flat.data(), {8, 1, 1}), {4, 0, 0}, {1, 1, 1}, {2, 1, 1});
    REQUIRE(coarser.values.shape() == Shape3{5, 1, 1});
    CHECK(coarser.center == Index3{2, 0, 0});
    const float wanted[] = {3, 4, 4, 4, 1};
    for (index_t z = 0; z < 5; ++z) CHECK(coarser.values.elements<float>()[z] == Approx(wanted[z]));
}

TEST_CASE("kernels with negative samples keep these and their sum") {
    const std::vector<double> signed_kernel{-1, -2, 0, 5, 9, 5, 0, -2, -1};
    const ResampledKernel result = resample_kernel(view_of(signed_kernel.data(), {1, 1, 9}),
                                                   {0, 0, 4}, {1, 1, 0.1}, {1, 1, 0.07});
    const double* const values = result.values.elements<double>();
    CHECK(*std::min_element(values, values + result.values.shape().x) < -0.5);
    CHECK(sum_of(result.values) == Approx(13).epsilon(1e-12));
}

TEST_CASE("kernels that cannot be resampled are refused") {
    const std::vector<float> kernel(27, 1.0F);
    const auto view = view_of(kernel.data(), {3, 3, 3});
    const VoxelSize voxel{0.2, 0.1, 0.1};
    CHECK_THROWS_AS(resample_kernel(view, {3, 1, 1}, voxel, voxel), InvalidArgument);
    CHECK_THROWS_AS(resample_kernel(view, {1, 1, -1}, voxel, voxel), InvalidArgument);
    CHECK_THROWS_AS(resample_kernel(view, {1, 1, 1}, voxel, {0, 0.1, 0.1}), InvalidArgument);
    CHECK_THROWS_AS(resample_kernel(view, {1, 1, 1}, {0.2, -0.1, 0.1}, voxel), InvalidArgument);
    CHECK_THROWS_AS(resample_kernel(view, {1, 1, 1}, voxel, {0.2, 0.1, 1e-12}), InvalidArgument);
    const std::vector<std::complex<float>> complex_kernel(27, 1.0F);
    CHECK_THROWS_AS(resample_kernel(view_of(complex_kernel.data(), {3, 3, 3}), {1, 1, 1}, voxel,
                                    {0.1, 0.1, 0.1}),
                    InvalidArgument);
}
