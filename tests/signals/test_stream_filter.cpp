// SPDX-License-Identifier: Apache-2.0
// Tests filters with bounded latency: against sums in double precision, while filters are replaced,
// with samples that are not finite, and that push() allocates nothing.

#include <atomic>
#include <cmath>
#include <complex>
#include <cstdlib>
#include <limits>
#include <random>
#include <thread>

#include "convolume/error.hpp"
#include "convolume/stream_filter.hpp"
#include "convolume/volume.hpp"
#include "cpu/signals/partition_plan.hpp"
#include "cpu/signals/stepped_fft.hpp"
#include "tests/catch.hpp"
#include "tests/signals/allocations.hpp"
#include "tests/support/errors.hpp"

using namespace convolume;
using namespace convolume::testing;

namespace {

using Rows = std::vector<std::vector<double>>;

std::mt19937& engine() {
    static std::mt19937 random(20240707);
    return random;
}

std::size_t at(index_t i) {
    return static_cast<std::size_t>(i);
}

Rows random_rows(index_t rows, index_t samples, double scale = 1) {
    std::uniform_real_distribution<double> values(-scale, scale);
    Rows all(at(rows), std::vector<double>(at(samples)));
    for (auto& row : all)
        for (double& value : row) value = values(engine());
    return all;
}

/// Returns filters of shape (outputs, inputs, taps), or (1, channels, taps), of type float64.
Volume filter_volume(const Rows& rows, Shape3 shape) {
    Volume volume(shape, PixelType::float64);
    for (std::size_t row = 0; row < rows.size(); ++row)
        std::copy(rows[row].begin(), rows[row].end(),
                  volume.elements<double>() + static_cast<index_t>(row) * shape.x);
    return volume;
}

/// Pushes whole blocks of `signals` and returns the results. `before` is called with the number of
/// each block.
template <class Real, class Before>
Rows push_all(StreamFilter& filter, const Rows& signals, const Before& before) {
    const index_t block = filter.block();
    const index_t samples = static_cast<index_t>(signals[0].size());
    Rows results(at(filter.outputs()), std::vector<double>(at(samples)));
    std::vector<std::vector<Real>> in(at(filter.inputs()), std::vector<Real>(at(block)));
    std::vector<std::vector<Real>> out(at(filter.outputs()), std::vector<Real>(at(block)));
    std::vector<const Real*> from;
    std::vector<Real*> to;
    for (auto& row : in) from.push_back(row.data());
    for (auto& row : out) to.push_back(row.data());
    for (index_t b = 0; b * block < samples; ++b) {
        for (std::size_t i = 0; i < in.size(); ++i)
            for (index_t n = 0; n < block; ++n)
                in[i][at(n)] = static_cast<Real>(signals[i][at(b * block + n)]);
        before(b);
        filter.push(from.data(), to.data(), block);
        for (std::size_t o = 0; o < out.size(); ++o)
            std::copy(out[o].begin(), out[o].end(), results[o].begin() + b * block);
    }
    return results;
}
template <class Real>
Rows push_all(StreamFilter& filter, const Rows& signals) {
    return push_all<Real>(filter, signals, [](index_t) {});
}

/// Adds the causal sums of a signal and a filter to `sum`.
void add_sums(const std::vector<double>& signal, const std::vector<double>& taps,
              std::vector<double>& sum) {
    for (std::size_t n = 0; n < signal.size(); ++n)
        for (std::size_t k = 0; k < std::min(taps.size(), n + 1); ++k)
            sum[n] += taps[k] * signal[n - k];
}

Rows sums(const Rows& signals, const Rows& filters, const StreamFilter& filter) {
    Rows all(at(filter.outputs()), std::vector<double>(signals[0].size()));
    for (index_t o = 0; o < filter.outputs(); ++o) {
        if (!filter.options().is_matrix) {
            add_sums(signals[at(o)], filters[filters.size() == 1 ? 0 : at(o)], all[at(o)]);
            continue;
        }
        for (index_t i = 0; i < filter.inputs(); ++i)
            add_sums(signals[at(i)], filters[at(o * filter.inputs() + i)], all[at(o)]);
    }
    return all;
}

double largest_difference(const Rows& a, const Rows& b) {
    double largest = 0;
    for (std::size_t row = 0; row < a.size(); ++row)
        for (std::size_t n = 0; n < a[row].size(); ++n) {
            const double difference = std::abs(a[row][n] - b[row][n]);
            if (!(difference <= largest)) largest = difference;  // NaN, too
        }
    return largest;
}

void check_filter(StreamFilterOptions options, Shape3 shape, index_t blocks) {
    CAPTURE(options.block, options.is_matrix, shape.z, shape.y, shape.x, options.threads);
    const Rows taps =
        random_rows(shape.z * shape.y, shape.x, 1 / std::sqrt(static_cast<double>(shape.x)));
    const Volume filters = filter_volume(taps, shape);
    for (const Precision precision : {Precision::float64, Precision::float32}) {
        options.precision = precision;
        StreamFilter filter(filters.view(), options);
        const Rows signals = random_rows(filter.inputs(), blocks * options.block);
        const Rows want = sums(signals, taps, filter);
        const bool is_double = precision == Precision::float64;
        const Rows got =
            is_double ? push_all<double>(filter, signals) : push_all<float>(filter, signals);
        CHECK(largest_difference(want, got) < (is_double ? 1e-12 : 1e-5));
        filter.reset();
        const Rows again =
            is_double ? push_all<double>(filter, signals) : push_all<float>(filter, signals);
        CHECK(again == got);
    }
}

std::size_t first_that_differs(const std::vector<double>& a, const std::vector<double>& b) {
    for (std::size_t n = 0; n < a.size(); ++n)
        if (a[n] != b[n]) return n;
    return a.size();
}

}  // namespace

