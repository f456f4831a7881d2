// SPDX-License-Identifier: Apache-2.0
// Rows of 16 bits a sample: what they lose, and what that does to the factor of Biggs and Andrews,
// which is all that is made of them.

#include <cmath>
#include <vector>

#include "deconvolve/packed_rows.hpp"
#include "tests/catch.hpp"
#include "tests/support/random.hpp"

using namespace convolume;
using namespace convolume::deconvolve;
using convolume::testing::Random;
using convolume::testing::test_seed;

namespace {

constexpr index_t row_count = 12;

float largest_of(const float* row, index_t count) {
    float largest = 0;
    for (index_t x = 0; x < count; ++x) largest = std::max(largest, std::abs(row[x]));
    return largest;
}

// Packed and unpacked, as on a GPU.
std::vector<float> there_and_back(const std::vector<float>& samples, index_t count) {
    const PackedRows rows{count};
    std::vector<char> packed(static_cast<std::size_t>(row_count * rows.row_bytes()));
    for (index_t y = 0; y < row_count; ++y) {
        const float* const row = samples.data() + y * count;
        const float largest = largest_of(row, count);
        *rows.step(packed.data(), y) = PackedRows::step_of(largest);
        for (index_t x = 0; x < count; ++x)
            rows.samples(packed.data(), y)[x] =
                PackedRows::packed(row[x], PackedRows::steps_of(largest));
    }
    std::vector<float> back(samples.size());
    const char* const bytes = packed.data();
    for (index_t y = 0; y < row_count; ++y)
        for (index_t x = 0; x < count; ++x)
            back[static_cast<std::size_t>(y * count + x)] =
                *rows.step(bytes, y) * static_cast<float>(rows.samples(bytes, y)[x]);
    return back;
}

// Samples alike in size, few large ones among small ones, or of all sizes.
std::vector<float> random_changes(Random& random, index_t count) {
    const int kind = static_cast<int>(random.integer(0, 2));
    std::vector<float> samples(static_cast<std::size_t>(row_count * count));
    for (float& sample : samples) {
        const double sign = random.uniform() - 0.5;
        const double size = kind == 0   ? 1
                            : kind == 1 ? (random.chance(0.02) ? 1e5 : 1)
                                        : std::pow(10, 12 * random.uniform() - 6);
        sample = static_cast<float>(2 * sign * size);
    }
    return samples;
}

double product_of(const std::vector<float>& a, const std::vector<float>& b) {
    double sum = 0;
    for (std::size_t i = 0; i < a.size(); ++i)
        sum += static_cast<double>(a[i]) * static_cast<double>(b[i]);
    return sum;
}
double factor_of(const std::vector<float>& made, const std::vector<float>& old) {
    return product_of(made, old) / product_of(old, old);
}

}  // namespace

TEST_CASE("deconvolve: packed rows lose half a step, and nothing of the largest sample") {
    Random random(test_seed("packed rows"));
    for (const index_t count : {1, 2, 7, 64, 301}) {
        std::vector<float> samples = random_changes(random, count);
        // A row of zeros, and one of samples that are as good as 0.
        std::fill_n(samples.begin(), count, 0.0F);
        std::fill_n(samples.begin() + count, count, 1e-38F);
        const std::vector<float> back = there_and_back(samples, count);
        for (index_t y = 0; y < row_count; ++y) {
            const float largest = largest_of(samples.data() + y * count, count);
            const double step = y < 2 ? 2e-38 : static_cast<double>(largest) / 32767;
            for (index_t x = 0; x < count; ++x) {
                const double sample = samples[static_cast<std::size_t>(y * count + x)];
                const double got = back[static_cast<std::size_t>(y * count + x)];
                INFO("row " << y << ", sample " << x << ": " << sample << ", got " << got);
                REQUIRE(std::abs(got - sample) <= 0.502 * step);
                if (y >= 2 && std::abs(sample) == static_cast<double>(largest))
                    REQUIRE(got == Approx(sample).epsilon(1e-6));
            }
        }
    }
}

// Errors of up to half a step, as good as independent, leave the product with any vector a standard
// deviation of at most its length times a step / √12, and no row's step is above |old| / 32767.
TEST_CASE("deconvolve: packed changes leave the factor of Biggs and Andrews what it is") {
    Random random(test_seed("packed changes"));
    const double deviation = 1 / (32767 * std::sqrt(12.0));
    for (int k = 0; k < 200; ++k) {
        const index_t count = random.integer(20, 300);
        const std::vector<float> old = random_changes(random, count);
        const std::vector<float> any = random_changes(random, count);
        std::vector<float> next = old;
        for (float& change : next)
            change *= static_cast<float>(random.uniform() + 0.1 * (random.uniform() - 0.5));
        for (const std::vector<float>& made : {any, next}) {
            const double want = factor_of(made, old);
            const double got = factor_of(made, there_and_back(old, count));
            const double length = std::sqrt(product_of(made, made) / product_of(old, old));
            INFO("case " << k << ": " << want << ", got " << got << ", lengths " << length);
            CHECK(std::abs(got - want) < 5 * deviation * (length + std::abs(want)));
        }
    }
}
