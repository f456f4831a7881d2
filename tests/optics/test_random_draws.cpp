// SPDX-License-Identifier: Apache-2.0
// Tests the generator and the distributions against published numbers and exact probabilities.

#include <cmath>
#include <map>
#include <set>
#include <vector>

#include "optics/random_draws.hpp"
#include "tests/catch.hpp"

using convolume::optics::DrawPurpose;
using convolume::optics::RandomDraws;

namespace {

constexpr std::uint64_t seed = 20150117;

double exact_probability(double mean, double k) {
    return std::exp(k * std::log(mean) - mean - std::lgamma(k + 1));
}

struct Sample {
    double mean = 0;
    double variance = 0;
    std::map<double, double> histogram;
};

Sample sample_poisson(double mean, int draws) {
    Sample sample;
    double sum = 0, squares = 0;
    for (int i = 0; i < draws; ++i) {
        const double k =
            RandomDraws(seed, DrawPurpose::photons, static_cast<std::uint64_t>(i)).poisson(mean);
        sum += k - mean;
        squares += (k - mean) * (k - mean);
        ++sample.histogram[k];
    }
    sample.mean = mean + sum / draws;
    sample.variance = squares / draws - (sum / draws) * (sum / draws);
    return sample;
}

/// Returns Pearson's χ² less its degrees of freedom, in standard deviations. Counts are grouped so
/// that each group has an expectation of about 40 at least; probabilities come from lgamma.
double chi_squared_excess(const Sample& sample, double mean, int draws) {
    const double reach = 12 * std::sqrt(mean) + 20;
    double chi = 0, expected = 0, found = 0, all_expected = 0, all_found = 0;
    int groups = 0;
    const auto close_group = [&] {
        chi += (found - expected) * (found - expected) / expected;
        all_expected += expected;
        all_found += found;
        expected = found = 0;
        ++groups;
    };
    const double wanted = std::max(40.0, draws / 200.0);
    for (double k = std::max(0.0, std::floor(mean - reach)); k < mean + reach; ++k) {
        expected += draws * exact_probability(mean, k);
        const auto at = sample.histogram.find(k);
        if (at != sample.histogram.end()) found += at->second;
        if (expected >= wanted && draws - all_expected - expected >= wanted) close_group();
    }
    expected = draws - all_expected;
    found = draws - all_found;
    close_group();
    const double freedom = groups - 1;
    return (chi - freedom) / std::sqrt(2 * freedom);
}

}  // namespace

TEST_CASE("Philox4x32-10 gives the authors' known answers") {
    // The vectors are those of Random123's own distribution (kat_vectors).
    const r123::Philox4x32 philox;
    using Counter = r123::Philox4x32::ctr_type;
    using Key = r123::Philox4x32::key_type;
    CHECK(philox(Counter{{0, 0, 0, 0}}, Key{{0, 0}}) ==
          Counter{{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}});
    CHECK(philox(Counter{{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}},
                 Key{{0xffffffff, 0xffffffff}}) ==
          Counter{{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}});
    CHECK(philox(Counter{{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}},
                 Key{{0xa4093822, 0x299f31d0}}) ==
          Counter{{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}});
}

TEST_CASE("uniform numbers come from the counter (draw, purpose, position) and the key (seed)") {
    const auto block = r123::Philox4x32()({{1, 3, 7, 5}}, {{9, 2}});
    RandomDraws draws((std::uint64_t{2} << 32) + 9, DrawPurpose::placement,
                      (std::uint64_t{5} << 32) + 7);
    draws.uniform();
    draws.uniform();
    const double third = draws.uniform();
    const auto bits = (std::uint64_t{block[0]} << 32 | block[1]) >> 12;
    CHECK(third == (static_cast<double>(bits) + 0.5) / 4503599627370496.0);
}

TEST_CASE("every seed, purpose and position gives different numbers") {
    std::set<double> seen;
    for (std::uint64_t s : {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{1} << 32})
        for (const DrawPurpose purpose : {DrawPurpose::photons, DrawPurpose::texture})
            for (std::uint64_t position : {std::uint64_t{0}, std::uint64_t{1},
                                           std::uint64_t{1} << 32, std::uint64_t{1} << 63}) {
                RandomDraws draws(s, purpose, position);
                for (int i = 0; i < 5; ++i) seen.insert(draws.uniform());
            }
    CHECK(seen.size() == 3 * 2 * 4 * 5);
}

TEST_CASE("uniform and normal numbers have the moments of their distributions") {
    constexpr int count = 200000;
    double sum = 0, squares = 0, normal_sum = 0, normal_squares = 0, fourth = 0;
    for (int i = 0; i < count; ++i) {
        RandomDraws draws(seed, DrawPurpose::read_noise, static_cast<std::uint64_t>(i));
        const double u = draws.uniform();
        sum += u;
        squares += u * u;
        const double n = draws.normal();
        normal_sum += n;
        normal_squares += n * n;
        fourth += n * n * n * n;
    }
    // The bounds are five standard deviations of each figure.
    CHECK(std::abs(sum / count - 0.5) < 5 * std::sqrt(1.0 / 12 / count));
    CHECK(std::abs(squares / count - 1.0 / 3) < 5 * std::sqrt(4.0 / 45 / count));
    CHECK(std::abs(normal_sum / count) < 5 * std::sqrt(1.0 / count));
    CHECK(std::abs(normal_squares / count - 1) < 5 * std::sqrt(2.0 / count));
    CHECK(std::abs(fourth / count - 3) < 5 * std::sqrt(96.0 / count));
}

TEST_CASE("Poisson counts have the exact probabilities") {
    constexpr int draws = 1000000;
    for (const double mean : {0.1, 3.0, 9.9, 10.1, 15.5, 50.0, 1e4, 1e6}) {
        const Sample sample = sample_poisson(mean, draws);
        INFO("mean " << mean << ", seed " << seed);
        // The bounds are five standard deviations; a variance has √((2 mean² + mean) / draws).
        CHECK(std::abs(sample.mean - mean) < 5 * std::sqrt(mean / draws));
        CHECK(std::abs(sample.variance - mean) < 5 * std::sqrt((2 * mean * mean + mean) / draws));
        CHECK(std::abs(chi_squared_excess(sample, mean, draws)) < 4);
    }
}

TEST_CASE("Poisson counts of large and unusual means have the exact probabilities") {
    for (const double mean : {1e9, 1e12}) {
        const Sample sample = sample_poisson(mean, 20000);
        CHECK(std::abs(sample.mean - mean) < 5 * std::sqrt(mean / 20000));
        CHECK(std::abs(sample.variance / mean - 1) < 5 * std::sqrt(2.0 / 20000));
    }
    CHECK(RandomDraws(seed, DrawPurpose::photons, 0).poisson(0) == 0);
    CHECK(RandomDraws(seed, DrawPurpose::photons, 0).poisson(1e-300) == 0);
    CHECK(RandomDraws(seed, DrawPurpose::photons, 0).poisson(-1) == 0);
}
