// SPDX-License-Identifier: Apache-2.0
// Compares polyphase filter banks with their definition in double precision.

#include <cmath>
#include <cstring>
#include <numbers>

#include "convolume/channelizer.hpp"
#include "convolume/error.hpp"
#include "tests/catch.hpp"
#include "tests/support/errors.hpp"
#include "tests/support/filter_oracle.hpp"
#include "tests/support/random.hpp"

using namespace convolume;
using namespace convolume::testing;

namespace {

std::size_t at(index_t i) {
    return static_cast<std::size_t>(i);
}

std::complex<double> root(index_t k, index_t n) {
    return std::polar(1.0,
                      2 * std::numbers::pi * static_cast<double>(k % n) / static_cast<double>(n));
}

struct Case {
    ChannelizerOptions options;
    PixelType type = PixelType::complex64;
    index_t samples = 0;
    Row signal;  // what the samples of `data` mean
    Volume data;

    index_t step() const { return options.step == 0 ? options.channels : options.step; }
    std::string describe() const {
        return message(samples, " samples of type ", to_string(type), options.interleaved, ", M ",
                       options.channels, ", D ", step(), ", P ", options.taps_per_channel,
                       ", taps ", options.prototype.size(), ", first ", options.first,
                       ", precision ", to_string(options.precision));
    }
};

Case random_case(Random& random, index_t channels, index_t taps_per_channel, index_t samples) {
    Case c;
    ChannelizerOptions& options = c.options;
    options.channels = channels;
    options.taps_per_channel = taps_per_channel;
    options.step = random.chance(0.4) ? 0 : random.integer(1, channels);
    options.first = random.chance(0.5) ? 0 : random.integer(0, 2 * channels);
    if (random.chance(0.3)) {
        options.prototype.resize(at(random.integer(1, channels * taps_per_channel)));
        for (double& tap : options.prototype) tap = random.uniform() - 0.5;
    }
    options.precision = random.pick({Precision::float32, Precision::float64});
    c.type = random.pick({PixelType::int8, PixelType::int16, PixelType::float32, PixelType::float64,
                          PixelType::complex64, PixelType::complex128});
    options.interleaved = !is_complex(c.type) && random.chance(0.5);
    c.samples = samples;
    const index_t numbers = options.interleaved ? 2 * samples : samples;
    c.data = Volume({1, 1, numbers}, c.type);
    Row all;
    for (index_t i = 0; i < numbers; ++i)
        visit_pixel_type(c.type, [&](auto tag) {
            using T = typename decltype(tag)::type;
            T* const to = static_cast<T*>(c.data.view().at(0, 0, i));
            const auto part = [&] { return std::round(200 * (random.uniform() - 0.5)); };
            if constexpr (std::is_same_v<T, std::complex<float>> ||
                          std::is_same_v<T, std::complex<double>>) {
                const double re = part(), im = part();
                *to = {static_cast<typename T::value_type>(re),
                       static_cast<typename T::value_type>(im)};
                all.emplace_back(re, im);
            } else {
                const double value = part();
                *to = static_cast<T>(value);
                all.emplace_back(value);
            }
        });
    for (index_t t = 0; t < samples; ++t)
        c.signal.push_back(options.interleaved ? std::complex<double>(all[at(2 * t)].real(),
                                                                      all[at(2 * t + 1)].real())
                                               : all[at(t)]);
    return c;
}

// Frame n by its definition.
Row frame_of(const Case& c, index_t n, index_t stored) {
    const index_t channels = c.options.channels, last = c.options.first + n * c.step();
    std::vector<double> taps = c.options.prototype;
    if (taps.empty()) taps = prototype_filter(channels, c.options.taps_per_channel);
    Row frame;
    for (index_t m = 0; m < stored; ++m) {
        std::complex<double> sum = 0;
        for (index_t l = 0; l < static_cast<index_t>(taps.size()); ++l)
            if (last - l >= 0 && last - l < c.samples)
                sum += taps[at(l)] * c.signal[at(last - l)] *
                       std::conj(root(m * ((last - l) % channels), channels));
        frame.push_back(sum);
    }
    return frame;
}

Row frames_row(const Volume& frames, index_t n) {
    Row row;
    for (index_t m = 0; m < frames.shape().x; ++m)
        row.push_back(frames.type() == PixelType::complex64
                          ? std::complex<double>(frames.view().at<std::complex<float>>(0, n, m))
                          : frames.view().at<std::complex<double>>(0, n, m));
    return row;
}

Volume divided(const Case& c, const Channelizer& channelizer, bool tail) {
    Volume frames({1, channelizer.frames(c.samples, tail), channelizer.plan().stored_channels},
                  channelizer.plan().frame_type);
    channelizer.execute(c.data.view(), frames.view());
    return frames;
}

bool same_bytes(const Volume& a, const Volume& b) {
    return a.bytes() == b.bytes() &&
           std::memcmp(a.view().data, b.view().data, static_cast<std::size_t>(a.bytes())) == 0;
}

}  // namespace

