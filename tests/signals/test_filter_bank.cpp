// SPDX-License-Identifier: Apache-2.0
// Compares lengths, origins, modes, ranges and types with the definition.

#include <limits>
#include <thread>

#include "convolume/error.hpp"
#include "engines/engines.hpp"
#include "signals/filter_bank_factory.hpp"
#include "tests/catch.hpp"
#include "tests/signals/bank_case.hpp"
#include "tests/support/errors.hpp"

using namespace convolume;
using namespace convolume::testing;

namespace {

void require_right(const BankCase& c, const FilterEngineList& engines) {
    std::string wrong;
    try {
        wrong = run_in_memory(c, engines);
    } catch (const Error& error) {
        wrong = message("threw: ", error.what());
    }
    INFO(c.describe());
    INFO(wrong);
    REQUIRE(wrong.empty());
}

FilterOrigin random_origin(Random& random) {
    FilterOrigin origin;
    origin.kind = random.pick({FilterOrigin::Kind::center, FilterOrigin::Kind::causal,
                               FilterOrigin::Kind::anticausal, FilterOrigin::Kind::explicit_});
    if (origin.kind == FilterOrigin::Kind::explicit_) origin.index = random.integer(-20, 60);
    return origin;
}

}  // namespace

TEST_CASE("signals of 1 to 99 samples agree, with filters that are shorter, equal and longer") {
    Random random(test_seed("filter lengths"));
    const auto engines = cpu_filter_engines();
    for (index_t samples = 1; samples < 100; ++samples)
        for (const index_t taps : {index_t{1}, index_t{2}, index_t{5}, index_t{16}, samples,
                                   samples + 1, 2 * samples + 3}) {
            BankCase c = make_bank_case(random, samples, {taps}, random.chance(0.3));
            c.options.mode = random.pick({Mode::full, Mode::same, Mode::valid});
            if (taps > samples && c.options.mode == Mode::valid) c.options.mode = Mode::full;
            c.options.method = random.pick({FilterMethod::automatic, FilterMethod::direct,
                                            FilterMethod::overlap_save, FilterMethod::overlap_add,
                                            FilterMethod::partitioned});
            require_right(c, engines);
        }
}

TEST_CASE("random banks: all options agree with the definition") {
    const std::uint64_t seed = test_seed("filter banks");
    const auto engines = cpu_filter_engines();
    for (std::uint64_t n = 0; n < 400; ++n) {
        Random random(seed, n);
        const index_t samples =
            random.chance(0.8) ? random.integer(1, 300) : random.integer(300, 3000);
        std::vector<index_t> taps;
        for (index_t f = random.pick<index_t>({1, 1, 2, 3, 7}); f > 0; --f)
            taps.push_back(random.chance(0.1) ? random.integer(100, 600) : random.integer(1, 60));
        BankCase c = make_bank_case(random, samples, taps, random.chance(0.4));
        for (index_t s = random.pick<index_t>({0, 0, 0, 1, 4}); s > 0; --s)
            c.signals.push_back(make_bank_case(random, samples, {1}, c.complex_data).signals[0]);
        c.options.precision = random.pick({Precision::float32, Precision::float64});
        c.options.origin = random_origin(random);
        c.options.mode = random.pick({Mode::full, Mode::same, Mode::valid});
        c.options.post = random.pick({PointPost::none, PointPost::power, PointPost::derivative});
        c.options.method =
            random.pick({FilterMethod::automatic, FilterMethod::direct, FilterMethod::overlap_save,
                         FilterMethod::overlap_add, FilterMethod::partitioned});
        const double window = random.uniform();
        if (window < 0.2) c.options.window = {WindowPost::Kind::decimate, random.integer(1, 90)};
        // Peaks are tested in double only, where rounding does not move the oracle's peak.
        if (window > 0.7 && c.options.precision == Precision::float64 &&
            (!c.complex_data || c.options.post == PointPost::power))
            c.options.window = {WindowPost::Kind::peak,
                                random.pick<index_t>({1, 3, 50, 1000, 100000})};
        if (c.options.mode == Mode::valid) {
            BankCase longest = c;
            longest.options.mode = Mode::full;
            if (expected(longest).range.count() - samples + 1 > samples)
                c.options.mode = Mode::full;
        }
        if (random.chance(0.4)) {
            BankCase full = c;
            full.options.mode = Mode::full;
            const index_t count = expected(full).range.count();
            SampleRange range;
            range.begin = random.integer(0, count - 1);
            range.end = random.integer(range.begin + 1, count);
            c.options.range = range;
        }
        INFO("case " << n);
        require_right(c, engines);
    }
}

