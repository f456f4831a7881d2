// SPDX-License-Identifier: Apache-2.0
// Convolves the parts of a split separately, merges them, and expects the circular convolution.

#include "tests/catch.hpp"
#include "tests/decompose/split_support.hpp"
#include "tests/support/random.hpp"

using namespace convolume;
using namespace convolume::testing;
using decompose::SplitLayout;

namespace {

/// Computes the circular convolution from its definition, on the image's grid.
Array circular(const Array& image, const Array& kernel) {
    const Shape3& n = image.shape;
    Array result(n);
    for (index_t z = 0; z < n.z; ++z)
        for (index_t y = 0; y < n.y; ++y)
            for (index_t x = 0; x < n.x; ++x) {
                std::complex<long double> sum = 0;
                for (index_t c = 0; c < kernel.shape.z; ++c)
                    for (index_t b = 0; b < kernel.shape.y; ++b)
                        for (index_t a = 0; a < kernel.shape.x; ++a) {
                            const Complex f =
                                image((z - c % n.z + n.z) % n.z, (y - b % n.y + n.y) % n.y,
                                      (x - a % n.x + n.x) % n.x);
                            sum += std::complex<long double>(kernel(c, b, a)) *
                                   std::complex<long double>(f);
                        }
                result(z, y, x) = Complex(sum);
            }
    return result;
}

void check(bool complex_data, Precision precision, int parts, const Shape3& grid,
           const Shape3& kernel_shape, Random& random) {
    INFO((complex_data ? "complex" : "real") << ", P = " << parts << ", grid " << to_string(grid)
                                             << ", kernel " << to_string(kernel_shape));
    const SplitLayout layout{complex_data, parts, grid.z, grid.y, grid.x};
    const Array image = random.array(grid, complex_data);
    const Array taps = random.array(kernel_shape, complex_data);

    auto image_parts = split_array(image, layout, precision);
    const auto kernel_parts =
        split_array(taps, {complex_data, parts, grid.z, kernel_shape.y, kernel_shape.x}, precision);
    for (std::size_t p = 0; p < image_parts.size(); ++p)
        image_parts[p] = circular(image_parts[p], kernel_parts[p]);
    const Array merged = merge_parts(image_parts, layout, grid, precision);
    CHECK(distance(circular(image, taps), merged) <
          (precision == Precision::float32 ? 1e-6 : 1e-14));
}

}  // namespace

TEST_CASE("parts that are convolved separately merge to the circular convolution",
          "[split][merge]") {
    Random random(test_seed("convolve_parts"));
    for (const bool complex_data : {false, true}) {
        for (const Precision precision : {Precision::float32, Precision::float64}) {
            for (const int parts : {1, 2, 4, 8, 16}) {
                for (const index_t multiple : {1, 3}) {
                    const index_t planes = 2 * parts * multiple;
                    check(complex_data, precision, parts, {planes, 1, 1}, {planes, 1, 1}, random);
                    check(complex_data, precision, parts, {planes, 3, 5},
                          {random.integer(1, planes), 2, 3}, random);
                }
            }
        }
    }
}
