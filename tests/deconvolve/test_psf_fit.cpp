// SPDX-License-Identifier: Apache-2.0
// The optics that fit a recording of a specimen, blurred by a direct sum.

#include <algorithm>

#include "convolume/missing_pixels.hpp"
#include "convolume/psf_fit.hpp"
#include "tests/catch.hpp"
#include "tests/deconvolve/specimen.hpp"
#include "tests/support/compare.hpp"
#include "tests/support/oracle.hpp"
#include "tests/support/random.hpp"

using namespace convolume;
using namespace convolume::testing;

namespace {

PsfOptions optics(double na) {
    PsfOptions options;
    options.model = PsfModel::born_wolf;
    options.objective.na = na;
    options.objective.ni = options.objective.ni0 = 1;
    options.voxel = {0.6, 0.2, 0.2};
    options.size = {9, 13, 13};
    return options;
}

// Counts of rods of a specimen that was recorded with an NA of 0.8.
Volume recording() {
    Random random(test_seed("psf fit"));
    const Shape3 shape{10, 64, 64};
    Array object(shape);
    for (int k = 0; k < 25; ++k) {
        const Index3 at{random.integer(0, 9), random.integer(0, 63), random.integer(0, 51)};
        const auto photons = static_cast<double>(random.integer(300, 6000));
        for (index_t i = 0; i < 12; ++i) object(at.z, at.y, at.x + i) += photons;
    }
    const Array psf = to_array(make_psf(optics(0.8)).values.view());
    Array image = oracle_convolve(object, psf, {Mode::same, {}, Operation::convolve, {4, 6, 6}});
    for (Complex& value : image.values) value = poisson(random, value.real() + 20);
    return to_volume(image, PixelType::uint16);
}

FittedPsf fitted(const Volume& image, double na, const PsfFitOptions& options = {}) {
    ViewSource source(image.view());
    return fit_psf(source, optics(na), options, cpu_only());
}

}  // namespace

TEST_CASE("psf fit: the NA of a recording is found from below, from above and from itself",
          "[long]") {
    const Volume image = recording();
    for (const double na : {0.7, 0.8, 0.9}) {
        const FittedPsf found = fitted(image, na);
        INFO(na << ": " << found.changes << ", error " << found.first_error << " to "
                << found.error);
        CHECK(std::abs(found.model.objective.na - 0.8) < 0.04);
        CHECK(found.error <= found.first_error);
        CHECK(found.error < 1.2);
        CHECK(found.changes.empty() == (found.model.objective.na == na));
        CHECK(found.comparisons <= PsfFitOptions().most_comparisons);
    }
}

TEST_CASE("psf fit: pixels that are left out make no difference, and a limit is kept", "[long]") {
    Volume image = recording();
    Volume marked(image.shape(), PixelType::float32);
    convert_pixels(image.view(), marked.view());
    for (index_t y = 10; y < 20; ++y)
        for (index_t x = 10; x < 20; ++x) marked.view().at<float>(3, y, x) = missing_pixel;
    PsfFitOptions options;
    options.saturation = static_cast<double>(missing_pixel);
    options.most_comparisons = 5;
    const FittedPsf found = fitted(marked, 0.9, options);
    CHECK(found.comparisons == 5);
    CHECK(found.model.objective.na < 0.9);
    // In an image that is larger than the part, they do not make a corner the brightest part.
    Volume wide({10, 64, 400}, PixelType::float32);
    Random random(test_seed("dark"));
    std::generate_n(wide.elements<float>(), element_count(wide.shape()),
                    [&] { return static_cast<float>(poisson(random, 20)); });
    for (index_t z = 0; z < 10; ++z)
        for (index_t y = 0; y < 64; ++y)
            for (index_t x = 0; x < 64; ++x)
                wide.view().at<float>(z, y, 320 + x) =
                    static_cast<float>(image.view().at<std::uint16_t>(z, y, x));
    for (index_t y = 0; y < 64; ++y) wide.view().at<float>(0, y, 3) = missing_pixel;
    CHECK(fitted(wide, 0.9, options).model.objective.na < 0.9);
}

TEST_CASE("psf fit: images that tell nothing are refused") {
    Volume constant({5, 20, 20}, PixelType::uint16);
    CHECK_THROWS_AS(fitted(constant, 0.8), BadData);
    Volume flat({2, 20, 20}, PixelType::uint16);
    CHECK_THROWS_WITH(fitted(flat, 0.8), ContainsSubstring("2 planes"));
    Volume complex({5, 20, 20}, PixelType::complex64);
    CHECK_THROWS_AS(fitted(complex, 0.8), BadData);
}