TEST_CASE("results do not depend on the segment") {
    Random random(test_seed("segments"));
    const auto engines = cpu_filter_engines();
    for (const bool complex_data : {false, true})
        for (const FilterMethod method :
             {FilterMethod::overlap_save, FilterMethod::overlap_add, FilterMethod::partitioned})
            for (const index_t segment : {64, 66, 96, 101, 105, 128, 225, 500, 1024, 4096}) {
                BankCase c = make_bank_case(random, 3000, {33, 20, 64}, complex_data);
                c.options.method = method;
                c.options.segment = segment;
                if (segment % 2 != 0 && method == FilterMethod::partitioned) continue;
                // The samples that centered filters of 20 and 64 taps read together are a few more
                // than 64.
                if (segment < 66 && method != FilterMethod::partitioned) continue;
                require_right(c, engines);
            }
}

TEST_CASE("mode same of N samples has N results, for all filters") {
    Random random(test_seed("same"));
    for (const auto& taps : std::vector<std::vector<index_t>>{{1}, {4}, {5}, {100}, {3, 4, 9}}) {
        BankCase c = make_bank_case(random, 10, taps);
        for (const auto kind : {FilterOrigin::Kind::center, FilterOrigin::Kind::causal,
                                FilterOrigin::Kind::anticausal, FilterOrigin::Kind::explicit_}) {
            c.options.origin = {kind, 200};
            CHECK(make_bank(c).result_samples() == 10);
            require_right(c, cpu_filter_engines());
        }
    }
}

TEST_CASE("a bank in one view, integer signals, strides and gaps between results agree") {
    Random random(test_seed("views"));
    // The rows of one view are the filters; the signal is every other sample of a row of uint8.
    const Array taps = random.array({1, 3, 7}, false);
    const Array samples = random.integers({1, 2, 2 * 50}, 0, 255);
    const Volume bank_volume = to_volume(taps, PixelType::float64);
    const Volume bytes = to_volume(samples, PixelType::uint8);
    ConstImageView signals = bytes.view();
    signals.shape.x = 50;
    signals.strides.x = 2;
    const FilterBank bank =
        FilterBankFactory::make({2, 50}, {bank_volume.view()}, {}, cpu_filter_engines());
    CHECK(bank.filters() == 3);
    CHECK(bank.taps() == 7);
    CHECK(bank.range() == SampleRange{3, 53});
    Volume wide({2, 3, 60}, PixelType::float32);
    poison(wide.view());
    const ImageView results = subview(wide.view(), {{0, 0, 5}, {2, 3, 55}});
    bank.execute(signals, results);
    BankCase c;
    for (index_t f = 0; f < 3; ++f) {
        Row row;
        for (index_t k = 0; k < 7; ++k) row.push_back(taps(0, f, k));
        c.bank.push_back(row);
    }
    for (index_t s = 0; s < 2; ++s) {
        Row row;
        for (index_t i = 0; i < 50; ++i) row.push_back(samples(0, s, 2 * i));
        c.signals.push_back(row);
    }
    const std::string wrong = defect(c, results, nullptr);
    INFO(wrong);
    CHECK(wrong.empty());
    for (index_t f = 0; f < 3; ++f)
        for (const index_t x : {0, 4, 55, 59})
            CHECK(std::isnan(wide.elements<float>()[f * 60 + x]));

    // Peaks with gaps between their values but not between their positions.
    FilterOptions options;
    options.window = {WindowPost::Kind::peak, 10};
    const FilterBank peaks =
        FilterBankFactory::make({2, 50}, {bank_volume.view()}, options, cpu_filter_engines());
    std::vector<index_t> positions(2 * 3 * 5, -1);
    peaks.execute(signals, subview(wide.view(), {{0, 0, 5}, {2, 3, 10}}), positions.data());
    c.options = options;
    const std::string wrong_peaks =
        defect(c, subview(wide.view(), {{0, 0, 5}, {2, 3, 10}}), positions.data());
    INFO(wrong_peaks);
    CHECK(wrong_peaks.empty());
}

TEST_CASE("long signals are converted in chunks") {
    constexpr index_t count = 3000000, signals = 3;
    Volume bytes({1, signals, count}, PixelType::uint8);
    auto* const samples = bytes.elements<std::uint8_t>();
    for (index_t i = 0; i < signals * count; ++i)
        samples[i] = static_cast<std::uint8_t>(i * 7919 % 65521 % 251);
    Volume delay({1, 1, 2}, PixelType::float32);
    delay.elements<float>()[1] = 1;
    FilterOptions options;
    options.method = FilterMethod::direct;
    options.origin.kind = FilterOrigin::Kind::causal;
    for (const index_t window : {1, 1000}) {
        options.window = {window == 1 ? WindowPost::Kind::none : WindowPost::Kind::peak, window};
        const FilterBank bank = FilterBankFactory::make({signals, count}, {delay.view()}, options,
                                                        cpu_filter_engines());
        const index_t stored = bank.result_samples();
        Volume results({signals, 1, stored}, PixelType::float32);
        std::vector<index_t> positions(static_cast<std::size_t>(signals * stored));
        double last = 0;
        ExecutionContext context;
        context.progress = [&](double done) { last = done; };
        bank.execute(bytes.view(), results.view(), window == 1 ? nullptr : positions.data(),
                     context);
        CHECK(last == 1);
        index_t wrong = 0;
        for (index_t s = 0; s < signals; ++s) {
            const auto y = [&](index_t n) { return n == 0 ? 0 : samples[s * count + n - 1]; };
            for (index_t w = 0; w < stored; ++w) {
                index_t best = w * window;
                for (index_t n = best; n < (w + 1) * window; ++n)
                    if (y(n) > y(best)) best = n;
                const index_t at = s * stored + w;
                const bool here = window == 1 || positions[static_cast<std::size_t>(at)] == best;
                if (!here || results.elements<float>()[at] != static_cast<float>(y(best))) ++wrong;
            }
        }
        CHECK(wrong == 0);
    }
}

