// SPDX-License-Identifier: Apache-2.0
// Tests the oracle by other definitions: matrices, adjointness, Fourier transforms.

#include <numbers>

#include "tests/catch.hpp"
#include "tests/support/compare.hpp"
#include "tests/support/dif_reference.hpp"
#include "tests/support/oracle.hpp"
#include "tests/support/random.hpp"

using namespace convolume;
using namespace convolume::testing;

namespace {

const auto all_modes = {Mode::full, Mode::same, Mode::valid};
const auto all_boundaries = {BoundaryKind::zero,    BoundaryKind::constant, BoundaryKind::nearest,
                             BoundaryKind::reflect, BoundaryKind::mirror,   BoundaryKind::wrap};

Array unit(const Shape3& shape, index_t position) {
    Array array(shape);
    array.values[static_cast<std::size_t>(position)] = 1;
    return array;
}

std::vector<Complex> dft(const std::vector<Complex>& x) {
    const auto n = static_cast<double>(x.size());
    std::vector<Complex> result(x.size());
    for (std::size_t k = 0; k < x.size(); ++k)
        for (std::size_t i = 0; i < x.size(); ++i)
            result[k] += x[i] * std::polar(1.0, -2 * std::numbers::pi *
                                                    static_cast<double>(k * i % x.size()) / n);
    return result;
}

}  // namespace

TEST_CASE("the oracle continues an image as ndimage's pictures show") {
    // Four samples a b c d = 0 1 2 3 seen from positions -6 … 9.
    const auto seen = [](BoundaryKind boundary) {
        std::vector<index_t> sources;
        for (index_t i = -6; i < 10; ++i) sources.push_back(oracle_source(i, 4, boundary));
        return sources;
    };
    using Sources = std::vector<index_t>;
    CHECK(seen(BoundaryKind::zero) ==
          Sources{-1, -1, -1, -1, -1, -1, 0, 1, 2, 3, -1, -1, -1, -1, -1, -1});
    CHECK(seen(BoundaryKind::nearest) == Sources{0, 0, 0, 0, 0, 0, 0, 1, 2, 3, 3, 3, 3, 3, 3, 3});
    CHECK(seen(BoundaryKind::reflect) == Sources{2, 3, 3, 2, 1, 0, 0, 1, 2, 3, 3, 2, 1, 0, 0, 1});
    CHECK(seen(BoundaryKind::mirror) == Sources{0, 1, 2, 3, 2, 1, 0, 1, 2, 3, 2, 1, 0, 1, 2, 3});
    CHECK(seen(BoundaryKind::wrap) == Sources{2, 3, 0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3, 0, 1});
}

TEST_CASE("the oracle's adjoint is the conjugate transpose of its matrix") {
    Random random(test_seed("oracle adjoint"));
    for (const Mode mode : all_modes)
        for (const BoundaryKind boundary : all_boundaries) {
            const Shape3 image{3, 2, 4}, kernel{2, 1, 3};
            Definition definition{mode, {boundary, 0}, Operation::convolve, {1, 0, 2}};
            const Array h = random.array(kernel, true);
            const Shape3 out = oracle_output_shape(mode, image, kernel);
            Array y = random.array(out, true);

            const Array adjoint = oracle_adjoint(y, image, h, definition);
            const Array x = random.array(image, true);
            Array by_matrix(image);
            for (index_t column = 0; column < x.count(); ++column)
                by_matrix.values[static_cast<std::size_t>(column)] =
                    inner_product(y, oracle_convolve(unit(image, column), h, definition));
            CHECK(compare(by_matrix, adjoint).error < 1e-14);

            const Complex left = inner_product(oracle_convolve(x, h, definition), y);
            CHECK(std::abs(left - inner_product(x, adjoint)) < 1e-13);
        }
}

TEST_CASE("correlation is the adjoint of convolution for a zero boundary and mode same") {
    Random random(test_seed("oracle correlate"));
    const Shape3 image{4, 5, 3};
    const Array h = random.array({2, 3, 4}, true), y = random.array(image, true);
    Definition definition{Mode::same, {}, Operation::correlate, {0, 2, 1}};
    const Array correlated = oracle_convolve(y, h, definition);
    CHECK(compare(correlated, oracle_adjoint(y, image, h, definition)).error < 1e-14);
}

TEST_CASE("the oracle returns the image for a delta kernel and the kernel for a delta image") {
    Random random(test_seed("oracle delta"));
    const Array f = random.array({3, 4, 5}, true), h = random.array({3, 2, 3}, true);
    Array delta(Shape3{3, 3, 3});
    delta(2, 0, 1) = 1;
    Definition definition{Mode::same, {}, Operation::convolve, {2, 0, 1}};
    CHECK(compare(f, oracle_convolve(f, delta, definition)).error == 0);
    definition.mode = Mode::full;
    CHECK(compare(h, oracle_convolve(unit({1, 1, 1}, 0), h, definition)).error == 0);
}

TEST_CASE("parts of the reference split have the frequencies of the definition") {
    Random random(test_seed("reference split"));
    for (const bool complex_data : {false, true})
        for (const int parts : {1, 2, 4, 8, 16}) {
            const index_t length = 96;
            const Array column = random.array({length, 1, 1}, complex_data);
            const auto spectrum = dft(column.values);
            const auto split = dif_column(column.values, parts, complex_data);
            REQUIRE(split.size() == static_cast<std::size_t>(parts));
            if (complex_data) {
                for (std::size_t p = 0; p < split.size(); ++p) {
                    const auto part = dft(split[p]);
                    for (std::size_t k = 0; k < part.size(); ++k)
                        CHECK(std::abs(part[k] - spectrum[split.size() * k + p]) < 1e-12);
                }
                continue;
            }
            const auto real_part = dft(split[0]);
            for (std::size_t k = 0; k < real_part.size(); ++k)
                CHECK(std::abs(real_part[k] - spectrum[split.size() * k]) < 1e-12);
            if (parts == 2) {
                const auto complex_part = dft(split[1]);
                for (std::size_t m = 0; m < complex_part.size(); ++m)
                    CHECK(std::abs(complex_part[m] - spectrum[4 * m + 1]) < 1e-12);
            }
        }
}
