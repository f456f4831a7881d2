// SPDX-License-Identifier: Apache-2.0
// Pixels without data, hot pixels, and noise that neighbors share, in recordings of a blurred
// specimen with the noise of photons and an offset of the camera.

#include <cmath>
#include <functional>
#include <limits>
#include <random>

#include "convolume/deconvolver.hpp"
#include "convolume/missing_pixels.hpp"
#include "convolume/volume.hpp"
#include "deconvolve/estimates/photons.hpp"
#include "tests/catch.hpp"
#include "tests/deconvolve/specimen.hpp"
#include "tests/support/compare.hpp"
#include "tests/support/oracle.hpp"
#include "tests/support/random.hpp"

using namespace convolume;
using namespace convolume::testing;

namespace {

const Shape3 recorded_shape{8, 96, 112};

// A PSF whose planes have a standard deviation of `width` pixels.
Array planar_gaussian(double width) {
    Array psf({3, 9, 9});
    for (index_t z = 0; z < 3; ++z)
        for (index_t y = 0; y < 9; ++y)
            for (index_t x = 0; x < 9; ++x)
                psf(z, y, x) = std::exp(-(std::pow(static_cast<double>(z - 1), 2) +
                                          std::pow(static_cast<double>(y - 4) / width, 2) +
                                          std::pow(static_cast<double>(x - 4) / width, 2)) /
                                        2);
    return psf;
}

// Points and rods of a specimen, blurred, with the noise of photons, as uint16 counts above 100.
Volume recording(double width, double photons, bool has_points, std::uint64_t seed) {
    std::mt19937_64 random(seed);
    Array object(recorded_shape);
    std::uniform_int_distribution<index_t> z(0, recorded_shape.z - 1), y(4, recorded_shape.y - 5),
        x(4, recorded_shape.x - 5);
    for (int k = 0; k < 60; ++k) {
        const Index3 at{z(random), y(random), x(random)};
        for (index_t i = 0; i < (has_points ? 1 : 40); ++i)
            if (at.x + i < recorded_shape.x - 4)
                object(at.z, at.y, at.x + i) += photons * 4 * width;
    }
    Array psf = planar_gaussian(width);
    double sum = 0;
    for (const Complex& tap : psf.values) sum += tap.real();
    for (Complex& tap : psf.values) tap /= sum;
    const Array blurred =
        oracle_convolve(object, psf, {Mode::same, {}, Operation::convolve, {1, 4, 4}});
    Volume image(recorded_shape, PixelType::uint16);
    auto* const pixels = image.elements<std::uint16_t>();
    for (index_t i = 0; i < element_count(recorded_shape); ++i) {
        const double light = blurred.values[static_cast<std::size_t>(i)].real() + 3;
        std::poisson_distribution<int> count(light);
        pixels[i] = static_cast<std::uint16_t>(100 + 2 * count(random));
    }
    return image;
}

MissingPixels missing_of(const Volume& image, const Array& psf,
                         const MissingPixelOptions& options = {}) {
    ViewSource source(image.view());
    const Volume taps = to_volume(psf, PixelType::float32);
    return find_missing_pixels(source, 0, 0, sharpness_of(taps.view()), options, 2);
}

void set(Volume& image, const Box3& box, std::uint16_t value) {
    for (index_t z = box.begin.z; z < box.end.z; ++z)
        for (index_t y = box.begin.y; y < box.end.y; ++y)
            for (index_t x = box.begin.x; x < box.end.x; ++x)
                image.view().at<std::uint16_t>(z, y, x) = value;
}

// Options of a search for one value, or for nothing.
MissingPixelOptions search_for(std::optional<double> value) {
    MissingPixelOptions options;
    options.no_data = {false, value};
    options.find_hot_pixels = false;
    return options;
}

// Whether exactly the pixels in the box are missing.
bool is_box(const MissingPixels& missing, const Box3& box) {
    return missing.count() == element_count(box.shape()) && missing.contains(box.begin) &&
           missing.contains({box.end.z - 1, box.end.y - 1, box.end.x - 1});
}

}  // namespace