TEST_CASE("stepped transforms") {
    for (const index_t length : {32, 96, 480, 4096, 8192, 15360, 32768}) {
        CAPTURE(length);
        const cpu::SteppedFft<double> fft(length);
        const Rows parts = random_rows(2, length);
        std::vector<std::complex<double>> z(at(length)), want(at(length));
        for (std::size_t n = 0; n < z.size(); ++n) z[n] = want[n] = {parts[0][n], parts[1][n]};
        cpu::AlignedTable<double> scratch(at(fft.scratch_reals()));
        const auto rows = [&](bool inverse) {
            for (index_t row = 0; row < fft.row_steps(); ++row) {
                auto* const first = z.data() + row * fft.row_length();
                fft.transform_row(first, first, inverse, scratch.data());
            }
        };
        for (index_t step = 0; step < fft.radix_steps(); ++step) fft.split(step, z.data());
        rows(false);
        double power = 0, samples_power = 0;
        for (std::size_t n = 0; n < z.size(); ++n) {
            power += std::norm(z[n]);
            samples_power += std::norm(want[n]);
        }
        CHECK(power == Approx(samples_power * static_cast<double>(length)));
        rows(true);
        for (index_t step = 0; step < fft.radix_steps(); ++step) fft.merge(step, z.data());
        double error = 0;
        for (std::size_t n = 0; n < z.size(); ++n)
            error = std::max(error, std::abs(z[n] / static_cast<double>(length) - want[n]));
        CHECK(error < 1e-14);
    }
}