TEST_CASE("filter_signals() applies complex filters to a real signal in one call") {
    Random random(test_seed("mixed"));
    const Array taps = random.array({1, 2, 9}, true);
    const Array samples = random.array({1, 1, 77}, false);
    FilterOptions options;
    options.mode = Mode::full;
    const Volume results = filter_signals(to_volume(samples, PixelType::float32).view(),
                                          to_volume(taps, PixelType::complex64).view(), options);
    CHECK(results.type() == PixelType::complex64);
    BankCase c;
    c.options = options;
    c.complex_data = true;
    c.signals.push_back({samples.values.begin(), samples.values.end()});
    c.bank.push_back({taps.values.begin(), taps.values.begin() + 9});
    c.bank.push_back({taps.values.begin() + 9, taps.values.end()});
    const std::string wrong = defect(c, results.view(), nullptr);
    INFO(wrong);
    CHECK(wrong.empty());
}

TEST_CASE("windows longer than the result act as one window") {
    Random random(test_seed("long windows"));
    for (const auto kind : {WindowPost::Kind::decimate, WindowPost::Kind::peak})
        for (const index_t length :
             {index_t{10001}, index_t{1} << 40, std::numeric_limits<index_t>::max()}) {
            BankCase c = make_bank_case(random, 10000, {5, 8});
            c.options.window = {kind, length};
            c.options.precision = Precision::float64;
            c.options.range = SampleRange{3, 10003};
            require_right(c, cpu_filter_engines());
            // Repeats the case with a float32 signal, which the bank converts to float64.
            const FilterBank bank = make_bank(c);
            CHECK(bank.result_samples() == 1);
            Volume results({1, 2, 1}, PixelType::float64);
            bank.execute(signals_of(c, PixelType::float32).view(), results.view());
            CHECK(defect(c, results.view(), nullptr).empty());
        }
}

TEST_CASE("several threads execute one bank") {
    Random random(test_seed("threads"));
    for (const FilterMethod method : {FilterMethod::direct, FilterMethod::overlap_save,
                                      FilterMethod::overlap_add, FilterMethod::partitioned}) {
        BankCase c = make_bank_case(random, 5000, {33, 20, 64});
        c.options.method = method;
        c.options.post = PointPost::power;
        const FilterBank bank = make_bank(c);
        const Volume signals = signals_of(c, c.sample_type());
        std::vector<std::string> wrong(4);
        {
            std::vector<std::jthread> threads;
            for (std::string& text : wrong)
                threads.emplace_back([&] {
                    for (int n = 0; n < 5 && text.empty(); ++n) {
                        Volume results({1, bank.filters(), bank.result_samples()},
                                       bank.result_type());
                        bank.execute(signals.view(), results.view());
                        text = defect(c, results.view(), nullptr);
                    }
                });
        }
        CHECK(wrong == std::vector<std::string>(4));
    }
}

TEST_CASE("memory depends on the results, not on the longest tile") {
    Random random(test_seed("tiles"));
    for (const FilterMethod method : {FilterMethod::overlap_add, FilterMethod::partitioned}) {
        BankCase c = make_bank_case(random, 1000, {600, 600, 600});
        c.options.method = method;
        c.options.segment = 8192;
        c.options.post = PointPost::power;
        c.options.range = SampleRange{500, 520};
        const index_t before = memory_use().current_bytes;
        reset_memory_peak();
        require_right(c, cpu_filter_engines(1));
        CHECK(memory_use().peak_bytes - before < 2 << 20);
    }
}

TEST_CASE("the plan has the shortest predicted time, and is readable") {
    Random random(test_seed("filter plan"));
    BankCase c = make_bank_case(random, 100000, {33, 33});
    const FilterPlan chosen = make_bank(c).plan();
    CHECK(contains(chosen.to_string(), to_string(chosen.method)));
    for (const FilterMethod method : {FilterMethod::direct, FilterMethod::overlap_save,
                                      FilterMethod::overlap_add, FilterMethod::partitioned}) {
        c.options.method = method;
        const FilterPlan forced = make_bank(c).plan();
        CHECK(forced.method == method);
        CHECK(forced.seconds >= chosen.seconds);
        CHECK(forced.engine == "cpu:0");
    }
}