TEST_CASE("missing pixels: sharp and blurred specimens have none, at any number of photons",
          "[long]") {
    for (const double width : {0.5, 0.8, 1.2, 2.5})
        for (const double photons : {3.0, 30.0, 1000.0})
            for (const bool has_points : {false, true}) {
                const Volume image = recording(width, photons, has_points, 7);
                for (const double factor : {1.0, 1.4}) {
                    // A PSF that is too wide does not allow points of one pixel.
                    if (width < 0.8 && factor > 1) continue;
                    INFO("width " << width << ", photons " << photons << ", points " << has_points
                                  << ", PSF too wide by " << factor);
                    const MissingPixels found = missing_of(image, planar_gaussian(factor * width));
                    CHECK(found.count() == 0);
                    CHECK(found.findings.empty());
                }
            }
}

TEST_CASE("missing pixels: pixels at the largest value of their type or camera are saturated") {
    struct Case {
        PixelType type;
        double value;
        bool saturated;
        std::optional<double> camera_maximum = {};
    };
    const Volume clean = recording(1.2, 3, false, 9);
    const auto found_in = [&](const Case& one, index_t count) {
        Volume image(recorded_shape, PixelType::float32);
        convert_pixels(clean.view(), image.view());
        for (index_t i = 0; i < element_count(recorded_shape); ++i) {
            float& pixel = image.elements<float>()[i];
            pixel = std::min(pixel, 120.0F);
        }
        for (index_t i = 0; i < count; ++i)
            image.elements<float>()[700 * i] = static_cast<float>(one.value);
        Volume typed(recorded_shape, one.type);
        convert_pixels(image.view(), typed.view());
        MissingPixelOptions options = search_for({});
        options.camera_maximum = one.camera_maximum;
        return missing_of(typed, planar_gaussian(1.2), options).saturated;
    };
    for (const Case& one :
         {Case{PixelType::uint16, 65535, true}, Case{PixelType::uint16, 4095, true},
          Case{PixelType::uint16, 16383, true}, Case{PixelType::uint16, 4000, false},
          Case{PixelType::uint16, 4000, true, 4000}, Case{PixelType::uint8, 255, true},
          Case{PixelType::uint8, 254, false}, Case{PixelType::int8, 127, true},
          Case{PixelType::int16, 32767, true}, Case{PixelType::uint16, 32767, false},
          Case{PixelType::float32, 65535, true}, Case{PixelType::float32, 500, false}}) {
        INFO(to_string(one.type) << ' ' << one.value);
        const std::optional<SaturatedPixels> found = found_in(one, 12);
        CHECK(found.has_value() == one.saturated);
        // A few hot pixels do not mean overexposure.
        CHECK_FALSE(found_in(one, 9));
        if (!found) continue;
        CHECK(found->value == one.value);
        CHECK(found->count == 12);
        CHECK(found->finding ==
              message("12 pixels (0.01 %) are saturated, at ", static_cast<int>(one.value)));
    }
}