TEST_CASE("partitions leave time for their work and hold all taps") {
    for (const index_t block : {32, 64, 480, 1024, 4096})
        for (const index_t taps : {1, 31, 1000, 48000, 131072, 1048576, 5000000}) {
            const auto levels = cpu::plan_partitions({block, taps, 2, 2, 2, 2, 4});
            CAPTURE(block, taps, levels.size());
            REQUIRE(!levels.empty());
            CHECK(levels[0].size == block);
            index_t tap = 0;
            for (const auto& level : levels) {
                CHECK(level.first_tap == tap);
                if (level.size > block) CHECK(tap >= 2 * level.size);
                CHECK(level.count >= 1);
                tap += level.size * level.count;
            }
            CHECK(tap >= taps);
            CHECK(tap - levels.back().size < taps);
            if (taps >= 256 * block) CHECK(levels.size() > 1);
        }
}

TEST_CASE("blocks of a channel equal sums") {
    StreamFilterOptions options;
    for (const index_t block : {32, 64, 100, 480})
        for (const index_t taps : {1, 2, 31, 32, 33, 200, 1000, 4097}) {
            options.block = block;
            check_filter(options, {1, 1, taps}, ceil_div(3 * taps, block) + 3);
        }
    // Levels whose transforms have radix steps.
    options.block = 64;
    check_filter(options, {1, 1, 20000}, 400);
}

TEST_CASE("blocks of channels and matrices equal sums") {
    StreamFilterOptions options;
    for (const int threads : {1, 3}) {
        options.threads = threads;
        options.block = 64;
        options.is_matrix = false;
        options.channels = 0;
        check_filter(options, {1, 5, 3000}, 70);
        options.channels = 4;
        check_filter(options, {1, 1, 3000}, 70);
        options.channels = 0;
        options.is_matrix = true;
        check_filter(options, {2, 3, 2500}, 60);
        check_filter(options, {3, 1, 70}, 20);
        check_filter(options, {1, 4, 700}, 40);
    }
}

TEST_CASE("results do not depend on threads") {
    const Rows taps = random_rows(6, 5000), signals = random_rows(6, 200 * 32);
    const Volume filters = filter_volume(taps, {1, 6, 5000});
    StreamFilterOptions options;
    options.block = 32;
    StreamFilter one(filters.view(), options);
    options.threads = 4;
    StreamFilter four(filters.view(), options);
    CHECK(push_all<float>(one, signals) == push_all<float>(four, signals));
}

TEST_CASE("outputs may be inputs, and null inputs are silent") {
    const Rows taps = random_rows(2, 500), signals = random_rows(2, 50 * 64);
    const Volume filters = filter_volume(taps, {1, 2, 500});
    StreamFilterOptions options;
    options.block = 64;
    StreamFilter filter(filters.view(), options);
    Rows silent = signals;
    std::fill(silent[1].begin(), silent[1].end(), 0.0);
    const Rows want = push_all<float>(filter, silent);
    filter.reset();
    std::vector<float> samples(64);
    for (std::size_t b = 0; b < 50; ++b) {
        for (std::size_t n = 0; n < 64; ++n)
            samples[n] = static_cast<float>(signals[0][b * 64 + n]);
        std::vector<float> other(64);
        const float* in[] = {samples.data(), nullptr};
        float* out[] = {samples.data(), other.data()};
        filter.push(in, out, 64);
        for (std::size_t n = 0; n < 64; ++n) {
            REQUIRE(samples[n] == static_cast<float>(want[0][b * 64 + n]));
            REQUIRE(other[n] == 0);
        }
    }
}

