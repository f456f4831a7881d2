// SPDX-License-Identifier: Apache-2.0
// Compares FFTs of real rows with DFTs summed in double precision.

#include <cmath>
#include <complex>
#include <limits>
#include <numbers>
#include <vector>

#include "convolume/error.hpp"
#include "convolume/volume.hpp"
#include "core/fft_size.hpp"
#include "cpu/fft/row_batch_fft.hpp"
#include "tests/catch.hpp"
#include "tests/support/random.hpp"

using namespace convolume;
using convolume::cpu::ColumnFft;
using convolume::cpu::RowBatchFft;
using convolume::cpu::TransformKind;

namespace {

using Sum = std::complex<double>;
using Complex = std::complex<float>;
using RowFft = RowBatchFft<float>;

std::size_t at(index_t i) {
    return static_cast<std::size_t>(i);
}

void check_rows(index_t length, testing::Random& random) {
    const index_t half = length / 2, rows = random.integer(1, ColumnFft<float>::most_columns);
    const index_t distance = round_up(length, index_t{4}) + 2 * random.integer(0, 4);
    const index_t pitch = round_up(half + 1, index_t{2}) + random.integer(0, 4);
    INFO("length " << length << ", " << rows << " rows");
    constexpr float nan = std::numeric_limits<float>::quiet_NaN();
    // NaN lies behind the samples, and must not reach the results.
    std::vector<float> samples(at(rows * distance), nan);
    for (index_t r = 0; r < rows; ++r)
        for (index_t n = 0; n < length; ++n)
            samples[at(r * distance + n)] = static_cast<float>(random.uniform() - 0.5);
    std::vector<Complex> spectra(at(rows * pitch), Complex(nan, nan));
    auto* const bins = reinterpret_cast<float*>(spectra.data());
    const RowFft forward(length, TransformKind::real_forward);
    const RowFft inverse(length, TransformKind::real_inverse);
    const Buffer scratch(forward.scratch_reals() * index_t{sizeof(float)});
    forward.run({samples.data(), distance, bins, 2 * pitch, rows}, scratch.as<float>());

    const double tolerance =
        std::numeric_limits<float>::epsilon() * (3 + std::log2(static_cast<double>(length)));
    for (index_t r = 0; r < rows; ++r) {
        double error = 0, norm = 0;
        for (index_t k = 0; k <= half; ++k) {
            Sum sum;
            for (index_t n = 0; n < length; ++n)
                sum += static_cast<double>(samples[at(r * distance + n)]) *
                       std::polar(1.0, -2 * std::numbers::pi * static_cast<double>(n * k % length) /
                                           static_cast<double>(length));
            error += std::norm(Sum(spectra[at(r * pitch + k)]) - sum);
            norm += std::norm(sum);
        }
        CHECK(std::sqrt(error / norm) < tolerance);
    }

    std::vector<float> back(samples.size(), nan);
    inverse.run({bins, 2 * pitch, back.data(), distance, rows}, scratch.as<float>());
    for (index_t r = 0; r < rows; ++r) {
        double error = 0, norm = 0;
        for (index_t n = 0; n < length; ++n) {
            const double want = samples[at(r * distance + n)];
            error += std::pow(back[at(r * distance + n)] / static_cast<double>(length) - want, 2);
            norm += want * want;
        }
        CHECK(std::sqrt(error / norm) < 2 * tolerance);
    }
}

}  // namespace

TEST_CASE(
    "row transforms: every even length up to 700 agrees with the DFT, in any number of rows") {
    testing::Random random(testing::test_seed("row transforms"));
    for (index_t length = 2; length <= 700; length += 2)
        if (is_7_smooth(length)) check_rows(length, random);
}

TEST_CASE("row transforms: large primes and rows without samples are refused") {
    for (const index_t length : {0, -2, 34})
        CHECK_THROWS_AS(RowFft(length, TransformKind::real_forward), InvalidArgument);
}
