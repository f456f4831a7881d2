// SPDX-License-Identifier: Apache-2.0
// Tests filter banks whose signals and results are stored in 16 bits.

#include <cmath>
#include <cstring>

#include "tests/catch.hpp"
#include "tests/signals/short_case.hpp"
#include "tests/support/errors.hpp"
#include "tests/support/short_samples.hpp"

using namespace convolume;
using namespace convolume::testing;

namespace {

// Gives signals of a case in chunks, and takes its results.
struct ShortSource : SignalSource {
    explicit ShortSource(const ShortCase& c) : signals(c.signals), bytes(sample_bytes_of(c)) {}
    static index_t sample_bytes_of(const ShortCase& c) {
        return c.signals.bytes() / (c.bank.shape().signals * c.bank.shape().samples);
    }
    PixelType type() const override { return signals.view().type; }
    void read(index_t signal, index_t begin, index_t count, void* to) override {
        const auto* const row = static_cast<const char*>(signals.view().at(0, signal, 0));
        std::memcpy(to, row + begin * bytes, static_cast<std::size_t>(count * bytes));
    }
    const Volume& signals;
    index_t bytes;
};
struct ShortSink : ResultSink {
    ShortSink(const FilterBank& bank, index_t signals)
        : results({signals, bank.filters(), bank.result_samples() * bank.result_elements()},
                  bank.result_type()),
          bytes(results.bytes() / (signals * bank.filters() * bank.result_samples())) {}
    void write(index_t signal, index_t filter, index_t begin, index_t count,
               const void* from) override {
        auto* const row = static_cast<char*>(results.view().at(signal, filter, 0));
        std::memcpy(row + begin * bytes, from, static_cast<std::size_t>(count * bytes));
    }
    Volume results;
    index_t bytes;
};

}  // namespace

TEST_CASE("samples of 16 bits: every word is decoded and encoded by its definition") {
    for (const SampleStorage storage :
         {SampleStorage::float16, SampleStorage::bfloat16, SampleStorage::int16}) {
        INFO(to_string(storage));
        std::vector<std::uint16_t> words(1 << 16), back(1 << 16);
        std::vector<float> values(1 << 16);
        for (std::size_t i = 0; i < words.size(); ++i) words[i] = static_cast<std::uint16_t>(i);
        decode_samples(words.data(), 1 << 16, storage, values.data());
        const ClampCount clamped = encode_samples(values.data(), 1 << 16, storage, back.data());
        CHECK(clamped.low + clamped.high == 0);
        index_t wrong = 0;
        for (std::size_t i = 0; i < words.size(); ++i) {
            const double want = value_of(words[i], storage);
            if (std::isnan(want))
                wrong += std::isnan(values[i]) && std::isnan(value_of(back[i], storage)) ? 0 : 1;
            else
                wrong += static_cast<double>(values[i]) == want && back[i] == words[i] ? 0 : 1;
        }
        CHECK(wrong == 0);
    }
}

TEST_CASE("samples of 16 bits: values between them are rounded to the nearest, ties to even") {
    Random random(test_seed("values between samples of 16 bits"));
    for (const SampleStorage storage :
         {SampleStorage::float16, SampleStorage::bfloat16, SampleStorage::int16}) {
        INFO(to_string(storage));
        std::vector<float> values = {0,         -0.0F,     65519.9F, 65520,    65536,    1e38F,
                                     -1e38F,    3e-8F,     2.9e-8F,  6e-8F,    32767.5F, 32767.4F,
                                     -32768.5F, -32768.6F, INFINITY, -INFINITY};
        for (int word = 0; word < 0x7f00; ++word) {  // also the middle of neighbors, and beside it
            const auto low =
                static_cast<float>(value_of(static_cast<std::uint16_t>(word), storage));
            const auto high =
                static_cast<float>(value_of(static_cast<std::uint16_t>(word + 1), storage));
            if (!std::isfinite(low) || !std::isfinite(high)) continue;
            const float middle = low + (high - low) / 2;
            for (const float value :
                 {middle, std::nextafter(middle, low), std::nextafter(middle, high)}) {
                values.push_back(value);
                values.push_back(-value);
            }
        }
        for (int i = 0; i < 20000; ++i)
            values.push_back(static_cast<float>(
                std::ldexp(random.uniform() - 0.5, static_cast<int>(random.integer(-30, 20)))));
        std::vector<std::uint16_t> words(values.size());
        const ClampCount clamped = encode_samples(
            values.data(), static_cast<index_t>(values.size()), storage, words.data());
        index_t wrong = 0;
        ClampCount want;
        for (std::size_t i = 0; i < values.size(); ++i) {
            const double value = static_cast<double>(values[i]);
            wrong += words[i] == nearest_word(value, storage) ? 0 : 1;
            if (storage != SampleStorage::int16) continue;
            want.low += std::nearbyint(value) < -32768 ? 1 : 0;
            want.high += std::nearbyint(value) > 32767 ? 1 : 0;
        }
        CHECK(wrong == 0);
        CHECK(clamped.low == want.low);
        CHECK(clamped.high == want.high);
    }
}