TEST_CASE("random channelizers agree with the definition") {
    const std::uint64_t seed = test_seed("channelizers");
    for (std::uint64_t n = 0; n < 150; ++n) {
        Random random(seed, n);
        const index_t channels =
            random.pick<index_t>({1, 2, 3, 4, 5, 7, 8, 12, 16, 17, 31, 34, 64});
        const Case c = random_case(random, channels, random.integer(1, 9), random.integer(1, 700));
        INFO("case " << n << ": " << c.describe());
        const Channelizer channelizer(c.options, c.type);
        const Volume frames = divided(c, channelizer, random.chance(0.5));
        double level = 0;
        for (index_t f = 0; f < frames.shape().y; ++f)
            level = std::max(level, norm(frame_of(c, f, frames.shape().x)));
        const double bound = c.options.precision == Precision::float32 ? 1e-6 : 1e-14;
        for (index_t f = 0; f < frames.shape().y; ++f) {
            const Row want = frame_of(c, f, frames.shape().x), got = frames_row(frames, f);
            double error = 0;
            for (std::size_t m = 0; m < want.size(); ++m) error += std::norm(want[m] - got[m]);
            INFO("frame " << f << " of " << frames.shape().y);
            REQUIRE(std::sqrt(error) <= bound * std::max(level, 1e-3));
        }
    }
}

TEST_CASE("long transforms agree with the definition") {
    Random random(test_seed("long transforms"));
    for (const index_t channels : {index_t{2048}, index_t{4096}, index_t{6000}}) {
        Case c = random_case(random, channels, 3, 5 * channels);
        c.options.prototype.clear();
        const Channelizer channelizer(c.options, c.type);
        const Volume frames = divided(c, channelizer, false);
        const index_t f = frames.shape().y - 1;
        const Row got = frames_row(frames, f);
        const Row want = frame_of(c, f, 20);
        for (std::size_t m = 0; m < want.size(); ++m) CHECK(std::abs(want[m] - got[m]) < 1e-3);
    }
}

TEST_CASE("blocks of any size give the frames of one call, bit by bit") {
    const std::uint64_t seed = test_seed("blocks of a stream");
    for (std::uint64_t n = 0; n < 60; ++n) {
        Random random(seed, n);
        const index_t channels = random.pick<index_t>({1, 2, 5, 8, 15, 16, 34, 64});
        const Case c = random_case(random, channels, random.integer(1, 6), random.integer(1, 3000));
        INFO("case " << n << ": " << c.describe());
        const Channelizer channelizer(c.options, c.type);
        const Volume whole = divided(c, channelizer, false);
        ChannelizerStream stream(channelizer);
        Volume parts(whole.shape(), whole.type());
        const index_t numbers = c.options.interleaved ? 2 : 1;
        index_t done = 0;
        for (index_t begin = 0; begin < c.samples;) {
            const index_t count =
                std::min(c.samples - begin, random.integer(0, random.pick<index_t>({3, 50, 1000})));
            const index_t frames = stream.frames(count);
            stream.push(subview(c.data.view(),
                                {{0, 0, numbers * begin}, {1, 1, numbers * (begin + count)}}),
                        subview(parts.view(), {{0, done, 0}, {1, done + frames, whole.shape().x}}));
            done += frames;
            begin += count;
        }
        REQUIRE(done == whole.shape().y);
        CHECK(same_bytes(whole, parts));
    }
}

