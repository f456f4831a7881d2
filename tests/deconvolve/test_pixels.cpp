// SPDX-License-Identifier: Apache-2.0
// Tests pixel types of images and results, the background, and images without light.

#include <cmath>

#include "deconvolve/estimates/levels.hpp"
#include "tests/catch.hpp"
#include "tests/deconvolve/specimen.hpp"
#include "tests/support/compare.hpp"

using namespace convolume;
using namespace convolume::testing;

namespace {

const Shape3 small_shape{6, 9, 8};

Array counts(const char* name, index_t low, index_t high) {
    Random random(test_seed(name));
    return random.integers(small_shape, low, high);
}

const Array& small_psf() {
    static const Array gaussian = gaussian_psf({3, 3, 3}, {1, 1, 1}, {1, 1, 1});
    return gaussian;
}

Deconvolver deconvolver(const DeconvolveOptions& options = {}) {
    return Deconvolver(small_shape, to_volume(small_psf(), PixelType::float64).view(), options,
                       cpu_only());
}

}  // namespace

TEST_CASE("deconvolve: images may have any real type and strides, and results may replace them") {
    const Array image = counts("types", 0, 100);
    const Array want = deconvolved(image, small_psf(), {}).result;
    Deconvolver engine = deconvolver();
    for (const PixelType type : {PixelType::uint8, PixelType::int16, PixelType::uint32,
                                 PixelType::float32, PixelType::float64}) {
        const Volume typed = to_volume(image, type);
        Volume result(small_shape, PixelType::float32);
        engine.execute(typed.view(), result.view());
        CHECK(to_array(result.view()).values == want.values);
    }
    Volume same = to_volume(image, PixelType::float32);
    engine.execute(same.view(), same.view());
    CHECK(to_array(same.view()).values == want.values);

    Volume wide({small_shape.z, small_shape.y, 2 * small_shape.x}, PixelType::float32);
    ImageView every_other = wide.view();
    every_other.shape = small_shape;
    every_other.strides.x = 2;
    store(image, every_other);
    engine.execute(every_other, every_other);
    CHECK(to_array(every_other).values == want.values);
}

TEST_CASE("deconvolve: integer results are rounded, and clamped values are counted") {
    const Array image = counts("rounding", 0, 255);
    const Array want = deconvolved(image, small_psf(), {}).result;
    index_t above = 0;
    Array rounded(small_shape);
    for (std::size_t i = 0; i < want.values.size(); ++i) {
        above += want.values[i].real() > 255.5;
        rounded.values[i] = std::min(std::nearbyint(want.values[i].real()), 255.0);
    }
    CHECK(above > 0);
    Volume result(small_shape, PixelType::uint8);
    Deconvolver engine = deconvolver();
    const DeconvolveReport report =
        engine.execute(to_volume(image, PixelType::uint8).view(), result.view());
    CHECK(to_array(result.view()).values == rounded.values);
    CHECK(report.executed.clamped_high == above);
    CHECK(report.executed.clamped_low == 0);
}

TEST_CASE("deconvolve: negative pixels are read as zero and counted, except by wiener") {
    Array image = counts("negative", 3, 30);
    Array clipped = image;
    for (const std::size_t i : {5u, 77u, 200u}) {
        image.values[i] = -4;
        clipped.values[i] = 0;
    }
    DeconvolveOptions options;
    options.background = 0;
    const Deconvolved got = deconvolved(image, small_psf(), options);
    CHECK(got.report.negative_pixels == 3);
    CHECK(got.result.values == deconvolved(clipped, small_psf(), options).result.values);

    options.method = DeconvolveMethod::wiener;
    const Deconvolved linear = deconvolved(image, small_psf(), options);
    CHECK(linear.report.negative_pixels == 0);
    CHECK(linear.result.values != deconvolved(clipped, small_psf(), options).result.values);
}

