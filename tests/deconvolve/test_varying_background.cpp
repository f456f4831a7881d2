// SPDX-License-Identifier: Apache-2.0
// Tests backgrounds that vary over y and x.

#include <cmath>

#include "convolume/missing_pixels.hpp"
#include "deconvolve/estimates/background_slope.hpp"
#include "deconvolve/pixel_bounds.hpp"
#include "tests/catch.hpp"
#include "tests/deconvolve/specimen.hpp"
#include "tests/support/compare.hpp"

using namespace convolume;
using namespace convolume::testing;

namespace {

const Shape3 sloped_shape{4, 96, 120};

double background_at(index_t y, index_t x) {
    return 100 + 0.4 * static_cast<double>(x) - 0.3 * static_cast<double>(y);
}

double mean_background() {
    double sum = 0;
    for (index_t y = 0; y < sloped_shape.y; ++y)
        for (index_t x = 0; x < sloped_shape.x; ++x) sum += background_at(y, x);
    return sum / static_cast<double>(sloped_shape.y * sloped_shape.x);
}

// Counts of a background, and of bright squares. `covered` is the share of the columns, from the
// left, in which the squares leave no gaps.
Volume recording(const char* name, double covered = 0) {
    Random random(test_seed(name));
    const Array noise = random.array(sloped_shape, false);
    Volume image(sloped_shape, PixelType::float32);
    for (index_t z = 0; z < sloped_shape.z; ++z)
        for (index_t y = 0; y < sloped_shape.y; ++y)
            for (index_t x = 0; x < sloped_shape.x; ++x) {
                const bool is_bright =
                    static_cast<double>(x) < covered * 120 || (y / 8 % 4 == 1 && x / 8 % 3 == 1);
                const auto i =
                    static_cast<std::size_t>((z * sloped_shape.y + y) * sloped_shape.x + x);
                const double deviate = noise.values[i].real();  // from -0.5 to 0.5
                image.view().at<float>(z, y, x) =
                    static_cast<float>(background_at(y, x) + (is_bright ? 300 : 0) + 10 * deviate);
            }
    return image;
}

// Returns the largest distance of a slope from the shape of the background.
double error_of(const deconvolve::BackgroundSlope& slope) {
    const double mean = mean_background();
    double most = 0;
    for (index_t y = 0; y < sloped_shape.y; ++y)
        for (index_t x = 0; x < sloped_shape.x; ++x) {
            const double here = slope.at(static_cast<double>(y), static_cast<double>(x));
            most = std::max(most, std::abs(here - (background_at(y, x) - mean)));
        }
    return most;
}

deconvolve::BackgroundSlope slope_of(const Volume& image,
                                     const deconvolve::PixelBounds& bounds = {}) {
    ViewSource source(image.view());
    return deconvolve::find_background_slope(source, bounds, 1);
}

Volume sloped_psf() {
    return to_volume(gaussian_psf({3, 5, 5}, {1, 1, 1}, {1, 2, 2}), PixelType::float32);
}

DeconvolveOptions options() {
    DeconvolveOptions options;
    options.has_varying_background = true;
    options.iterations = 3;
    return options;
}

}  // namespace

TEST_CASE("deconvolve: a background that varies is found between objects") {
    const deconvolve::BackgroundSlope found = slope_of(recording("between"));
    CHECK(error_of(found) < 6);
    const double corners = background_at(0, 119) - background_at(95, 0);
    CHECK(std::abs(found.range() - corners) < 6);
}

TEST_CASE("deconvolve: regions without dark pixels do not lift a background that varies") {
    CHECK(error_of(slope_of(recording("covered", 0.3))) < 6);  // objects have 300
}

TEST_CASE("deconvolve: objects in most regions leave a background without a slope") {
    CHECK(slope_of(recording("filled", 0.8)).range() == 0);
}

TEST_CASE("deconvolve: missing and saturated pixels tell no background") {
    Volume image = recording("left out");
    for (index_t y = 0; y < 96; y += 2) image.view().at<float>(1, y, y) = missing_pixel;
    for (index_t y = 0; y < 96; y += 3) image.view().at<float>(2, y, 7) = 1000;
    CHECK(error_of(slope_of(image, {1000.0})) < 6);
}

TEST_CASE("deconvolve: results under a varying background are those of the flat image") {
    const Volume image = recording("result");
    Volume flat(sloped_shape, PixelType::float32), want(sloped_shape, PixelType::float32);
    Volume got(sloped_shape, PixelType::float32);
    const deconvolve::BackgroundSlope slope = slope_of(image);
    for (index_t z = 0; z < sloped_shape.z; ++z)
        for (index_t y = 0; y < sloped_shape.y; ++y)
            for (index_t x = 0; x < sloped_shape.x; ++x)
                flat.view().at<float>(z, y, x) =
                    image.view().at<float>(z, y, x) -
                    static_cast<float>(slope.at(static_cast<double>(y), static_cast<double>(x)));
    DeconvolveOptions constant = options();
    constant.has_varying_background = false;
    const Volume taps = sloped_psf();
    const DeconvolveReport of_flat = Deconvolver(sloped_shape, taps.view(), constant, cpu_only())
                                         .execute(flat.view(), want.view());
    const Deconvolver varying(sloped_shape, taps.view(), options(), cpu_only());
    const DeconvolveReport report = varying.execute(image.view(), got.view());
    CHECK(to_array(got.view()).values == to_array(want.view()).values);
    CHECK(report.background_range.value_or(0) == slope.range());
    CHECK(report.background == of_flat.background);

    Volume same(sloped_shape, PixelType::float32);
    convert_pixels(image.view(), same.view());
    varying.execute(same.view(), same.view());
    CHECK(to_array(same.view()).values == to_array(want.view()).values);
}

TEST_CASE("deconvolve: saturated pixels are bounds under a background that varies") {
    Volume image = recording("saturated");
    for (index_t i = 0; i < element_count(sloped_shape); ++i)
        image.elements<float>()[i] = std::min(image.elements<float>()[i], 400.0F);
    DeconvolveOptions saturated = options();
    saturated.saturation = 400;
    Volume result(sloped_shape, PixelType::float32);
    const DeconvolveReport report =
        Deconvolver(sloped_shape, sloped_psf().view(), saturated, cpu_only())
            .execute(image.view(), result.view());
    const auto* const values = image.elements<float>();
    CHECK(report.saturated_pixels ==
          std::count(values, values + element_count(sloped_shape), 400.0F));
    CHECK(report.saturated_pixels > 0);
}

TEST_CASE("deconvolve: what tells no background that varies is refused") {
    const Volume taps = sloped_psf();
    CHECK_THROWS_WITH(Deconvolver({4, 96, 60}, taps.view(), options(), cpu_only()),
                      ContainsSubstring("at least 64 pixels"));
    Volume wide({1, 41, 41}, PixelType::float32);
    std::fill_n(wide.elements<float>(), 41 * 41, 1.0F);
    CHECK_THROWS_WITH(Deconvolver(sloped_shape, wide.view(), options(), cpu_only()),
                      ContainsSubstring("haze"));
    DeconvolveOptions both = options();
    both.background = 100;
    CHECK_THROWS_WITH(Deconvolver(sloped_shape, taps.view(), both, cpu_only()),
                      ContainsSubstring("also varies"));
}