TEST_CASE("missing pixels: planes, boxes, margins and a value without data are found") {
    const Array psf = planar_gaussian(1.2);
    const Volume clean = recording(1.2, 100, false, 8);
    const auto with = [&](const std::function<void(Volume&)>& change,
                          const MissingPixelOptions& options = {}) {
        Volume image(recorded_shape, PixelType::uint16);
        convert_pixels(clean.view(), image.view());
        change(image);
        return missing_of(image, psf, options);
    };
    for (const Box3& box :
         {Box3{{0, 0, 0}, {1, 96, 112}}, Box3{{0, 0, 0}, {8, 3, 112}}, Box3{{0, 0, 0}, {8, 96, 5}},
          Box3{{2, 20, 30}, {7, 35, 50}}, Box3{{0, 90, 0}, {8, 96, 112}}}) {
        INFO(to_string(box.begin) << " to " << to_string(box.end));
        const MissingPixels found = with([&](Volume& image) { set(image, box, 0); });
        for (const std::string& text : found.findings) UNSCOPED_INFO(text);
        CHECK(is_box(found, box));
        CHECK(found.findings.size() >= 1);
        CHECK(with([&](Volume& image) { set(image, box, 0); }, search_for({})).count() == 0);
        CHECK(is_box(with([&](Volume& image) { set(image, box, 77); }, search_for(77)), box));
    }
    // A rim that interpolation has mixed with 0.
    const MissingPixels rim = with([&](Volume& image) {
        for (index_t z = 0; z < recorded_shape.z; ++z)
            for (index_t y = 0; y < recorded_shape.y; ++y)
                for (const index_t x : {0, 1}) {
                    auto& pixel = image.view().at<std::uint16_t>(z, y, x);
                    pixel = static_cast<std::uint16_t>(pixel * 7 / 10);
                }
    });
    CHECK(is_box(rim, {{0, 0, 0}, {8, 96, 2}}));
    // A camera's largest value, and a level at which a program has cut off the background.
    CHECK(with([&](Volume& image) {
              for (index_t i = 0; i < element_count(recorded_shape); ++i) {
                  auto& pixel = image.elements<std::uint16_t>()[i];
                  pixel = std::min<std::uint16_t>(pixel, 130);
              }
          }).count() == 0);
    CHECK(with([&](Volume& image) {
              for (index_t i = 0; i < element_count(recorded_shape); ++i) {
                  auto& pixel = image.elements<std::uint16_t>()[i];
                  pixel = static_cast<std::uint16_t>(std::max(pixel - 112, 0));
              }
          }).count() == 0);
}

TEST_CASE("missing pixels: a plane without data is found beside planes of many zeros") {
    // Half of the pixels are 0, and all columns at the sides are: samples must meet the others.
    for (const index_t extent : {256, 300, 512}) {
        std::mt19937_64 random(7);
        Volume image({5, extent, extent}, PixelType::uint16);
        auto* const pixels = image.elements<std::uint16_t>();
        for (index_t i = 0; i < element_count(image.shape()); ++i) {
            const index_t x = i % extent, z = i / (extent * extent);
            std::poisson_distribution<int> count(1);
            const bool has_light = z != 2 && 10 * x > extent && 10 * x < 9 * extent;
            pixels[i] = static_cast<std::uint16_t>(has_light ? count(random) : 0);
        }
        const MissingPixels found = missing_of(image, planar_gaussian(1));
        INFO(extent);
        CHECK(found.contains({2, extent / 2, extent / 2}));
        CHECK(found.contains({2, 0, 0}));
        CHECK(!found.contains({1, extent / 2, extent / 2}));
    }
}

TEST_CASE("missing pixels: a frequent value of few gray levels has data, another one has none",
          "[long]") {
    const Array psf = planar_gaussian(1.2);
    for (const double photons : {3.0, 30.0, 300.0})
        for (const int steps : {2, 4, 8}) {
            INFO(photons << " photons, " << steps << " to a gray level");
            const Volume counts = recording(1.2, photons, false, 11);
            Volume image(recorded_shape, PixelType::uint8);
            for (index_t i = 0; i < element_count(recorded_shape); ++i)
                image.elements<std::uint8_t>()[i] = static_cast<std::uint8_t>(
                    std::min(255, 1 + (counts.elements<std::uint16_t>()[i] - 100) / (2 * steps)));
            CHECK(missing_of(image, psf).count() == 0);
            const Box3 box{{2, 20, 30}, {7, 35, 50}};
            for (index_t z = box.begin.z; z < box.end.z; ++z)
                for (index_t y = box.begin.y; y < box.end.y; ++y)
                    for (index_t x = box.begin.x; x < box.end.x; ++x)
                        image.view().at<std::uint8_t>(z, y, x) = 0;
            const MissingPixels found = missing_of(image, psf);
            UNSCOPED_INFO(found.count() << " of " << element_count(box.shape()));
            for (const std::string& text : found.findings) UNSCOPED_INFO(text);
            // A step of one gray level among others of one does not tell. A rim that may hold mixed
            // pixels is left out, too.
            if (photons == 30 && steps == 4) {
                CHECK(found.count() == 0);
                continue;
            }
            CHECK(found.contains(box.begin));
            CHECK(found.count() >= element_count(box.shape()));
            CHECK(found.count() <= 5 * (15 + 4) * (20 + 4));
        }
    // The dark background of a specimen without noise.
    Volume sparse({8, 32, 32}, PixelType::float32);
    std::fill_n(sparse.elements<float>(), element_count(sparse.shape()), 0.0F);
    for (index_t i = 0; i < 6; ++i)
        for (index_t x = 0; x < 3; ++x)
            sparse.view().at<float>(1 + i, 5 * i, 4 * i + x) = 100 + 20 * static_cast<float>(i + x);
    CHECK(missing_of(sparse, psf).count() == 0);
    // Single rows of a plane, and a noisy recording whose noise exceeds the step to 0.
    Volume plane({1, 96, 112}, PixelType::uint16);
    const Volume bright = recording(1.2, 3000, false, 12);
    convert_pixels(subview(bright.view(), {{0, 0, 0}, {1, 96, 112}}), plane.view());
    for (const index_t y : {30, 50, 70})
        for (index_t x = 0; x < 112; ++x) plane.view().at<std::uint16_t>(0, y, x) = 0;
    CHECK(missing_of(plane, psf).count() == 3 * 112);
}