TEST_CASE("deconvolve: negative samples of a PSF are clipped and counted") {
    const Array image = counts("negative PSF", 1, 30);
    Array measured = small_psf();
    measured(0, 0, 0) = -0.01;
    measured(2, 1, 2) = -0.02;
    Array clipped = measured;
    clipped(0, 0, 0) = clipped(2, 1, 2) = 0;
    CHECK(deconvolved(image, measured, {}).result.values ==
          deconvolved(image, clipped, {}).result.values);
    const Deconvolver engine(small_shape, to_volume(measured, PixelType::float64).view(), {},
                             cpu_only());
    CHECK(engine.negative_psf_samples() == 2);
    double sum = 0;
    for (const Complex& value : measured.values) sum += value.real();
    CHECK(std::abs(engine.psf_sum() - sum) < 1e-12);
}

TEST_CASE("deconvolve: the background is estimated below a specimen") {
    Random random(test_seed("background"));
    const Array wide = gaussian_psf({5, 5, 5}, {2, 2, 2}, {1.2, 1.2, 1.2});
    const Specimen specimen = bead_specimen(random, {20, 24, 24}, wide, {2, 2, 2}, 3, 3000, 100);
    const double found =
        deconvolve::find_background(to_volume(specimen.recorded, PixelType::uint16).view()).level;
    // Counts of mean 100 and a spread of 10.
    CHECK(found > 95);
    CHECK(found < 105);
    CHECK(
        deconvolve::find_background(to_volume(Array({1, 1, 3}), PixelType::float32).view()).level ==
        0);

    DeconvolveOptions options;
    options.iterations = 2;
    CHECK(deconvolved(specimen.recorded, wide, options).report.background ==
          Approx(found).epsilon(1e-9));
}

TEST_CASE("deconvolve: the error of a background is that of one region at most", "[long]") {
    Random random(test_seed("background error"));
    constexpr int repetitions = 16;
    // All of the image is dark, or a sixth is, and the rest is of a specimen.
    for (const index_t dark : {96, 16}) {
        double sum = 0, squares = 0, errors = 0;
        for (int i = 0; i < repetitions; ++i) {
            Array image({4, 64, 96});
            for (index_t k = 0; k < element_count(image.shape); ++k)
                image.values[static_cast<std::size_t>(k)] =
                    poisson(random, k % 96 < dark ? 100 : 300 + 3 * static_cast<double>(k % 61));
            const deconvolve::ImageBackground found =
                deconvolve::find_background(to_volume(image, PixelType::uint16).view());
            REQUIRE(found.error);
            sum += found.level - 100;
            squares += (found.level - 100) * (found.level - 100);
            errors += *found.error / repetitions;
        }
        const double mean = sum / repetitions;
        const double spread = std::sqrt(squares / repetitions - mean * mean);
        INFO(dark << " columns: spread " << spread << ", error " << errors << ", mean " << mean);
        // A region has 8×8 pixels of variance 100.
        CHECK(errors > 0.6 * spread);
        CHECK(errors < 1.2 * std::sqrt(100.0 / 64));
        CHECK(std::abs(mean) < 3 * errors);
    }
}

TEST_CASE("deconvolve: images of one column have the background of their transpose") {
    Random random(test_seed("one column"));
    Array row({4, 1, 96}), column({4, 96, 1});
    for (std::size_t i = 0; i < row.values.size(); ++i)
        row.values[i] = column.values[i] = poisson(random, 100);
    const auto of_row = deconvolve::find_background(to_volume(row, PixelType::float32).view());
    const auto of_column =
        deconvolve::find_background(to_volume(column, PixelType::float32).view());
    REQUIRE(of_column.error);
    INFO(of_row.level << ' ' << of_column.level << " ± " << *of_column.error);
    CHECK(std::abs(of_column.level - 100) < 3 * *of_column.error);
    CHECK(*of_column.error > 0.5);
}

