// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "cli/info/command.hpp"
#include "cli/picture/projection.hpp"
#include "cli/preview/command.hpp"
#include "tests/catch.hpp"

using namespace convolume;
using namespace convolume::cli;

namespace {

bool is_near(double a, double b) {
    return std::abs(a - b) < 1e-5;
}

}  // namespace

TEST_CASE("projections hold the largest value along each axis") {
    const Shape3 shape{3, 4, 5};
    std::vector<float> values(60);
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>((i * 37) % 61);
    values[7] = std::numeric_limits<float>::quiet_NaN();
    Projections projections(shape);
    const ConstImageView view = view_of(static_cast<const float*>(values.data()), shape);
    projections.add(subview(view, {{0, 0, 0}, {2, 4, 5}}), 0);
    projections.add(subview(view, {{2, 0, 0}, {3, 4, 5}}), 2);
    const auto value = [&](index_t z, index_t y, index_t x) {
        const float v = values[static_cast<std::size_t>((z * 4 + y) * 5 + x)];
        return std::isnan(v) ? -1.0F : v;
    };
    for (index_t y = 0; y < 4; ++y)
        for (index_t x = 0; x < 5; ++x) {
            float want = -1;
            for (index_t z = 0; z < 3; ++z) want = std::max(want, value(z, y, x));
            CHECK(projections.along_z.at(y, x) == want);
        }
    for (index_t z = 0; z < 3; ++z)
        for (index_t x = 0; x < 5; ++x) {
            float want = -1;
            for (index_t y = 0; y < 4; ++y) want = std::max(want, value(z, y, x));
            CHECK(projections.along_y.at(z, x) == want);
        }
    for (index_t y = 0; y < 4; ++y)
        for (index_t z = 0; z < 3; ++z) {
            float want = -1;
            for (index_t x = 0; x < 5; ++x) want = std::max(want, value(z, y, x));
            CHECK(projections.along_x.at(y, z) == want);
        }
}

TEST_CASE(
    "slices go through the middle voxel and a given plane, for images read in parts or as a "
    "whole") {
    const Shape3 shape{4, 5, 7};
    std::vector<float> values(140);
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i);
    const ConstImageView view = view_of(static_cast<const float*>(values.data()), shape);
    Slices slices(shape, 1);
    slices.add(subview(view, {{0, 0, 0}, {3, 5, 7}}), 0);
    slices.add(subview(view, {{3, 0, 0}, {4, 5, 7}}), 3);
    for (index_t y = 0; y < 5; ++y)
        for (index_t x = 0; x < 7; ++x)
            CHECK(slices.along_z.at(y, x) == static_cast<float>((1 * 5 + y) * 7 + x));
    for (index_t z = 0; z < 4; ++z) {
        for (index_t x = 0; x < 7; ++x)
            CHECK(slices.along_y.at(z, x) == static_cast<float>((z * 5 + 2) * 7 + x));
        for (index_t y = 0; y < 5; ++y)
            CHECK(slices.along_x.at(y, z) == static_cast<float>((z * 5 + y) * 7 + 3));
    }
    replace_by_logarithm(slices);
    CHECK(is_near(slices.along_z.at(0, 0), std::log10(35.0)));
    CHECK(slices.along_y.at(0, 0) < slices.along_z.at(0, 0));
}

TEST_CASE("resampling keeps constants and ramps, and when shrinking means") {
    FloatPlane constant(5, 7, 3);
    for (const float value : resample(constant, 11, 4).values) CHECK(is_near(value, 3));
    FloatPlane ramp(1, 8, 0);
    for (index_t x = 0; x < 8; ++x) ramp.at(0, x) = static_cast<float>(x);
    const FloatPlane twice = resample(ramp, 1, 16);
    CHECK(is_near(twice.at(0, 7), 3.25));
    CHECK(is_near(twice.at(0, 8), 3.75));
    FloatPlane spot(9, 9, 0);
    spot.at(4, 4) = 9;
    const FloatPlane third = resample(spot, 3, 3);
    CHECK(third.at(1, 1) > third.at(0, 0));
    CHECK(is_near(third.at(1, 1), 1));
}

TEST_CASE("gray limits are percentiles of finite values") {
    FloatPlane plane(1, 101, 0);
    for (index_t x = 0; x <= 100; ++x) plane.at(0, 100 - x) = static_cast<float>(x);
    CHECK(percentile_limits(plane, 1, 99).low == 1);
    CHECK(percentile_limits(plane, 1, 99).high == 99);
    const FloatPlane flat(2, 2, 5);
    CHECK(percentile_limits(flat, 1, 99).high > percentile_limits(flat, 1, 99).low);
    const FloatPlane none(1, 1, std::numeric_limits<float>::quiet_NaN());
    CHECK(percentile_limits(none, 1, 99).high == 1);
}

TEST_CASE("statistics leave NaN out and count them") {
    const std::vector<double> values{1, -2, std::numeric_limits<double>::quiet_NaN(), 5};
    PixelStatistics statistics;
    statistics.add(view_of(values.data(), {1, 2, 2}));
    CHECK(statistics.count == 4);
    CHECK(statistics.nan_count == 1);
    CHECK(statistics.minimum == -2);
    CHECK(statistics.maximum == 5);
    CHECK(statistics.value_sum == 4);
    CHECK(is_near(statistics.mean(), 4.0 / 3));
}

TEST_CASE("scale bars have round lengths") {
    CHECK(is_near(round_length(7.3), 5));
    CHECK(is_near(round_length(5), 5));
    CHECK(is_near(round_length(0.42), 0.2));
    CHECK(is_near(round_length(19), 10));
}
