// SPDX-License-Identifier: Apache-2.0
// Compares every method with its definition in double precision, on the CPU.

#include <cmath>

#include "deconvolve/variation.hpp"
#include "tests/catch.hpp"
#include "tests/deconvolve/cases.hpp"

using namespace convolume;
using namespace convolume::testing;

TEST_CASE("deconvolve: iterations follow the definition of Richardson and Lucy") {
    check_iterations(cpu_only());
    check_saturated(cpu_only());
    check_pixel_weights(cpu_only());
}

TEST_CASE("deconvolve: non-negative least squares follow their definition and reach the solution") {
    check_least_squares(cpu_only());
}

TEST_CASE("deconvolve: wiener solves its linear system") {
    check_wiener(cpu_only());
}

TEST_CASE("deconvolve: photons are preserved") {
    check_flux(cpu_only());
}

TEST_CASE("deconvolve: the derivative of the total variation agrees with finite differences") {
    Random random(test_seed("total variation"));
    deconvolve::TotalVariation variation;
    variation.extent[0] = 4;
    variation.extent[1] = 1;
    variation.extent[2] = 5;
    variation.per_step[0] = 0.25F;
    variation.smallest = 0.01F;
    std::vector<float> x(20);
    for (float& value : x) value = static_cast<float>(random.uniform());
    const auto tv = [&] {
        double sum = 0;
        for (index_t k = 0; k < 4; ++k)
            for (index_t i = 0; i < 5; ++i) {
                const auto at = [&](index_t z, index_t w) {
                    return static_cast<double>(x[static_cast<std::size_t>(z * 5 + w)]);
                };
                const double along_z = k < 3 ? (at(k + 1, i) - at(k, i)) / 4 : 0;
                const double along_x = i < 4 ? at(k, i + 1) - at(k, i) : 0;
                sum += std::sqrt(along_z * along_z + along_x * along_x + 1e-4);
            }
        return sum;
    };
    double whole = 0;
    for (index_t i = 0; i < 20; ++i) {
        float& value = x[static_cast<std::size_t>(i)];
        const float here = value;
        const float h = 1.0F / 1024;
        value = here + h;
        const double above = tv();
        value = here - h;
        const double below = tv();
        const double width = static_cast<double>(here + h) - static_cast<double>(here - h);
        value = here;
        INFO("sample " << i);
        // The finite difference errs by h² times the third derivative.
        CHECK(std::abs((above - below) / width -
                       static_cast<double>(variation.derivative(x.data(), i))) < 2e-3);
        const deconvolve::VariationPenalty term{x.data(), variation, 1};
        whole += term(i, variation.around(i)).first;
    }
    CHECK(std::abs(whole - tv()) < 1e-5);
}