TEST_CASE("missing pixels: what is not seen makes no image darker") {
    // Bright everywhere, and darkest at one end, so that its background may be far below all
    // pixels.
    Random random(test_seed("hole"));
    const Shape3 extents{12, 96, 96};
    Volume image(extents, PixelType::float32);
    for (index_t z = 0; z < extents.z; ++z)
        for (index_t y = 0; y < extents.y; ++y)
            for (index_t x = 0; x < extents.x; ++x)
                image.view().at<float>(z, y, x) = static_cast<float>(
                    poisson(random, 400 + 4 * static_cast<double>(x) +
                                        250 * std::sin(0.3 * static_cast<double>(y + z))));
    const Volume psf = to_volume(planar_gaussian(2), PixelType::float32);
    DeconvolveOptions options;
    options.iterations = 1;
    options.saturation = static_cast<double>(missing_pixel);
    Volume result(extents, PixelType::float32);
    const Deconvolver deconvolver(extents, psf.view(), options, cpu_only());
    const DeconvolveReport report = deconvolver.execute(image.view(), result.view());
    const double whole = report.background;
    const Box3 hole{{2, 20, 50}, {10, 70, 90}};
    for (index_t z = hole.begin.z; z < hole.end.z; ++z)
        for (index_t y = hole.begin.y; y < hole.end.y; ++y)
            for (index_t x = hole.begin.x; x < hole.end.x; ++x)
                image.view().at<float>(z, y, x) = missing_pixel;
    const double around = deconvolver.execute(image.view(), result.view()).background;
    INFO("background " << whole << ", with a hole " << around);
    CHECK(whole > 100);
    // Which background is most likely depends on the noise of the pixels that are left. A hole of
    // pixels that count as 0 would move it to 0.
    REQUIRE(report.background_error);
    CHECK(std::abs(around - whole) < *report.background_error);
}

TEST_CASE("missing pixels: hot voxels, and hot and dead pixels of a camera, are found") {
    const Array psf = planar_gaussian(1.2);
    const auto found_at = [&](double photons, const std::vector<Index3>& places, int change,
                              bool in_all_planes) {
        Volume image = recording(1.2, photons, false, 9);
        for (const Index3& at : places)
            for (index_t z = 0; z < recorded_shape.z; ++z)
                if (in_all_planes || z == at.z) {
                    auto& pixel = image.view().at<std::uint16_t>(z, at.y, at.x);
                    pixel = static_cast<std::uint16_t>(std::max(0, pixel + change));
                }
        const MissingPixels missing = missing_of(image, psf);
        CHECK(missing.count() ==
              static_cast<index_t>(places.size()) * (in_all_planes ? recorded_shape.z : 1));
        for (const Index3& at : places) {
            INFO(to_string(at));
            CHECK(missing.contains(at));
        }
    };
    const std::vector<Index3> places{
        {3, 20, 20}, {1, 0, 0}, {5, 50, 70}, {5, 50, 72}, {7, 95, 111}};
    found_at(100, places, 20000, false);
    found_at(100, places, 20000, true);
    // In an image without a specimen.
    found_at(0, places, 30, true);
    found_at(0, places, -100, true);
}

