// SPDX-License-Identifier: Apache-2.0
// Compares FFTs of columns with DFTs summed in double precision.

#include <algorithm>
#include <cmath>
#include <complex>
#include <limits>
#include <numbers>
#include <vector>

#include "convolume/error.hpp"
#include "convolume/volume.hpp"
#include "cpu/fft/column_fft.hpp"
#include "tests/catch.hpp"
#include "tests/support/random.hpp"

using namespace convolume;
using convolume::cpu::ColumnFft;

namespace {

using Sum = std::complex<double>;

/// Σ_n x[n] e^{sign 2πi nk/N}
std::vector<Sum> direct(const std::vector<Sum>& x, int sign) {
    const std::size_t count = x.size();
    std::vector<Sum> roots(count), sums(count);
    for (std::size_t k = 0; k < count; ++k)
        roots[k] = std::polar(
            1.0, sign * 2 * std::numbers::pi * static_cast<double>(k) / static_cast<double>(count));
    for (std::size_t k = 0; k < count; ++k)
        for (std::size_t n = 0; n < count; ++n) sums[k] += x[n] * roots[n * k % count];
    return sums;
}

template <class Real>
void check_length(index_t length, testing::Random& random) {
    using Complex = std::complex<Real>;
    const index_t columns = random.chance(0.5) ? 16 : 8;
    const index_t stride = columns + random.integer(0, 9), out_stride = 16 + random.integer(0, 3);
    const index_t begin = random.chance(0.5) ? 0 : random.integer(0, length - 1);
    const index_t count = random.integer(1, length - begin), first = random.integer(0, length - 1);
    const index_t kept = random.integer(1, length - first);
    const bool inverse = random.chance(0.5);
    INFO("length " << length << ", " << columns << " columns, " << count << " samples from "
                   << begin << ", " << kept << " results from " << first
                   << (inverse ? ", inverse" : ""));

    // Samples that must not be read are NaN, and so are results that must not be written.
    constexpr Real nan = std::numeric_limits<Real>::quiet_NaN();
    std::vector<Complex> source(static_cast<std::size_t>(length * stride), Complex(nan, nan));
    for (index_t n = 0; n < count; ++n)
        for (index_t c = 0; c < columns; ++c)
            source[static_cast<std::size_t>(n * stride + c)] = {
                static_cast<Real>(random.uniform() - 0.5),
                static_cast<Real>(random.uniform() - 0.5)};
    std::vector<Complex> target(static_cast<std::size_t>(kept * out_stride), Complex(nan, nan));
    Buffer scratch(ColumnFft<Real>::scratch_samples(length) * index_t{sizeof(Complex)});

    const ColumnFft<Real> fft(length);
    const typename ColumnFft<Real>::InputColumns from{source.data(), stride, count, begin};
    const typename ColumnFft<Real>::OutputColumns to{target.data(), out_stride, first, kept};
    if (inverse)
        fft.inverse(from, to, columns, scratch.as<Complex>());
    else
        fft.forward(from, to, columns, scratch.as<Complex>());

    double error = 0, norm = 0;
    for (index_t c = 0; c < columns; ++c) {
        std::vector<Sum> x(static_cast<std::size_t>(length));
        for (index_t n = 0; n < count; ++n)
            x[static_cast<std::size_t>(begin + n)] =
                Sum(source[static_cast<std::size_t>(n * stride + c)]);
        const std::vector<Sum> want = direct(x, inverse ? 1 : -1);
        for (index_t n = 0; n < kept; ++n) {
            const Sum result(target[static_cast<std::size_t>(n * out_stride + c)]);
            error += std::norm(result - want[static_cast<std::size_t>(first + n)]);
        }
        for (const Sum& sample : want) norm += std::norm(sample);
    }
    const double epsilon = std::numeric_limits<Real>::epsilon();
    CHECK(std::sqrt(error / norm) < epsilon * (2 + std::log2(static_cast<double>(length))));
    for (index_t n = 0; n < kept; ++n)
        for (index_t c = columns; c < out_stride; ++c)
            CHECK(std::isnan(target[static_cast<std::size_t>(n * out_stride + c)].real()));
}

}  // namespace

TEMPLATE_TEST_CASE("column transforms: every length agrees with the DFT", "", float, double) {
    testing::Random random(testing::test_seed("column transforms"), 0);
    for (index_t length = 1; length <= 200; ++length)
        if (ColumnFft<TestType>::takes(length)) check_length<TestType>(length, random);
    for (const index_t length : {256, 315, 343, 512, 540, 625, 729, 1024, 1080})
        check_length<TestType>(length, random);
}

TEST_CASE("column transforms: results may replace their input") {
    using Complex = std::complex<float>;
    for (const index_t length : {1, 5, 8, 60, 128}) {
        std::vector<Complex> data(static_cast<std::size_t>(length * 16));
        for (std::size_t i = 0; i < data.size(); ++i)
            data[i] = Complex(static_cast<float>(i * 7 % 31), static_cast<float>(i % 13));
        const std::vector<Complex> original = data;
        Buffer scratch(ColumnFft<float>::scratch_samples(length) * index_t{sizeof(Complex)});
        const ColumnFft<float> fft(length);
        fft.forward({data.data(), 16, length}, {data.data(), 16, 0, length}, 16,
                    scratch.as<Complex>());
        fft.inverse({data.data(), 16, length}, {data.data(), 16, 0, length}, 16,
                    scratch.as<Complex>());
        double worst = 0;
        for (std::size_t i = 0; i < data.size(); ++i)
            worst = std::max(
                worst,
                static_cast<double>(std::abs(data[i] / static_cast<float>(length) - original[i])));
        INFO("length " << length);
        CHECK(worst < 2e-5);  // the data reach values of 33
    }
}

TEST_CASE("column transforms: unsupported lengths are refused") {
    for (const index_t length : {0, -4, 17, 34, 1009})
        CHECK_THROWS_AS(ColumnFft<float>(length), InvalidArgument);
}
