// SPDX-License-Identifier: Apache-2.0
// Resampling against its definition: zeros are inserted, every product is added in double
// precision, and one of `down` results is kept.

#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include "convolume/error.hpp"
#include "convolume/resample.hpp"
#include "tests/catch.hpp"
#include "tests/support/errors.hpp"

namespace convolume {

namespace {

using Values = std::vector<std::complex<double>>;

Values random_values(index_t count, bool is_complex, unsigned seed) {
    std::mt19937 generator(seed);
    std::uniform_real_distribution<double> values(-1, 1);
    Values made;
    for (index_t i = 0; i < count; ++i)
        made.emplace_back(values(generator), is_complex ? values(generator) : 0);
    return made;
}

Volume volume_of(const Values& values, index_t signals, PixelType type) {
    const auto samples = static_cast<index_t>(values.size()) / signals;
    Volume volume({1, signals, samples}, type);
    visit_pixel_type(type, [&](auto tag) {
        using T = typename decltype(tag)::type;
        for (std::size_t i = 0; i < values.size(); ++i) {
            if constexpr (std::is_arithmetic_v<T>)
                volume.elements<T>()[i] = static_cast<T>(
                    std::is_integral_v<T> ? 100 * values[i].real() + 100 : values[i].real());
            else
                volume.elements<T>()[i] = static_cast<T>(values[i]);
        }
    });
    return volume;
}

Values values_of(const Volume& volume) {
    Values made(static_cast<std::size_t>(element_count(volume.shape())));
    convert_pixels(volume.view(), view_of(made.data(), volume.shape()));
    return made;
}

Values defined(const Values& taps, const Values& signal, const ResampleOptions& options,
               index_t results) {
    Values made(static_cast<std::size_t>(results));
    for (index_t n = 0; n < results; ++n)
        for (index_t k = 0; k < static_cast<index_t>(taps.size()); ++k) {
            const index_t place = n * options.down + options.origin - k;
            if (place % options.up != 0) continue;
            const index_t i = place / options.up;
            std::complex<double> sample = options.value;
            if (i >= 0 && i < static_cast<index_t>(signal.size()))
                sample = signal[static_cast<std::size_t>(i)];
            made[static_cast<std::size_t>(n)] += taps[static_cast<std::size_t>(k)] * sample;
        }
    return made;
}

double worst_difference(const Values& want, const Values& got) {
    REQUIRE(want.size() == got.size());
    double worst = 0;
    for (std::size_t i = 0; i < want.size(); ++i) {
        const double error = std::abs(want[i] - got[i]);
        if (!(error <= worst)) worst = error;
    }
    return worst;
}

struct Case {
    index_t up, down, taps, samples;
};

ConstImageView row_of(const Volume& volume) {
    return volume.view();
}

}  // namespace

TEST_CASE("resampling agrees with its definition") {
    const Case one =
        GENERATE(Case{160, 147, 3201, 3000}, Case{1, 2, 41, 40000}, Case{2, 1, 41, 700},
                 Case{3, 2, 7, 1}, Case{5, 7, 3, 50}, Case{4, 6, 90, 400},
                 Case{1, 100, 2001, 60000}, Case{1, 1, 9, 600}, Case{1000, 1, 10, 30});
    const PixelType type = GENERATE(PixelType::float32, PixelType::float64, PixelType::complex64,
                                    PixelType::complex128, PixelType::int16);
    const PixelType tap_type = GENERATE(PixelType::float64, PixelType::complex128);
    const bool is_double = type == PixelType::float64 || type == PixelType::complex128;
    INFO(one.up << '/' << one.down << ", " << one.taps << " taps, " << one.samples << " samples of "
                << to_string(type) << ", taps " << to_string(tap_type));
    constexpr index_t signals = 2;
    const Volume taps = volume_of(random_values(one.taps, is_complex(tap_type), 1), 1, tap_type);
    const Volume samples =
        volume_of(random_values(signals * one.samples, is_complex(type), 2), signals, type);
    ResampleOptions options;
    options.up = one.up;
    options.down = one.down;
    options.origin = one.taps / 3;
    options.value = 0.5;
    options.precision = is_double ? Precision::float64 : Precision::float32;
    options.threads = 2;
    const Resampler resampler(row_of(taps), options, type);
    const index_t results = resampler.full_results(one.samples) + 3;
    Volume made({1, signals, results}, resampler.result_type());
    resampler.execute(samples.view(), made.view());
    const Values all = values_of(samples);
    const Values got = values_of(made);
    for (index_t s = 0; s < signals; ++s) {
        const Values signal(all.begin() + s * one.samples, all.begin() + (s + 1) * one.samples);
        const Values want = defined(values_of(taps), signal, options, results);
        const double level = (is_double ? 1e-14 : 1e-6) * (type == PixelType::int16 ? 200 : 1) *
                             (4 + std::sqrt(static_cast<double>(one.taps / one.up)));
        CHECK(worst_difference(want, Values(got.begin() + s * results,
                                            got.begin() + (s + 1) * results)) < level);
    }
}

TEST_CASE("resampled blocks have the bits of one call") {
    const auto [extension, up] = GENERATE(
        std::pair{SignalExtension::constant, 160}, std::pair{SignalExtension::edge, 3},
        std::pair{SignalExtension::symmetric, 1}, std::pair{SignalExtension::reflect, 3},
        std::pair{SignalExtension::antireflect, 160}, std::pair{SignalExtension::smooth, 3},
        std::pair{SignalExtension::antisymmetric, 4});
    const PixelType type = GENERATE(PixelType::float32, PixelType::complex128, PixelType::uint8);
    ResampleOptions options;
    options.up = up;
    options.down = 147;
    options.extension = extension;
    options.precision = type == PixelType::complex128 ? Precision::float64 : Precision::float32;
    const std::vector<double> taps = resample_taps(up, 147);
    options.origin = static_cast<index_t>(taps.size() / 2);
    INFO(to_string(extension) << ", " << up << "/147, " << to_string(type));
    const Resampler resampler(
        view_of(std::as_const(taps).data(), {1, 1, static_cast<index_t>(taps.size())}), options,
        type);
    constexpr index_t signals = 2, samples = 30000;
    const Volume whole =
        volume_of(random_values(signals * samples, is_complex(type), 7), signals, type);
    Volume want({1, signals, resampler.same_results(samples)}, resampler.result_type());
    resampler.execute(whole.view(), want.view());
    ResampleStream stream(resampler, signals);
    for (int turn = 0; turn < 2; ++turn) {  // a stream takes several signals
        std::mt19937 generator(3);
        std::uniform_int_distribution<index_t> sizes(0, turn == 0 ? 40 : 5000);
        index_t done = 0, mismatches = 0;
        const auto compare = [&](const Volume& part) {
            const auto bytes = static_cast<std::size_t>(part.shape().x) * size_of(part.type());
            for (index_t s = 0; s < signals && part.shape().x > 0; ++s)
                mismatches +=
                    std::memcmp(part.view().at(0, s, 0), want.view().at(0, s, done), bytes) != 0;
            done += part.shape().x;
        };
        for (index_t at = 0; at < samples;) {
            const index_t size = std::min(sizes(generator), samples - at);
            compare(stream.push(subview(whole.view(), {{0, 0, at}, {1, signals, at + size}})));
            at += size;
        }
        compare(stream.finish());
        CHECK(done == want.shape().x);
        CHECK(mismatches == 0);
    }
}

TEST_CASE("streams through few taps, sample by sample, have the bits of one call") {
    const auto extension =
        GENERATE(SignalExtension::constant, SignalExtension::edge, SignalExtension::symmetric,
                 SignalExtension::reflect, SignalExtension::antisymmetric,
                 SignalExtension::antireflect, SignalExtension::smooth);
    const auto [up, down] = GENERATE(std::pair{1, 1}, std::pair{2, 3}, std::pair{3, 2});
    const index_t taps_count = GENERATE(1, 2, 5), block = GENERATE(1, 2, 4);
    constexpr index_t samples = 40;
    ResampleOptions options;
    options.up = up;
    options.down = down;
    options.extension = extension;
    options.origin = taps_count / 2;
    INFO(to_string(extension) << ", " << up << "/" << down << ", " << taps_count << " taps");
    const Volume taps = volume_of(random_values(taps_count, false, 11), 1, PixelType::float64);
    const Resampler resampler(taps.view(), options, PixelType::float32);
    const Volume whole = volume_of(random_values(samples, false, 12), 1, PixelType::float32);
    Volume want({1, 1, resampler.same_results(samples)}, resampler.result_type());
    resampler.execute(whole.view(), want.view());
    ResampleStream stream(resampler);
    std::vector<float> got;
    const auto append = [&](const Volume& part) {
        for (index_t i = 0; i < part.shape().x; ++i) got.push_back(part.elements<float>()[i]);
    };
    for (index_t at = 0; at < samples; at += block)
        append(stream.push(subview(whole.view(), {{0, 0, at}, {1, 1, at + block}})));
    append(stream.finish());
    REQUIRE(static_cast<index_t>(got.size()) == want.shape().x);
    CHECK(std::memcmp(got.data(), want.elements<float>(), got.size() * sizeof(float)) == 0);
}

TEST_CASE("NaN reaches only the results whose taps meet it") {
    const std::vector<float> taps = {1, 2, 3};
    std::vector<float> signal(100, 1);
    signal[50] = std::numeric_limits<float>::quiet_NaN();
    const Resampler resampler(view_of(taps.data(), {1, 1, 3}));
    std::vector<float> results(102);
    resampler.execute(view_of(std::as_const(signal).data(), {1, 1, 100}),
                      view_of(results.data(), {1, 1, 102}));
    for (std::size_t i = 0; i < results.size(); ++i)
        CHECK(std::isnan(results[i]) == (i >= 50 && i < 53));
}

TEST_CASE("resampling with any strides gives the same results") {
    const Volume signal = volume_of(random_values(3 * 500, false, 5), 3, PixelType::float32);
    const Volume straight = resample(signal.view(), 3, 2);
    std::vector<float> turned(1500), results(3 * 750);
    for (index_t s = 0; s < 3; ++s)
        for (index_t i = 0; i < 500; ++i)
            turned[static_cast<std::size_t>(3 * i + s)] = signal.view().at<float>(0, s, i);
    const std::vector<double> taps = resample_taps(3, 2);
    ResampleOptions options;
    options.up = 3;
    options.down = 2;
    options.origin = 30;
    const Resampler resampler(view_of(taps.data(), {1, 1, 61}), options);
    resampler.execute({turned.data(), PixelType::float32, {1, 3, 500}, {0, 1, 3}},
                      {results.data(), PixelType::float32, {1, 3, 750}, {0, 1, 3}});
    for (index_t s = 0; s < 3; ++s)
        for (index_t i = 0; i < 750; ++i)
            CHECK(results[static_cast<std::size_t>(3 * i + s)] ==
                  straight.view().at<float>(0, s, i));
}

TEST_CASE("resampling keeps tones below the new Nyquist frequency and removes those above") {
    const auto level = [](double frequency) {  // in cycles per sample
        std::vector<double> tone(20000);
        for (std::size_t i = 0; i < tone.size(); ++i)
            tone[i] = std::cos(2 * M_PI * frequency * static_cast<double>(i));
        const Volume halved = resample(view_of(std::as_const(tone).data(), {1, 1, 20000}), 1, 2);
        double power = 0;
        for (index_t i = 1000; i < 9000; ++i)
            power += std::pow(halved.view().at<double>(0, 0, i), 2) / 8000;
        return std::sqrt(2 * power);
    };
    CHECK(std::abs(level(0.2) - 1) < 3e-3);
    CHECK(level(0.3) < 3e-3);
}

TEST_CASE("resampling refuses what it cannot do") {
    const std::vector<float> taps = {1, 2};
    const ConstImageView filter = view_of(taps.data(), {1, 1, 2});
    const auto refused = [&](auto change, const char* words) {
        ResampleOptions options;
        change(options);
        const std::string sentence =
            testing::message_of<InvalidArgument>([&] { Resampler(filter, options); });
        CHECK(testing::contains(sentence, words));
    };
    refused([](auto& options) { options.up = 0; }, "from 1 to");
    refused([](auto& options) { options.down = index_t{1} << 31; }, "from 1 to");
    refused([](auto& options) { options.origin = 2; }, "numbered from 0 to 1");
    refused([](auto& options) { options.value = {0, 1}; }, "real signal");
    CHECK_THROWS_AS(resample_taps(3, 2, 0), InvalidArgument);
    CHECK_THROWS_AS(resample_taps(3, 2, 10, -1), InvalidArgument);
    const std::vector<float> bad = {1, std::numeric_limits<float>::infinity()};
    CHECK_THROWS_AS(Resampler(view_of(bad.data(), {1, 1, 2})), BadData);

    const Resampler resampler(filter);
    std::vector<float> results(2);
    const ImageView target = view_of(results.data(), {1, 1, 2});
    const std::vector<std::complex<float>> complex_signal(2);
    CHECK_THROWS_AS(resampler.execute(view_of(complex_signal.data(), {1, 1, 2}), target),
                    InvalidArgument);
    CHECK_THROWS_AS(resampler.execute(view_of(taps.data(), {1, 1, 0}), target), BadData);
    CHECK_THROWS_AS(resampler.execute(ConstImageView(target), target), InvalidArgument);
    ResampleStream stream(resampler);
    CHECK_THROWS_AS(stream.finish(), BadData);
    CHECK(stream.push(filter).shape().x == 2);
    const std::vector<double> other = {1, 2};
    CHECK_THROWS_AS(stream.push(view_of(other.data(), {1, 1, 2})), InvalidArgument);
    ResampleOptions wrapped;
    wrapped.extension = SignalExtension::wrap;
    const Resampler both_ends(filter, wrapped);
    CHECK_THROWS_AS(ResampleStream(both_ends), InvalidArgument);
}

}  // namespace convolume