TEST_CASE("threads do not change frames") {
    Random random(test_seed("threads"));
    Case c = random_case(random, 32, 4, 40000);
    EngineChoice one, three;
    one.threads = 1;
    three.threads = 3;
    CHECK(same_bytes(divided(c, Channelizer(c.options, c.type, one), true),
                     divided(c, Channelizer(c.options, c.type, three), true)));
}

TEST_CASE("oversampled signals are reconstructed, also in blocks") {
    const std::uint64_t seed = test_seed("reconstruction");
    struct Bank {
        index_t channels, step, taps;
    };
    for (const Bank& bank : {Bank{16, 8, 6}, Bank{12, 6, 4}, Bank{15, 5, 5}, Bank{32, 10, 3},
                             Bank{8, 1, 2}, Bank{5, 2, 4}, Bank{64, 32, 8}, Bank{10, 9, 1}})
        for (const bool complex_data : {true, false}) {
            Random random(seed, static_cast<std::uint64_t>(bank.channels));
            ChannelizerOptions options;
            options.channels = bank.channels;
            options.step = bank.step;
            options.taps_per_channel = bank.taps;
            options.precision = Precision::float64;
            const index_t samples = 1000;
            const PixelType type = complex_data ? PixelType::complex128 : PixelType::float64;
            INFO("M " << bank.channels << ", D " << bank.step << ", P " << bank.taps << ", complex "
                      << complex_data);
            Volume signal({1, 1, samples}, type);
            auto* const numbers = static_cast<double*>(signal.view().data);
            for (index_t i = 0; i < (complex_data ? 2 : 1) * samples; ++i)
                numbers[i] = random.uniform() - 0.5;
            const Channelizer channelizer(options, type);
            const Synthesizer synthesizer(options, type);
            CHECK(synthesizer.error().value() < 1e-9);
            const index_t count = channelizer.frames(samples, true);
            Volume frames({1, count, channelizer.plan().stored_channels}, PixelType::complex128);
            channelizer.execute(signal.view(), frames.view());
            Volume again({1, 1, samples}, type);
            synthesizer.execute(frames.view(), again.view());
            double error = 0;
            for (index_t i = 0; i < (complex_data ? 2 : 1) * samples; ++i)
                error = std::max(
                    error, std::abs(numbers[i] - static_cast<const double*>(again.view().data)[i]));
            CHECK(error < 1e-8);

            SynthesizerStream stream(synthesizer);
            const index_t determined = synthesizer.samples(count);
            Volume parts({1, 1, determined}, type), whole({1, 1, determined}, type);
            synthesizer.execute(frames.view(), whole.view());
            index_t done = 0;
            for (index_t begin = 0; begin < count;) {
                const index_t some = std::min(count - begin, random.integer(0, 9));
                const index_t given = stream.samples(some);
                stream.push(
                    subview(frames.view(), {{0, begin, 0}, {1, begin + some, frames.shape().x}}),
                    subview(parts.view(), {{0, 0, done}, {1, 1, done + given}}));
                begin += some;
                done += given;
            }
            REQUIRE(done == determined);
            CHECK(same_bytes(whole, parts));
        }
}

TEST_CASE("the error of a critically sampled reconstruction is stated") {
    const std::vector<double> taps = prototype_filter(32, 8);
    const double critical = dual_prototype(taps, 32, 32).error;
    const double close = dual_prototype(taps, 32, 24).error;
    CHECK(critical > 0.01);
    CHECK(critical < 0.6);
    CHECK(close < critical);
    CHECK(dual_prototype(taps, 32, 16).error < 1e-12);

    // The stated error is that of white noise.
    Random random(test_seed("critical reconstruction"));
    ChannelizerOptions options;
    options.channels = 32;
    options.precision = Precision::float64;
    const index_t samples = 64000;
    Volume signal({1, 1, samples}, PixelType::float64), again({1, 1, samples}, PixelType::float64);
    double power = 0, lost = 0;
    for (index_t t = 0; t < samples; ++t) signal.elements<double>()[t] = random.uniform() - 0.5;
    const Channelizer channelizer(options, PixelType::float64);
    Volume frames({1, channelizer.frames(samples, true), 17}, PixelType::complex128);
    channelizer.execute(signal.view(), frames.view());
    const Synthesizer synthesizer(options, PixelType::float64);
    synthesizer.execute(frames.view(), again.view());
    for (index_t t = 0; t < samples; ++t) {
        power += std::pow(signal.elements<double>()[t], 2);
        lost += std::pow(signal.elements<double>()[t] - again.elements<double>()[t], 2);
    }
    CHECK(std::abs(std::sqrt(lost / power) / critical - 1) < 0.05);
}

