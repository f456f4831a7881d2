// SPDX-License-Identifier: Apache-2.0
// Checks <A x, y> = <x, A* y> for every mode, boundary and method.

#include <cmath>

#include "engines/engines.hpp"
#include "tests/catch.hpp"
#include "tests/support/convolver_case.hpp"

using namespace convolume;
using namespace convolume::testing;

TEST_CASE("the adjoint is exact for every mode, boundary and method") {
    const std::uint64_t seed = test_seed("adjointness");
    EngineChoice choice;
    choice.device = EngineChoice::Device::cpu;
    choice.cpu_engines = 2;
    choice.threads = 2;
    const EngineList engines = make_engines(choice);
    for (std::uint64_t number = 0; number < 360; ++number) {
        Random random(seed, number);
        ConvolverCase forward = random_convolver_case(seed, number, 5e4);
        forward.options.operation = Operation::convolve;
        forward.options.precision = Precision::float64;
        const bool complex_image = is_complex(forward.image_type);
        forward.image_type = pixel_type(Precision::float64, complex_image);
        forward.image = random.array(forward.image_shape, complex_image);

        ConvolverCase backward = forward;
        backward.options.operation = Operation::adjoint;
        const Shape3 out =
            oracle_output_shape(forward.options.mode, forward.image_shape, forward.kernel.shape);
        backward.image = random.array(out, forward.is_complex());
        backward.image_type = pixel_type(Precision::float64, forward.is_complex());

        // A constant boundary makes the map affine: its result for a zero image is subtracted.
        Array ax = result_of(forward, engines);
        ConvolverCase zero = forward;
        zero.image = Array(forward.image_shape);
        const Array offset = result_of(zero, engines);
        for (std::size_t i = 0; i < ax.values.size(); ++i) ax.values[i] -= offset.values[i];

        const Complex left = inner_product(ax, backward.image);
        Array adjoint = result_of(backward, engines);
        const Complex right = inner_product(forward.image, adjoint);
        const double scale = norm(forward.kernel) * norm(forward.image) * norm(backward.image) +
                             norm(offset) * norm(backward.image);
        INFO("case " << number << ": " << forward.describe() << "\n<Ax,y> = " << left
                     << " <x,A*y> = " << right);
        CHECK(std::abs(left - right) < 1e-13 * scale);
    }
}