TEST_CASE("missing pixels: a corner toward which the light falls is not dead") {
    // Fewer than a hundredth of the pixels are darker than the others, by much more than noise.
    Volume image(recorded_shape, PixelType::uint16);
    std::mt19937_64 random(5);
    auto* pixel = image.elements<std::uint16_t>();
    for (index_t z = 0; z < recorded_shape.z; ++z)
        for (index_t y = 0; y < recorded_shape.y; ++y)
            for (index_t x = 0; x < recorded_shape.x; ++x) {
                const auto from_corner = static_cast<double>(std::min<index_t>(y + x, 12));
                std::poisson_distribution<int> count(40 + 30 * from_corner);
                *pixel++ = static_cast<std::uint16_t>(100 + count(random));
            }
    const MissingPixels missing = missing_of(image, planar_gaussian(1.2));
    for (const std::string& finding : missing.findings) UNSCOPED_INFO(finding);
    CHECK(missing.count() == 0);
}

TEST_CASE("missing pixels: boxes, and pixels that are taken in again") {
    MissingPixels missing(recorded_shape), others(recorded_shape);
    CHECK(missing.box().end == Index3{0, 0, 0});
    missing.add(Index3{2, 3, 70});
    missing.add(Index3{4, 1, 5});
    CHECK(missing.box().begin == Index3{2, 1, 5});
    CHECK(missing.box().end == Index3{5, 4, 71});
    others.add(Index3{4, 1, 5});
    others.add(Index3{4, 1, 6});
    missing.remove(others);
    CHECK(missing.count() == 1);
    CHECK(missing.box().end == Index3{3, 4, 71});
}

TEST_CASE("missing pixels: NaN and infinities are left out on request") {
    const Volume clean = recording(1.2, 100, false, 8);
    Volume image(recorded_shape, PixelType::float32);
    convert_pixels(clean.view(), image.view());
    const Box3 box{{2, 20, 30}, {7, 35, 50}};
    for (index_t z = box.begin.z; z < box.end.z; ++z)
        for (index_t y = box.begin.y; y < box.end.y; ++y)
            for (index_t x = box.begin.x; x < box.end.x; ++x)
                image.view().at<float>(z, y, x) = std::numeric_limits<float>::quiet_NaN();
    for (index_t y = 0; y < recorded_shape.y; ++y)
        for (index_t x = 0; x < recorded_shape.x; ++x)
            image.view().at<float>(0, y, x) = std::numeric_limits<float>::infinity();
    image.view().at<float>(4, 60, 60) = -std::numeric_limits<float>::infinity();
    const Array psf = planar_gaussian(1.2);
    CHECK(missing_of(image, psf).count() == 0);
    MissingPixelOptions options;
    options.leave_out_nonfinite = true;
    const MissingPixels found = missing_of(image, psf, options);
    CHECK(found.count() == element_count(box.shape()) + recorded_shape.y * recorded_shape.x + 1);
    CHECK(found.contains(box.begin));
    CHECK(found.contains({4, 60, 60}));
    REQUIRE(found.findings.size() == 1);
    CHECK(found.findings[0].find("are NaN or infinite, at z 0-6, y 0-95") != std::string::npos);
}