TEST_CASE("several signals, strides and NaN") {
    ChannelizerOptions options;
    options.channels = 4;
    options.taps_per_channel = 3;
    Volume signals({1, 2, 100}, PixelType::float32);
    for (index_t t = 0; t < 200; ++t) signals.elements<float>()[t] = static_cast<float>(t % 13);
    Volume both({2, 25, 3}, PixelType::complex64), second({1, 25, 3}, PixelType::complex64);
    const Channelizer channelizer(options, PixelType::float32);
    channelizer.execute(signals.view(), both.view());
    channelizer.execute(subview(signals.view(), {{0, 1, 0}, {1, 2, 100}}), second.view());
    CHECK(std::memcmp(both.view().at(1, 0, 0), second.view().data, 25 * 3 * 8) == 0);

    signals.view().at<float>(0, 1, 57) = std::nanf("");
    CHECK(contains(message_of<BadData>([&] { channelizer.execute(signals.view(), both.view()); }),
                   "signal 1 holds nan at sample 57"));
    options.nan = NanPolicy::zero;
    const Channelizer zeros(options, PixelType::float32);
    CHECK(zeros.execute(signals.view(), both.view()).nonfinite_inputs == 1);
    signals.view().at<float>(0, 1, 57) = 0;
    Volume want({2, 25, 3}, PixelType::complex64);
    zeros.execute(signals.view(), want.view());
    CHECK(same_bytes(want, both));
}

TEST_CASE("options that contradict are one sentence") {
    const auto refused = [](const ChannelizerOptions& options,
                            PixelType type = PixelType::complex64) {
        return message_of<InvalidArgument>([&] { const Channelizer made(options, type); });
    };
    ChannelizerOptions options;
    CHECK(contains(refused(options), "0 channels"));
    options.channels = 8;
    options.step = 9;
    CHECK(contains(refused(options), "a step of 9 samples"));
    options.step = 0;
    options.taps_per_channel = 0;
    CHECK(contains(refused(options), "0 taps per channel"));
    options.taps_per_channel = 2;
    options.first = -1;
    CHECK(contains(refused(options), "sample -1"));
    options.first = 0;
    options.interleaved = true;
    CHECK(contains(refused(options), "complex already"));
    options.interleaved = false;
    options.prototype = {1, std::nan("")};
    CHECK(contains(message_of<BadData>([&] { const Channelizer made(options); }), "at tap 1"));
    options.prototype.clear();
    EngineChoice gpu;
    gpu.device = EngineChoice::Device::gpu;
    CHECK_THROWS_AS(Channelizer(options, PixelType::complex64, gpu), Unavailable);
    CHECK(contains(message_of<InvalidArgument>([] { parse_prototype_window("kaiser"); }),
                   "kaiser:BETA"));
    CHECK(to_string(parse_prototype_window("kaiser:8.5")) == "kaiser:8.5");

    const Channelizer channelizer(options);
    Volume signal({1, 1, 16}, PixelType::complex64), frames({1, 9, 8}, PixelType::complex64);
    CHECK(contains(
        message_of<InvalidArgument>([&] { channelizer.execute(signal.view(), frames.view()); }),
        "at most 4 frames"));
    ChannelizerStream stream(channelizer);
    CHECK(contains(message_of<InvalidArgument>([&] { stream.push(signal.view(), frames.view()); }),
                   "gives 2 now"));
}
