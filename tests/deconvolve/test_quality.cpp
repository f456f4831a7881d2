// SPDX-License-Identifier: Apache-2.0
// Tests the quality of results: sharper beads at their positions, and no ringing at the border.

#include <cmath>

#include "tests/catch.hpp"
#include "tests/deconvolve/cases.hpp"

using namespace convolume;
using namespace convolume::testing;

namespace {

// Returns the root mean square difference within `rim` samples of the image's faces.
double rim_error(const Array& truth, const Array& result, index_t rim) {
    double squares = 0;
    double count = 0;
    for (index_t z = 0; z < truth.shape.z; ++z)
        for (index_t y = 0; y < truth.shape.y; ++y)
            for (index_t x = 0; x < truth.shape.x; ++x) {
                if (std::min({y, x, truth.shape.y - 1 - y, truth.shape.x - 1 - x}) >= rim) continue;
                squares += std::norm(truth(z, y, x) - result(z, y, x));
                ++count;
            }
    return std::sqrt(squares / count);
}

}  // namespace

TEST_CASE("deconvolve: beads become sharper by 8 dB and stay within a tenth of a voxel", "[long]") {
    check_beads(cpu_only());
}

TEST_CASE("deconvolve: edges extend: light from beyond the border causes no ringing") {
    Random random(test_seed("border"));
    const Index3 center{2, 6, 6};
    const Array psf = gaussian_psf({5, 13, 13}, center, {1.2, 3, 3});
    // The object is bright on the left and beyond, and dark on the right. With a periodic boundary,
    // the image has a step at its border.
    const Shape3 shape{8, 30, 32};
    Array object({shape.z + 4, shape.y + 12, shape.x + 12});
    for (index_t z = 0; z < object.shape.z; ++z)
        for (index_t y = 0; y < object.shape.y; ++y)
            for (index_t x = 0; x < object.shape.x; ++x) object(z, y, x) = x < 18 ? 200 : 20;
    Array truth(shape);
    Array image(shape);
    for (index_t z = 0; z < shape.z; ++z)
        for (index_t y = 0; y < shape.y; ++y)
            for (index_t x = 0; x < shape.x; ++x) {
                truth(z, y, x) = object(z + 2, y + 6, x + 6);
                double sum = 0;
                for (index_t k = 0; k < 5; ++k)
                    for (index_t j = 0; j < 13; ++j)
                        for (index_t i = 0; i < 13; ++i)
                            sum +=
                                (psf(k, j, i) * object(z + 4 - k, y + 12 - j, x + 12 - i)).real();
                image(z, y, x) = sum;
            }
    DeconvolveOptions options;
    options.background = 0;
    const double extended = rim_error(truth, deconvolved(image, psf, options).result, 4);
    options.boundary = Boundary{BoundaryKind::wrap};
    const double wrapped = rim_error(truth, deconvolved(image, psf, options).result, 4);
    options.boundary = Boundary{BoundaryKind::zero};
    const double dark = rim_error(truth, deconvolved(image, psf, options).result, 4);
    INFO("error along the border: extend " << extended << ", wrap " << wrapped << ", zero "
                                           << dark);
    CHECK(wrapped > 3 * extended);
    CHECK(dark > 3 * extended);
}
