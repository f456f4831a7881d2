// SPDX-License-Identifier: Apache-2.0
// Compares the DFT of every part with the frequencies it must have in a DFT of the whole volume.

#include <numbers>

#include "tests/catch.hpp"
#include "tests/decompose/split_support.hpp"
#include "tests/support/random.hpp"

using namespace convolume;
using namespace convolume::testing;
using decompose::SplitLayout;

namespace {

using LongComplex = std::complex<long double>;

std::vector<LongComplex> dft(const std::vector<LongComplex>& x) {
    const std::size_t n = x.size();
    std::vector<LongComplex> result(n);
    for (std::size_t k = 0; k < n; ++k) {
        for (std::size_t i = 0; i < n; ++i) {
            const long double angle = -2 * std::numbers::pi_v<long double> *
                                      static_cast<long double>(i * k % n) /
                                      static_cast<long double>(n);
            result[k] += x[i] * std::polar(1.0L, angle);
        }
    }
    return result;
}

std::vector<LongComplex> column(const Array& array, index_t planes, index_t y, index_t x) {
    std::vector<LongComplex> result(static_cast<std::size_t>(planes));
    for (index_t z = 0; z < array.shape.z; ++z) {
        result[static_cast<std::size_t>(z)] = LongComplex(array(z, y, x));
    }
    return result;
}

/// Returns the frequencies of each part, from the rule in split.hpp. Complex parts take every P-th
/// one; real data have 2ν in their real part r and 4m + 1 in their complex part c.
std::vector<std::vector<std::size_t>> part_frequencies(const std::vector<std::size_t>& all,
                                                       bool complex_data, std::size_t parts) {
    if (parts == 1) return {all};
    std::vector<std::vector<std::size_t>> result;
    if (complex_data) {
        for (std::size_t p = 0; p < parts; ++p) {
            result.emplace_back();
            for (std::size_t k = p; k < all.size(); k += parts) result.back().push_back(all[k]);
        }
        return result;
    }
    std::vector<std::size_t> r;
    std::vector<std::size_t> c;
    for (std::size_t k = 0; k < all.size(); k += 2) r.push_back(all[k]);
    for (std::size_t k = 1; k < all.size(); k += 4) c.push_back(all[k]);
    result = part_frequencies(r, false, parts / 2);
    for (auto& part : part_frequencies(c, true, parts / 2)) result.push_back(std::move(part));
    return result;
}

void check_parts(bool complex_data, Precision precision, int count, index_t planes,
                 Random& random) {
    const SplitLayout layout{complex_data, count, planes, 2, 21};
    INFO((complex_data ? "complex" : "real")
         << ", P = " << count << ", K = " << planes << ", "
         << (precision == Precision::float32 ? "float" : "double"));
    const Array image = random.array({random.integer(1, planes), 2, 19}, complex_data);
    const auto parts = split_array(image, layout, precision);
    std::vector<std::size_t> all(static_cast<std::size_t>(planes));
    for (std::size_t k = 0; k < all.size(); ++k) all[k] = k;
    const auto frequencies = part_frequencies(all, complex_data, static_cast<std::size_t>(count));
    REQUIRE(parts.size() == frequencies.size());

    long double error = 0;
    long double size = 0;
    for (index_t y = 0; y < image.shape.y; ++y) {
        for (index_t x = 0; x < image.shape.x; ++x) {
            const auto whole = dft(column(image, planes, y, x));
            for (std::size_t p = 0; p < parts.size(); ++p) {
                const auto part = dft(column(parts[p], parts[p].shape.z, y, x));
                REQUIRE(part.size() == frequencies[p].size());
                for (std::size_t k = 0; k < part.size(); ++k) {
                    const LongComplex want = whole[frequencies[p][k]];
                    error += std::norm(part[k] - want);
                    size += std::norm(want);
                }
            }
        }
    }
    CHECK(std::sqrt(static_cast<double>(error / size)) <
          (precision == Precision::float32 ? 3e-7 : 6e-16));
}

}  // namespace

TEST_CASE("the spectrum of a part has its frequencies of the whole volume", "[split][long]") {
    Random random(test_seed("parts"));
    for (const bool complex_data : {false, true}) {
        for (const Precision precision : {Precision::float32, Precision::float64}) {
            for (const int count : {1, 2, 4, 8, 16}) {
                const index_t step = complex_data || count == 1 ? count : 2 * count;
                for (const index_t multiple : {1, 2, 3, 5}) {
                    check_parts(complex_data, precision, count, step * multiple, random);
                }
            }
        }
    }
}

TEST_CASE("parts have equal sizes in bytes, and only the first of real data is real", "[split]") {
    for (const int count : {2, 4, 8, 16}) {
        for (int p = 0; p < count; ++p) {
            const auto real = decompose::part_shape(false, {p, count, 96});
            CHECK(real.complex_data == (p > 0));
            CHECK(real.planes == (p > 0 ? 48 : 96) / count);
            const auto complex = decompose::part_shape(true, {p, count, 96});
            CHECK(complex.complex_data);
            CHECK(complex.planes == 96 / count);
        }
    }
    CHECK_FALSE(decompose::part_shape(false, {0, 1, 7}).complex_data);
    CHECK(decompose::part_shape(false, {0, 1, 7}).planes == 7);
}

TEST_CASE("grids that cannot be split are refused", "[split]") {
    using decompose::part_shape;
    CHECK_THROWS_AS(part_shape(true, {0, 3, 12}), InvalidArgument);
    CHECK_THROWS_AS(part_shape(true, {0, 0, 12}), InvalidArgument);
    CHECK_THROWS_AS(part_shape(true, {0, 32, 64}), InvalidArgument);
    CHECK_THROWS_AS(part_shape(true, {4, 4, 12}), InvalidArgument);
    CHECK_THROWS_AS(part_shape(true, {-1, 4, 12}), InvalidArgument);
    CHECK_THROWS_AS(part_shape(true, {0, 8, 12}), InvalidArgument);
    CHECK_THROWS_AS(part_shape(false, {0, 4, 12}), InvalidArgument);
    CHECK_THROWS_AS(part_shape(false, {0, 2, 0}), InvalidArgument);
    CHECK_NOTHROW(part_shape(true, {0, 4, 12}));
    CHECK_NOTHROW(part_shape(false, {0, 4, 24}));
}