TEST_CASE("replaced filters fade as the results of both do") {
    const index_t block = 64, taps = 6000, blocks = 900;
    const Rows old_taps = random_rows(2, taps), new_taps = random_rows(2, taps / 2),
               signals = random_rows(2, blocks * block);
    const Volume old_filters = filter_volume(old_taps, {1, 2, taps}),
                 new_filters = filter_volume(new_taps, {1, 2, taps / 2});
    StreamFilterOptions options;
    options.block = block;
    options.max_taps = taps;
    options.precision = Precision::float64;
    options.threads = GENERATE(1, 2);
    StreamFilter filter(old_filters.view(), options), other(new_filters.view(), options);
    const Rows before = push_all<double>(filter, signals), after = push_all<double>(other, signals);
    for (const index_t fade : {index_t{0}, index_t{1}, index_t{100}, index_t{5000}})
        for (const index_t when : {index_t{0}, index_t{3}, index_t{200}, index_t{333}}) {
            StreamFilter fading(old_filters.view(), options);
            const Rows got = push_all<double>(fading, signals, [&](index_t b) {
                if (b == when) fading.replace(new_filters.view(), fade);
                if (b == when) CHECK(fading.is_replacing());
            });
            CHECK(!fading.is_replacing());
            const index_t length = fade == 0 ? block : fade;
            const auto first = static_cast<index_t>(first_that_differs(before[0], got[0]));
            CAPTURE(fade, when, first, fading.max_replace_delay());
            CHECK(first % block == 0);
            CHECK(first >= when * block);
            CHECK(first <= when * block + fading.max_replace_delay());
            double error = 0;
            for (std::size_t c = 0; c < 2; ++c)
                for (index_t n = first; n < blocks * block; ++n) {
                    const double weight = std::min(
                        1.0, (static_cast<double>(n - first) + 0.5) / static_cast<double>(length));
                    const double want = (1 - weight) * before[c][at(n)] + weight * after[c][at(n)];
                    error = std::max(error, std::abs(got[c][at(n)] - want));
                }
            CHECK(error < 1e-11);
        }
}

TEST_CASE("filters are replaced again and again, from another thread") {
    const index_t block = 32, taps = 1000;
    StreamFilterOptions options;
    options.block = block;
    options.precision = Precision::float64;
    Rows one = random_rows(1, taps), two = random_rows(1, taps);
    const Volume first = filter_volume(one, {1, 1, taps}),
                 second = filter_volume(two, {1, 1, taps});
    StreamFilter filter(first.view(), options);
    std::atomic<bool> stop{false};
    std::thread other([&] {
        for (int i = 0; i < 60; ++i) filter.replace(i % 2 == 0 ? second.view() : first.view());
        filter.replace(second.view());
        stop = true;
    });
    std::vector<double> samples(at(block), 1.0), results(at(block));
    const double* in = samples.data();
    double* out = results.data();
    while (!stop || filter.is_replacing()) filter.push(&in, &out, block);
    other.join();
    double want = 0;
    for (const double tap : two[0]) want += tap;
    for (int b = 0; b < 70; ++b) filter.push(&in, &out, block);
    CHECK(results[0] == Approx(want));
    // reset() brings prepared filters into use.
    filter.replace(first.view());
    filter.reset();
    CHECK(!filter.is_replacing());
    filter.push(&in, &out, block);
    CHECK(results[0] == Approx(one[0][0]));
}

TEST_CASE("samples that are not finite reach the results that their sums do") {
    const index_t block = 32, taps = 700, samples = 200 * block;
    Rows signals = random_rows(2, samples);
    StreamFilterOptions options;
    options.block = block;
    options.is_matrix = true;
    const Rows rows = random_rows(2, taps);
    StreamFilter filter(filter_volume(rows, {1, 2, taps}).view(), options);
    const Rows want = push_all<float>(filter, signals);
    filter.reset();
    const index_t bad[] = {700, 1000, 1001, 4000};
    signals[0][at(bad[0])] = std::numeric_limits<double>::quiet_NaN();
    signals[1][at(bad[1])] = std::numeric_limits<double>::infinity();
    signals[1][at(bad[2])] = -std::numeric_limits<double>::infinity();
    signals[0][at(bad[3])] = std::numeric_limits<double>::quiet_NaN();
    const Rows got = push_all<float>(filter, signals);
    for (index_t n = 0; n < samples; ++n) {
        const bool reached = std::any_of(std::begin(bad), std::end(bad), [&](index_t sample) {
            return n >= sample && n < sample + taps;
        });
        REQUIRE(std::isnan(got[0][at(n)]) == reached);
        // The bad samples count as 0, and are out of reach here.
        if (!reached) REQUIRE(std::abs(got[0][at(n)] - want[0][at(n)]) < 1e-4);
    }
}