TEST_CASE("deconvolve: the background is that of the darkest regions") {
    Random random(test_seed("filled image"));
    // The specimen is at the right; the rest is 100 with noise.
    for (const index_t dark_columns : {80, 16}) {
        Array image = random.integers({3, 64, 160}, -8, 8);
        for (index_t z = 0; z < 3; ++z)
            for (index_t y = 0; y < 64; ++y)
                for (index_t x = 0; x < 160; ++x)
                    image(z, y, x) += x < dark_columns
                                          ? 100.0
                                          : 300 + 40 * std::sin(0.1 * static_cast<double>(x * y));
        const Volume volume = to_volume(image, PixelType::uint16);
        const auto found = deconvolve::find_background(volume.view());
        INFO(dark_columns << ' ' << found.level);
        CHECK(found.is_dark);
        CHECK(std::abs(found.level - 100) < 2);
        CHECK_FALSE(deconvolve::find_background(volume.view(), 90).darkest);
        CHECK(std::abs(deconvolve::find_background(volume.view(), 130).darkest.value() - 100) < 2);
        CHECK(deconvolve::find_background(volume.view(), 130).level == 130);
    }
    // The specimen fills the image: regions are the brighter, the larger they are.
    Array image = random.integers({3, 64, 160}, -8, 8);
    for (index_t z = 0; z < 3; ++z)
        for (index_t y = 0; y < 64; ++y)
            for (index_t x = 0; x < 160; ++x)
                image(z, y, x) += 400 + 250 * std::sin(0.3 * static_cast<double>(y)) *
                                            std::sin(0.3 * static_cast<double>(x));
    CHECK_FALSE(deconvolve::find_background(to_volume(image, PixelType::uint16).view()).is_dark);
    const Array psf = gaussian_psf({1, 5, 5}, {0, 2, 2}, {1, 1.2, 1.2});
    DeconvolveOptions options;
    options.iterations = 1;
    const DeconvolveReport report = deconvolved(image, psf, options).report;
    REQUIRE(report.darkest);
    INFO(report.background << " ± " << report.background_error.value_or(0));
    // The offset is not known, so that nothing tells how much of this is light.
    CHECK(report.background == Approx(*report.darkest));
    CHECK(report.background - *report.background_error < report.photons.offset);
    CHECK(report.background + *report.background_error > *report.darkest);
}

TEST_CASE("deconvolve: a background that was rounded coarsely is uncertain") {
    Random random(test_seed("rounded background"));
    Array image({2, 64, 64});
    const auto error_of = [&](double photons_per_count, PixelType type) {
        for (Complex& value : image.values) {
            value = poisson(random, 0.4) / photons_per_count;
            if (type != PixelType::float32) value = std::round(value.real());
        }
        return deconvolve::find_background(to_volume(image, type).view()).error.value();
    };
    // Nearly all pixels are rounded to 0, by a tenth of a count.
    CHECK(error_of(4, PixelType::uint8) > 0.1);
    CHECK(error_of(4, PixelType::float32) < 0.05);
    // Noise of three counts hides what is rounded.
    CHECK(error_of(0.2, PixelType::uint8) ==
          Approx(error_of(0.2, PixelType::float32)).epsilon(0.5));
}

TEST_CASE("deconvolve: a dark image stays dark, a single pixel works") {
    for (const auto method : {DeconvolveMethod::richardson_lucy,
                              DeconvolveMethod::richardson_lucy_tv, DeconvolveMethod::wiener}) {
        DeconvolveOptions options;
        options.method = method;
        const Array dark = deconvolved(Array({4, 4, 4}), small_psf(), options).result;
        CHECK(dark.values == Array({4, 4, 4}).values);
        Array pixel({1, 1, 1});
        pixel.values[0] = 7;
        const double value = deconvolved(pixel, small_psf(), options).result.values[0].real();
        CHECK(std::isfinite(value));
        CHECK(value > 0);
    }
}
