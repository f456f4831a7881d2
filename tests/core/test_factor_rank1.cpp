// SPDX-License-Identifier: Apache-2.0
// Factors of large kernels: products of lines are found, and kernels near them are not.

#include <cmath>
#include <vector>

#include "convolume/volume.hpp"
#include "core/rank1.hpp"
#include "tests/catch.hpp"
#include "tests/support/random.hpp"

using namespace convolume;
using namespace convolume::testing;

namespace {

using Lines = std::array<std::vector<double>, 3>;

/// Returns a Gaussian line with its peak at `peak`, and zeros in the `rim` outer samples.
std::vector<double> gaussian_line(index_t size, index_t peak, double sigma, index_t rim) {
    std::vector<double> line(static_cast<std::size_t>(size));
    for (index_t i = rim; i < size - rim; ++i)
        line[static_cast<std::size_t>(i)] =
            std::exp(-std::pow(static_cast<double>(i - peak) / sigma, 2) / 2);
    return line;
}

template <class T>
Volume product(const Lines& lines) {
    const auto size = [&](std::size_t a) { return static_cast<index_t>(lines[a].size()); };
    Volume kernel({size(0), size(1), size(2)}, pixel_type_of_v<T>);
    T* sample = kernel.elements<T>();
    for (const double z : lines[0])
        for (const double y : lines[1])
            for (const double x : lines[2]) *sample++ = static_cast<T>(z * y * x);
    return kernel;
}

/// Returns the relative distance of the kernel from the product of its factors.
template <class T>
double distance(const Volume& kernel, const RankOne& found) {
    const T* sample = kernel.elements<T>();
    double difference = 0, total = 0;
    for (const double z : found.factors[0])
        for (const double y : found.factors[1])
            for (const double x : found.factors[2]) {
                const auto value = static_cast<double>(*sample++);
                difference += std::pow(value - z * y * x, 2);
                total += value * value;
            }
    return std::sqrt(difference / total);
}

template <class T>
void check_found(const Lines& lines) {
    constexpr bool single = std::is_same_v<T, float>;
    const Precision precision = single ? Precision::float32 : Precision::float64;
    const Volume kernel = product<T>(lines);
    INFO(to_string(kernel.shape()) << ' ' << to_string(kernel.type()));
    const auto found = factor_rank1(kernel.view(), precision);
    REQUIRE(found);
    CHECK(distance<T>(kernel, *found) <= (single ? 1e-7 : 1e-15));
}

}  // namespace

TEST_CASE("products of lines are found: off center, with zeros and signs, flat, large") {
    Lines signs;
    for (std::size_t a = 0; a < 3; ++a)
        for (index_t i = 0; i < 41; ++i) signs[a].push_back(std::cos(0.7 * static_cast<double>(i)));
    for (const Lines& lines : {Lines{gaussian_line(70, 3, 4, 0), gaussian_line(80, 77, 9, 0),
                                     gaussian_line(90, 45, 2, 0)},
                               Lines{gaussian_line(64, 30, 6, 8), gaussian_line(96, 40, 9, 11),
                                     gaussian_line(100, 60, 15, 1)},
                               Lines{gaussian_line(1, 0, 1, 0), gaussian_line(400, 200, 50, 0),
                                     gaussian_line(300, 150, 90, 5)},
                               Lines{std::vector<double>(50, 0.3), std::vector<double>(60, 1.0),
                                     std::vector<double>(70, -0.1)},
                               signs,
                               Lines{gaussian_line(150, 75, 20, 0), gaussian_line(150, 75, 1, 0),
                                     gaussian_line(150, 75, 60, 0)}}) {
        check_found<float>(lines);
    }
    // In float64, sums over many samples are less exact than the tolerance.
    check_found<double>({gaussian_line(9, 2, 4, 0), gaussian_line(12, 11, 5, 0),
                         std::vector<double>{0, 1, -2, 0.3}});
    check_found<double>(
        {std::vector<double>(1, 0.7), gaussian_line(15, 7, 3, 2), std::vector<double>(6, 0.1)});
}

TEST_CASE("large kernels near a product are not taken for one") {
    Random random(test_seed("large kernels near rank 1"));
    const Lines lines{gaussian_line(60, 30, 10, 0), gaussian_line(90, 40, 15, 0),
                      gaussian_line(100, 50, 20, 0)};
    const auto is_found = [](const Volume& kernel) {
        return factor_rank1(kernel.view(), Precision::float32).has_value();
    };
    const Volume original = product<float>(lines);
    REQUIRE(is_found(original));
    const Index3 far{2, 88, 97}, near{31, 42, 49};
    for (const Index3& at : {far, near}) {
        Volume kernel = product<float>(lines);
        kernel.view().at<float>(at.z, at.y, at.x) += 1e-3F;
        CHECK_FALSE(is_found(kernel));
    }
    Volume noisy = product<float>(lines), wide({60, 90, 100}, PixelType::float32);
    for (index_t i = 0; i < element_count(noisy.shape()); ++i)
        noisy.elements<float>()[i] += 1e-5F * static_cast<float>(random.uniform() - 0.5);
    CHECK_FALSE(is_found(noisy));
    for (index_t z = 0; z < 60; ++z)
        for (index_t y = 0; y < 90; ++y)
            for (index_t x = 0; x < 100; ++x)
                wide.view().at<float>(z, y, x) = static_cast<float>(
                    std::exp(-std::hypot(static_cast<double>(z - 30), static_cast<double>(y - 45),
                                         static_cast<double>(x - 50)) /
                             300));
    CHECK_FALSE(is_found(wide));
    CHECK_FALSE(is_found(Volume({3, 4, 5}, PixelType::float32)));
}

TEST_CASE("the place of the peak may be given") {
    const Volume kernel =
        product<float>({gaussian_line(9, 2, 3, 0), gaussian_line(8, 5, 2, 0), {1, 3, 2}});
    const auto searched = factor_rank1(kernel.view(), Precision::float32);
    REQUIRE(searched);
    for (const Index3& peak : {Index3{2, 5, 1}, Index3{2, 8, 1}, Index3{-1, 0, 0}}) {
        const auto found = factor_rank1(kernel.view(), Precision::float32, peak);
        REQUIRE(found);
        CHECK(found->factors == searched->factors);
    }
}