TEST_CASE("push allocates nothing") {
    StreamFilterOptions options;
    options.block = 64;
    options.threads = GENERATE(1, 3);
    options.is_matrix = GENERATE(false, true);
    const Shape3 shape = options.is_matrix ? Shape3{2, 2, 50000} : Shape3{1, 2, 50000};
    const Volume filters = filter_volume(random_rows(shape.z * shape.y, shape.x), shape);
    StreamFilter filter(filters.view(), options);
    std::vector<float> samples(64, 1.0F), one(64), two(64);
    const float* in[] = {samples.data(), samples.data()};
    float* out[] = {one.data(), two.data()};
    bool faded = false;
    for (int round = 0; round < 2; ++round) {
        // A thread of its own, which has no memory of earlier transforms.
        long counted_allocations = -1;
        std::thread pusher([&] {
            const long before = allocations;
            for (int b = 0; b < 3000; ++b) {
                filter.push(in, out, 64);
                faded = faded || (round == 1 && !filter.is_replacing());
            }
            counted_allocations = allocations - before;
        });
        pusher.join();
        CHECK(counted_allocations == 0);
        filter.replace(filters.view(), 1000);
    }
    CHECK(faded);
}

TEST_CASE("bad requests for streams are refused") {
    const std::vector<float> taps(12, 1.0F), bad(4, std::numeric_limits<float>::infinity());
    const std::vector<std::complex<float>> turned(4);
    const auto filter_of = [&](Shape3 shape, const StreamFilterOptions& options) {
        return StreamFilter(view_of(taps.data(), shape), options);
    };
    StreamFilterOptions options;
    for (const index_t block :
         {index_t{0}, index_t{31}, index_t{4097}, index_t{-5}, index_t{34 + 3}}) {
        options.block = block;
        CHECK_THROWS_AS(filter_of({1, 1, 4}, options), InvalidArgument);
    }
    options = {};
    options.channels = 2;
    CHECK_THROWS_AS(filter_of({1, 3, 4}, options), InvalidArgument);
    options = {};
    CHECK_THROWS_AS(filter_of({3, 2, 2}, options), InvalidArgument);
    CHECK_THROWS_AS(StreamFilter(view_of(bad.data(), {1, 1, 4})), BadData);
    CHECK_THROWS_AS(StreamFilter(view_of(turned.data(), {1, 1, 4})), InvalidArgument);
    options.threads = -1;
    CHECK_THROWS_AS(filter_of({1, 1, 4}, options), InvalidArgument);

    StreamFilter filter = filter_of({1, 2, 3}, {});
    std::vector<float> samples(256);
    std::vector<double> doubles(256);
    const float* in[] = {samples.data(), samples.data()};
    float* out[] = {samples.data(), samples.data()};
    const double* double_in[] = {doubles.data(), doubles.data()};
    double* double_out[] = {doubles.data(), doubles.data()};
    const std::string text = message_of<InvalidArgument>([&] { filter.push(in, out, 100); });
    CHECK((contains(text, "100") && contains(text, "256")));
    CHECK_THROWS_AS(filter.push(double_in, double_out, 256), InvalidArgument);
    CHECK_THROWS_AS(filter.replace(view_of(taps.data(), {1, 2, 4})), InvalidArgument);
    CHECK_THROWS_AS(filter.replace(view_of(taps.data(), {1, 3, 3})), InvalidArgument);
    CHECK_THROWS_AS(filter.replace(view_of(taps.data(), {1, 2, 3}), -1), InvalidArgument);
    CHECK_THROWS_AS(filter.replace(view_of(bad.data(), {1, 2, 2})), BadData);
}