TEST_CASE("filter bank: NaN is stored, or 0 in int16, which is counted") {
    const float nan[] = {NAN};
    std::uint16_t word = 0;
    CHECK(encode_samples(nan, 1, SampleStorage::float16, &word).low == 0);
    CHECK(std::isnan(value_of(word, SampleStorage::float16)));
    CHECK(encode_samples(nan, 1, SampleStorage::int16, &word).low == 1);
    CHECK(word == 0);
}

TEST_CASE("filter bank: signals and results of 16 bits agree with sums in double precision",
          "[long]") {
    const std::uint64_t seed = test_seed("storage of 16 bits");
    for (std::uint64_t number = 0; number < 200; ++number) {
        Random random(seed, number);
        ShortCase c = random_short_case(random);
        c.bank.options.method =
            random.pick({FilterMethod::automatic, FilterMethod::direct, FilterMethod::overlap_save,
                         FilterMethod::overlap_add, FilterMethod::partitioned});
        INFO("case " << number << ": " << c.describe());
        REQUIRE(run_short(c) == "");
    }
}

TEST_CASE("filter bank: streams of 16 bits have the results of signals in memory") {
    const std::uint64_t seed = test_seed("streams of 16 bits");
    for (std::uint64_t number = 0; number < 60; ++number) {
        Random random(seed, number);
        ShortCase c = random_short_case(random);
        c.bank.options.chunk = random.integer(1, 4000);
        INFO("case " << number << ": " << c.describe());
        const FilterBank bank = make_bank(c.bank);
        ShortSource source(c);
        ShortSink sink(bank, c.bank.shape().signals);
        const ExecutionReport report = bank.execute(source, sink);
        REQUIRE(short_defect(c, sink.results.view().data,
                             {report.clamped_low, report.clamped_high}) == "");
    }
}

TEST_CASE("filter bank: samples of 16 bits may be apart in memory, and NaN is refused or zero") {
    const std::vector<float> values = {1, 2, NAN, 4};
    std::vector<std::uint16_t> words(8, 0x7fff), results(4);
    for (std::size_t i = 0; i < 4; ++i)
        words[2 * i] = nearest_word(static_cast<double>(values[i]), SampleStorage::float16);
    const ConstImageView signal{words.data(), PixelType::uint16, {1, 1, 4}, {8, 8, 2}};
    const float taps[] = {2};
    FilterOptions options;
    options.signal_storage = options.result_storage = SampleStorage::float16;
    EngineChoice cpu;
    cpu.device = EngineChoice::Device::cpu;
    const auto filter = [&](NanPolicy nan) {
        options.nan = nan;
        const FilterBank bank({1, 4}, {view_of(taps, {1, 1, 1})}, options, cpu);
        return bank.execute(signal, view_of(results.data(), {1, 1, 4}));
    };
    CHECK(contains(message_of<BadData>([&] { filter(NanPolicy::error); }),
                   "signal 0 holds nan at sample 2"));
    CHECK(filter(NanPolicy::zero).nonfinite_inputs == 1);
    CHECK(results == std::vector<std::uint16_t>{0x4000, 0x4400, 0, 0x4800});
    filter(NanPolicy::propagate);
    CHECK(std::isnan(value_of(results[2], SampleStorage::float16)));
}

TEST_CASE("filter bank: storage that is not supported is refused with a reason") {
    const float taps[] = {1, 2};
    const auto refusal = [&](const auto& change) {
        FilterOptions options;
        options.result_storage = SampleStorage::float16;
        change(options);
        return message_of<InvalidArgument>([&] {
            const FilterBank bank({1, 8}, {view_of(taps, {1, 1, 2})}, options);
        });
    };
    CHECK(contains(refusal([](FilterOptions& o) { o.precision = Precision::float64; }),
                   "computed in float32"));
    CHECK(contains(refusal([](FilterOptions& o) {
                       o.window = {WindowPost::Kind::peak, 4};
                   }),
                   "peaks"));
    CHECK(contains(refusal([](FilterOptions& o) { o.result_scale = 2; }), "scale"));
    CHECK(contains(refusal([](FilterOptions& o) { o.signal_scale = -1; }), "above 0"));
    FilterOptions options;
    options.signal_storage = SampleStorage::float16;
    const FilterBank bank({1, 8}, {view_of(taps, {1, 1, 2})}, options);
    const std::vector<float> plain(8);
    std::vector<float> results(8);
    CHECK(contains(
        message_of<InvalidArgument>([&] {
            bank.execute(view_of(plain.data(), {1, 1, 8}), view_of(results.data(), {1, 1, 8}));
        }),
        "uint16 that store float16"));
    CHECK_THROWS_AS(decode_samples(plain.data(), 8, SampleStorage::plain, results.data()),
                    InvalidArgument);
}
