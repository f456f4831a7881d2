// SPDX-License-Identifier: Apache-2.0
// Conversion of rates against tones, whose value is known at every time. Times of results are
// summed in long double.

#include <cmath>
#include <cstring>
#include <limits>
#include <numbers>
#include <random>

#include "convolume/error.hpp"
#include "convolume/rate_converter.hpp"
#include "signals/result_positions.hpp"
#include "tests/catch.hpp"
#include "tests/support/errors.hpp"

namespace convolume {

namespace {

using Complex = std::complex<double>;

Complex tone_at(double frequency, long double time) {
    const long double turns = frequency * time;
    const auto angle =
        static_cast<double>(2 * std::numbers::pi_v<long double> * (turns - std::floor(turns)));
    return {std::cos(angle), std::sin(angle)};
}

/// Returns a tone of `frequency` cycles per sample, of shape (1, 1, samples).
Volume tone(double frequency, index_t samples, PixelType type) {
    std::vector<Complex> values;
    for (index_t i = 0; i < samples; ++i)
        values.push_back(tone_at(frequency, static_cast<long double>(i)));
    Volume volume({1, 1, samples}, type);
    if (is_complex(type)) {
        convert_pixels(view_of(std::as_const(values).data(), volume.shape()), volume.view());
        return volume;
    }
    for (index_t i = 0; i < samples; ++i) {
        const double value = values[static_cast<std::size_t>(i)].real();
        if (type == PixelType::float32)
            volume.elements<float>()[i] = static_cast<float>(value);
        else
            volume.elements<double>()[i] = value;
    }
    return volume;
}

Complex value_of(const Volume& volume, index_t n, index_t signal = 0) {
    Complex value;
    const Box3 one{{0, signal, n}, {1, signal + 1, n + 1}};
    convert_pixels(subview(volume.view(), one), view_of(&value, {1, 1, 1}));
    return value;
}

/// Returns the times of all results of samples with ratios.
std::vector<long double> times_of(const std::vector<double>& ratios) {
    std::vector<long double> times;
    const auto end = static_cast<long double>(ratios.size());
    for (long double time = 0; time < end;
         time += 1 / static_cast<long double>(ratios[static_cast<std::size_t>(time)]))
        times.push_back(time);
    return times;
}

double from_db(double db) {
    return std::pow(10.0, -db / 20);
}

/// Returns the largest difference from `amplitude` times a tone, of results away from the ends.
double worst_error(const Volume& results, const std::vector<long double>& times, double frequency,
                   double amplitude, index_t taps) {
    REQUIRE(results.shape().x == static_cast<index_t>(times.size()));
    const long double end = times.back() - static_cast<long double>(taps);
    double worst = 0;
    index_t compared = 0;
    for (std::size_t n = 0; n < times.size(); ++n) {
        if (times[n] < static_cast<long double>(taps) || times[n] > end) continue;
        Complex want = amplitude * tone_at(frequency, times[n]);
        if (!is_complex(results.type())) want = want.real();
        const double error = std::abs(value_of(results, static_cast<index_t>(n)) - want);
        if (!(error <= worst)) worst = error;
        ++compared;
    }
    REQUIRE(compared > 0);
    return worst;
}

struct RateCase {
    double ratio, attenuation_db, pass_band;
};

}  // namespace

TEST_CASE("tones keep their values in the pass band and vanish in the stop band") {
    const RateCase one = GENERATE(
        RateCase{1.00013, 120, 0.9}, RateCase{48000.5 / 44100, 120, 0.9}, RateCase{0.37, 100, 0.8},
        RateCase{1, 60, 0.95}, RateCase{7.77, 140, 0.9}, RateCase{0.0101, 80, 0.5},
        RateCase{1e3, 50, 0.9}, RateCase{1e-3, 60, 0.5}, RateCase{std::numbers::sqrt2, 180, 0.7},
        RateCase{0.99, 20, 0.9}, RateCase{0.035, 120, 0.03}, RateCase{0.0087, 120, 0.05},
        RateCase{0.68, 120, 0.05});
    const PixelType type = GENERATE(PixelType::float64, PixelType::complex128, PixelType::float32);
    const double rounding = type == PixelType::float32 ? from_db(125) : 1e-14;
    RateOptions options;
    options.ratio = one.ratio;
    options.attenuation_db = one.attenuation_db;
    options.pass_band = one.pass_band;
    options.precision = type == PixelType::float32 ? Precision::float32 : Precision::float64;
    const index_t taps = RateConverter(options).taps();
    const auto more = static_cast<index_t>(40 / std::min(one.ratio, 1.0));
    const index_t samples = 2 * taps + std::min<index_t>(more, 20000);
    const auto times = times_of(std::vector<double>(static_cast<std::size_t>(samples), one.ratio));
    const double nyquist = std::min(1.0, one.ratio) / 2;
    INFO("ratio " << one.ratio << ", " << one.attenuation_db << " dB, " << to_string(type));
    for (const double place : {0.0, 0.31, 0.77, 1.0}) {
        const double frequency = place * one.pass_band * nyquist;
        INFO("pass band, frequency " << frequency);
        const Volume made = convert_rate(tone(frequency, samples, type).view(), options);
        CHECK(worst_error(made, times, frequency, 1, taps) <
              from_db(one.attenuation_db) + rounding);
    }
    for (const double place : {0.0, 0.1, 1.0}) {
        const double frequency = nyquist + place * (0.5 - nyquist);
        INFO("stop band, frequency " << frequency);
        const Volume made = convert_rate(tone(frequency, samples, type).view(), options);
        CHECK(worst_error(made, times, frequency, 0, taps) <
              from_db(one.attenuation_db) + rounding);
    }
}

TEST_CASE("a tone of a source that moves is brought to rest by ratios that vary") {
    constexpr index_t samples = 60000;
    std::vector<double> ratios;
    for (index_t i = 0; i < samples; ++i)
        ratios.push_back(1 + 0.3 * std::sin(2e-4 * static_cast<double>(i)));
    RateOptions options;
    options.precision = Precision::float64;
    options.attenuation_db = 140;
    const double frequency = 0.9 * 0.5 * 0.7 - 1e-3;
    const Volume samples_of_tone = tone(frequency, samples, PixelType::complex128);
    const Volume made = convert_rate(samples_of_tone.view(), options, ratios);
    options.ratio = options.lowest_ratio = 0.7;
    const RateConverter converter(options);
    CHECK(worst_error(made, times_of(ratios), frequency, 1, converter.taps()) < from_db(140));
}

TEST_CASE("converted blocks have the bits of one call") {
    const PixelType type = GENERATE(PixelType::float32, PixelType::complex128, PixelType::int16);
    const double ratio = GENERATE(1.00013, 0.02, 33.3);
    const bool is_varying = GENERATE(false, true);
    constexpr index_t signals = 3, samples = 9000;
    INFO("ratio " << ratio << ", " << to_string(type) << (is_varying ? ", varying" : ""));
    RateOptions options;
    options.ratio = ratio;
    options.lowest_ratio = 0.9 * ratio;
    options.threads = 2;
    options.precision = type == PixelType::complex128 ? Precision::float64 : Precision::float32;
    std::mt19937 generator(3);
    Volume whole({1, signals, samples}, type);
    std::vector<double> values(static_cast<std::size_t>(signals * samples));
    std::uniform_real_distribution<double> levels(-1000, 1000), factors(0.9, 1.1);
    for (double& value : values) value = levels(generator);
    convert_pixels(view_of(std::as_const(values).data(), whole.shape()), whole.view());
    std::vector<double> ratios;
    for (index_t i = 0; is_varying && i < samples; ++i)
        ratios.push_back(ratio * factors(generator));
    const Volume want = convert_rate(whole.view(), options, ratios);
    RateConverter converter(options, type, signals);
    for (int turn = 0; turn < 2; ++turn) {  // a stream takes several signals
        std::uniform_int_distribution<index_t> sizes(0, turn == 0 ? 40 : 4000);
        index_t done = 0, mismatches = 0;
        const auto compare = [&](const Volume& part) {
            const auto bytes = static_cast<std::size_t>(part.shape().x) * size_of(part.type());
            REQUIRE(done + part.shape().x <= want.shape().x);
            for (index_t s = 0; s < signals && part.shape().x > 0; ++s)
                mismatches +=
                    std::memcmp(part.view().at(0, s, 0), want.view().at(0, s, done), bytes) != 0;
            done += part.shape().x;
        };
        for (index_t at = 0; at < samples;) {
            const index_t size = std::min(sizes(generator), samples - at);
            std::span<const double> part;
            if (is_varying)
                part = std::span(ratios).subspan(static_cast<std::size_t>(at),
                                                 static_cast<std::size_t>(size));
            compare(
                converter.push(subview(whole.view(), {{0, 0, at}, {1, signals, at + size}}), part));
            at += size;
        }
        compare(converter.finish());
        CHECK(done == want.shape().x);
        CHECK(mismatches == 0);
    }
}

TEST_CASE("a ratio that is set holds for the samples that follow") {
    constexpr index_t half = 5000;
    const Volume samples = tone(0.11, 2 * half, PixelType::float32);
    std::vector<double> ratios(2 * half, 1.1);
    std::fill(ratios.begin() + half, ratios.end(), 1.2);
    const Volume want = convert_rate(samples.view(), {}, ratios);
    RateOptions options;
    options.ratio = 1.1;
    RateConverter converter(options);
    std::vector<float> got;
    const auto append = [&](const Volume& part) {
        for (index_t i = 0; i < part.shape().x; ++i) got.push_back(part.elements<float>()[i]);
    };
    append(converter.push(subview(samples.view(), {{0, 0, 0}, {1, 1, half}})));
    converter.set_ratio(1.2);
    append(converter.push(subview(samples.view(), {{0, 0, half}, {1, 1, 2 * half}})));
    append(converter.finish());
    REQUIRE(static_cast<index_t>(got.size()) == want.shape().x);
    CHECK(std::memcmp(got.data(), want.elements<float>(), got.size() * sizeof(float)) == 0);
}

TEST_CASE("a conversion has the number of samples times the ratio, rounded up") {
    const auto count = [](index_t samples, double ratio) {
        return ResultPositions::count_of(samples, ratio);
    };
    CHECK(count(44100, 48000.0 / 44100) == 48000);
    CHECK(count(44101, 48000.0 / 44100) == 48002);
    CHECK(count(48000, 44100.0 / 48000) == 44100);
    CHECK(count(1, 1e4) == 10000);
    CHECK(count(1000, 5000) == 5000000);
    CHECK(count(10000, 1e-4) == 1);
    CHECK(count(10001, 1e-4) == 2);
    for (index_t p = 1; p < 60; ++p)
        for (index_t q = 1; q < 60; ++q)
            if (count(7 * q, static_cast<double>(p) / static_cast<double>(q)) != 7 * p)
                FAIL(p << '/' << q);
}

TEST_CASE("real samples pass through a conversion of complex signals") {
    Volume real({1, 1, 5000}, PixelType::float32), complex({1, 1, 5000}, PixelType::complex64);
    for (index_t i = 0; i < 5000; ++i) real.elements<float>()[i] = static_cast<float>(i * i % 101);
    convert_pixels(real.view(), complex.view());
    RateOptions options;
    options.ratio = 1.37;
    RateConverter of_real(options, PixelType::complex64, 1);
    RateConverter of_complex(options, PixelType::complex64, 1);
    const Volume one = of_real.push(real.view()), other = of_complex.push(complex.view());
    REQUIRE(one.bytes() == other.bytes());
    CHECK(std::memcmp(one.view().data, other.view().data, static_cast<std::size_t>(one.bytes())) ==
          0);
}

TEST_CASE("times do not drift in a long signal") {
    RateOptions options;
    options.ratio = 3e-4;
    options.attenuation_db = 60;
    options.pass_band = 0.5;
    RateConverter converter(options);
    CHECK(converter.results(25 << 20) == static_cast<index_t>(std::ceil((25 << 20) * 3e-4L)));
    for (const double ratio : {1e-4, 0.3, 1.0, 1.1, 7.0, 1e4}) {
        options.ratio = ratio;
        const RateConverter other(options);
        for (const index_t samples : {1, 2, 3, 10, 999, 12345}) {
            if (ratio * static_cast<double>(samples) > 1e7) continue;  // takes seconds
            const std::vector<std::uint8_t> none(static_cast<std::size_t>(samples));
            const ConstImageView signal = view_of(none.data(), {1, 1, samples});
            CHECK(other.results(samples) == convert_rate(signal, options).shape().x);
        }
    }
    options.ratio = 1.125;  // its inverse is rounded
    CHECK(RateConverter(options).results(5000) == 5625);
    const std::vector<float> zeros(1 << 20);
    index_t results = 0;
    for (int block = 0; block < 25; ++block)
        results += converter.push(view_of(zeros.data(), {1, 1, 1 << 20})).shape().x;
    results += converter.finish().shape().x;
    CHECK(results == static_cast<index_t>(std::ceil(25.0L * (1 << 20) * 3e-4L)));
}

TEST_CASE("any strides, types and lengths are converted") {
    const Volume one = tone(0.05, 700, PixelType::float32);
    RateOptions options;
    options.ratio = 1.37;
    const Volume straight = convert_rate(one.view(), options);
    std::vector<float> turned(700 * 3);
    for (std::size_t i = 0; i < 700; ++i)
        for (std::size_t s = 0; s < 3; ++s)
            turned[3 * i + s] = one.elements<float>()[i] * static_cast<float>(s + 1);
    const Volume three =
        convert_rate({turned.data(), PixelType::float32, {1, 3, 700}, {0, 1, 3}}, options);
    REQUIRE(three.shape() == Shape3{1, 3, straight.shape().x});
    for (index_t n = 0; n < straight.shape().x; ++n) {
        CHECK(three.view().at<float>(0, 0, n) == straight.elements<float>()[n]);
        CHECK(three.view().at<float>(0, 1, n) == 2 * straight.elements<float>()[n]);
    }
    // A single sample is the filter itself.
    const std::vector<std::uint16_t> sample = {1000};
    const Volume pulse = convert_rate(view_of(sample.data(), {1, 1, 1}), options);
    REQUIRE(pulse.shape().x == 2);
    CHECK(std::abs(pulse.elements<float>()[0] - 950) < 1);
}

TEST_CASE("NaN reaches only the results whose taps meet it in a conversion of rates") {
    std::vector<float> signal(2000, 1);
    signal[1000] = std::numeric_limits<float>::quiet_NaN();
    RateOptions options;
    options.ratio = 1.25;
    const auto half = static_cast<double>(RateConverter(options).taps() / 2);
    const Volume made = convert_rate(view_of(std::as_const(signal).data(), {1, 1, 2000}), options);
    index_t wrong = 0;
    for (index_t n = 0; n < made.shape().x; ++n) {
        const double sample = std::floor(static_cast<double>(n) * 0.8);
        const bool is_met = sample - half + 1 <= 1000 && 1000 <= sample + half;
        wrong += std::isnan(made.elements<float>()[n]) != is_met;
    }
    CHECK(wrong == 0);
}

TEST_CASE("a conversion of rates refuses what it cannot do") {
    const auto refused = [&](auto change, const char* words) {
        RateOptions options;
        change(options);
        const std::string sentence =
            testing::message_of<InvalidArgument>([&] { RateConverter{options}; });
        INFO(sentence);
        CHECK(testing::contains(sentence, words));
    };
    constexpr double nan = std::numeric_limits<double>::quiet_NaN();
    refused([](auto& options) { options.ratio = 0; }, "ratio");
    refused([](auto& options) { options.ratio = nan; }, "ratio");
    refused([](auto& options) { options.ratio = 1e5; }, "from 0.0001 to 10000");
    refused([](auto& options) { options.lowest_ratio = 2; }, "lowest_ratio");
    refused([](auto& options) { options.attenuation_db = 200; }, "from 20 to 180 dB");
    refused([](auto& options) { options.pass_band = 1; }, "from 0.01 to 0.999");
    refused([](auto& options) { options.threads = -1; }, "threads");
    RateOptions sharpest;
    sharpest.ratio = 1e-4;
    sharpest.pass_band = 0.999;
    sharpest.attenuation_db = 180;
    CHECK(RateConverter(sharpest).taps() > 1 << 28);  // of stages that have few taps each

    RateConverter converter;
    CHECK_THROWS_AS(converter.set_ratio(0.99), InvalidArgument);
    CHECK_THROWS_AS(converter.finish(), BadData);
    const std::vector<float> block = {1, 2, 3};
    const ConstImageView samples = view_of(block.data(), {1, 1, 3});
    const std::vector<double> two = {1, 1}, low = {1, 1, 0.5};
    CHECK_THROWS_AS(converter.push(samples, two), InvalidArgument);
    CHECK(testing::contains(
        testing::message_of<InvalidArgument>([&] { (void)converter.push(samples, low); }),
        "the ratio of sample 2 is 0.5"));
    const std::vector<std::complex<float>> complex_block(3);
    CHECK_THROWS_AS(converter.push(view_of(complex_block.data(), {1, 1, 3})), InvalidArgument);
    CHECK(converter.push(view_of(block.data(), {1, 1, 0})).shape().x == 0);
    CHECK(converter.push(samples).shape().x == 0);
    CHECK(converter.finish().shape().x == 3);
    CHECK_THROWS_AS(convert_rate(view_of(block.data(), {1, 1, 0}), {}), BadData);
    CHECK_THROWS_AS(RateConverter({}, PixelType::float32, 0), InvalidArgument);
}

}  // namespace convolume