TEST_CASE("missing pixels: images that are not finite, small or constant have none") {
    const Array psf = planar_gaussian(1);
    for (const Shape3& small :
         {Shape3{1, 1, 1}, Shape3{1, 1, 40}, Shape3{2, 3, 4}, Shape3{5, 1, 9}}) {
        Volume image(small, PixelType::float32);
        CHECK(missing_of(image, psf).count() == 0);
        image.elements<float>()[0] = std::numeric_limits<float>::quiet_NaN();
        CHECK(missing_of(image, psf).count() == 0);
        image.elements<float>()[0] = std::numeric_limits<float>::infinity();
        CHECK(missing_of(image, psf).count() == 0);
    }
}

TEST_CASE("missing pixels: a mask and marks") {
    MissingPixels missing({2, 3, 5});
    missing.add(Index3{1, 2, 4});
    missing.add(Index3{1, 2, 4});
    CHECK(missing.count() == 1);
    Volume mask({2, 3, 5}, PixelType::uint8);
    for (index_t i = 0; i < 30; ++i) mask.elements<std::uint8_t>()[i] = i != 7;
    missing.add_mask(mask.view(), "the mask");
    CHECK(missing.count() == 2);
    CHECK(missing.contains({0, 1, 2}));
    CHECK(missing.findings == std::vector<std::string>{"1 pixel is 0 in the mask"});
    CHECK_THROWS_AS(missing.add_mask(to_volume(Array({1, 3, 5}), PixelType::uint8).view(), "m"),
                    InvalidArgument);
    const Volume image = to_volume(Array({2, 3, 5}), PixelType::uint16);
    ViewSource source(image.view());
    MarkedSource marked(source, missing);
    CHECK(marked.format().type == PixelType::float32);
    Volume box({1, 2, 3}, PixelType::float32);
    marked.read_box(0, 0, {{0, 1, 1}, {1, 3, 4}}, box.view());
    for (index_t i = 0; i < 6; ++i) CHECK(box.elements<float>()[i] == (i == 1 ? missing_pixel : 0));
}

TEST_CASE("bright structures do not make the noise of photons look filtered") {
    Random random(test_seed("structures"));
    const Shape3 many{12, 64, 64};
    Volume image(many, PixelType::float32);
    for (index_t z = 0; z < many.z; ++z)
        for (index_t y = 0; y < many.y; ++y)
            for (index_t x = 0; x < many.x; ++x) {
                double wave = 1;  // beside a dark margin
                for (const index_t i : {z, y, x}) wave *= std::sin(0.9 * static_cast<double>(i));
                const double light = x < 12 ? 0 : 300 + 100 * wave;
                image.view().at<float>(z, y, x) = static_cast<float>(poisson(random, 20 + light));
            }
    const auto noise = deconvolve::estimate_photon_scale(image.view(), 2);
    REQUIRE(noise);
    CHECK_FALSE(noise->is_filtered);
}

TEST_CASE("noise of photons is white, that of resampled and filtered images is not") {
    const Volume image = recording(1.2, 100, false, 10);
    const auto noise = deconvolve::estimate_photon_scale(image.view(), 2);
    REQUIRE(noise);
    CHECK_FALSE(noise->is_filtered);
    CHECK(noise->gain == Approx(0.5).epsilon(0.2));
    Volume shifted(recorded_shape, PixelType::float32),
        smoothed(recorded_shape, PixelType::float32);
    for (index_t z = 0; z < recorded_shape.z; ++z)
        for (index_t y = 0; y < recorded_shape.y; ++y)
            for (index_t x = 0; x < recorded_shape.x; ++x) {
                const auto at = [&](index_t i) {
                    return static_cast<float>(image.view().at<std::uint16_t>(
                        z, y, std::clamp<index_t>(i, 0, recorded_shape.x - 1)));
                };
                shifted.view().at<float>(z, y, x) = (at(x) + at(x + 1)) / 2;
                smoothed.view().at<float>(z, y, x) = (at(x - 1) + at(x) + at(x + 1)) / 3;
            }
    for (const Volume* mixed : {&shifted, &smoothed}) {
        const auto found = deconvolve::estimate_photon_scale(mixed->view(), 2);
        REQUIRE(found);
        CHECK(found->is_filtered);
        CHECK(found->offset == Approx(100).margin(3));
    }
}
