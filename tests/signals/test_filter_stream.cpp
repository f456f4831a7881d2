// SPDX-License-Identifier: Apache-2.0
// Tests filtering from source to sink: the results equal those in memory, memory stays within its
// limit, and stops and failures end it.

#include <atomic>
#include <cstring>
#include <functional>
#include <limits>
#include <optional>

#include "convolume/error.hpp"
#include "convolume/filter_options.hpp"
#include "signals/filter_bank_factory.hpp"
#include "tests/catch.hpp"
#include "tests/signals/bank_case.hpp"
#include "tests/support/errors.hpp"

using namespace convolume;
using namespace convolume::testing;

namespace {

class HeldSignals : public SignalSource {
  public:
    explicit HeldSignals(const Volume& signals) : signals_(signals) {}
    PixelType type() const override { return signals_.type(); }
    void read(index_t signal, index_t begin, index_t count, void* to) override {
        if (begin < 0 || count < 1 || begin + count > signals_.shape().x)
            throw InternalError("samples outside the signal were asked for");
        if (reads++ == fail_at) throw IoError("the disk is gone");
        samples_read += count;
        std::memcpy(to, signals_.view().at(0, signal, begin),
                    static_cast<std::size_t>(count) * size_of(type()));
    }
    index_t reads = 0;
    index_t fail_at = -1;
    index_t samples_read = 0;

  private:
    const Volume& signals_;
};

class MemorySink : public ResultSink {
  public:
    MemorySink(const FilterBank& bank)
        : results({bank.signal_shape().signals, bank.filters(), bank.result_samples()},
                  bank.result_type()),
          positions(static_cast<std::size_t>(element_count(results.shape())), -12345) {
        poison(results.view());
    }
    void write(index_t signal, index_t filter, index_t begin, index_t count,
               const void* from) override {
        if (writes++ == fail_at) throw IoError("the disk is full");
        if (before_write) before_write();
        std::memcpy(results.view().at(signal, filter, begin), from,
                    static_cast<std::size_t>(count) * size_of(results.type()));
    }
    void write_positions(index_t signal, index_t filter, index_t begin, index_t count,
                         const index_t* from) override {
        std::copy(
            from, from + count,
            positions.data() + (signal * results.shape().y + filter) * results.shape().x + begin);
    }
    Volume results;
    std::vector<index_t> positions;
    index_t writes = 0;
    std::function<void()> before_write;
    index_t fail_at = -1;
};

}  // namespace

TEST_CASE("streaming gives the results of arrays in memory, and stays within its memory limit") {
    const std::uint64_t seed = test_seed("filter stream");
    int divided = 0;
    for (std::uint64_t n = 0; n < 150; ++n) {
        Random random(seed, n);
        BankCase c =
            make_bank_case(random, random.integer(1, 30000),
                           {random.integer(1, 60), random.integer(1, 60)}, random.chance(0.3));
        for (index_t s = random.pick<index_t>({0, 0, 1, 9}); s > 0; --s)
            c.signals.push_back(
                make_bank_case(random, c.shape().samples, {1}, c.complex_data).signals[0]);
        c.options.precision = random.pick({Precision::float32, Precision::float64});
        c.options.mode = random.pick({Mode::full, Mode::same});
        c.options.post = random.pick({PointPost::none, PointPost::power, PointPost::derivative});
        const double window = random.uniform();
        if (window < 0.3)
            c.options.window = {WindowPost::Kind::decimate,
                                random.pick<index_t>({2, 100, 7000, 100000})};
        if (window > 0.6 && (!c.complex_data || c.options.post == PointPost::power))
            c.options.window = {WindowPost::Kind::peak,
                                random.pick<index_t>({1, 100, 7000, 100000})};
        c.options.max_host_bytes = random.integer(500000, 1500000);
        INFO("case " << n << ": " << c.describe());

        // All these types hold the data exactly.
        const PixelType type = random.chance(0.5) ? c.sample_type()
                               : c.complex_data   ? PixelType::complex64
                                                  : PixelType::float32;
        const Volume signals = signals_of(c, type);
        HeldSignals source(signals);
        const index_t before = memory_use().current_bytes;
        const FilterBank bank = make_bank(c, cpu_filter_engines(1));
        MemorySink sink(bank);
        const index_t result_bytes = sink.results.bytes();
        reset_memory_peak();
        ExecutionContext context;
        double last = 0;
        context.progress = [&](double done) {
            CHECK(done >= last);
            last = done;
        };
        bank.execute(source, sink, context);
        CHECK(last == 1.0);
        const index_t used = memory_use().peak_bytes - before - Buffer::rounded_bytes(result_bytes);
        CHECK(used <= *c.options.max_host_bytes + 4096);
        CHECK(bank.plan().stream_bytes <= *c.options.max_host_bytes);
        if (bank.plan().chunk < bank.range().count()) ++divided;
        const bool peaks = c.options.window.kind == WindowPost::Kind::peak;
        const std::string wrong =
            defect(c, sink.results.view(), peaks ? sink.positions.data() : nullptr);
        INFO(wrong);
        REQUIRE(wrong.empty());
        // Overlapping samples are read once; decimation skips some.
        CHECK(source.samples_read <= c.shape().signals * c.shape().samples);
    }
    CHECK(divided > 10);
}

namespace {

/// A source that does not tell the length of its signal.
class EndlessSource : public HeldSignals {
  public:
    explicit EndlessSource(const Volume& signal)
        : HeldSignals(signal), samples_(signal.shape().x) {}
    index_t read_until_end(index_t signal, index_t begin, index_t count, void* to) override {
        if (begin < next_) throw InternalError("samples were asked for again");
        const index_t available = std::min(count, samples_ - begin);
        next_ = begin + std::max<index_t>(available, 0);
        if (available > 0) read(signal, begin, available, to);
        return available;
    }

  private:
    index_t samples_;
    index_t next_ = 0;
};

/// A sink that stores results in the order of their arrival.
class GrowingSink : public ResultSink {
  public:
    GrowingSink(MemorySink& sink, index_t room) : sink_(sink), room_(room) {}
    void write(index_t signal, index_t filter, index_t begin, index_t count,
               const void* from) override {
        if (begin + count > room_) throw InternalError("results beyond the end of the signal");
        sink_.write(signal, filter, begin, count, from);
    }
    void write_positions(index_t signal, index_t filter, index_t begin, index_t count,
                         const index_t* from) override {
        sink_.write_positions(signal, filter, begin, count, from);
    }

  private:
    MemorySink& sink_;
    index_t room_;
};

}  // namespace

TEST_CASE("a stop ends the writing between two results of a chunk") {
    constexpr index_t filters = 40;
    Volume taps({1, filters, 9}, PixelType::float32);
    std::fill_n(taps.elements<float>(), filters * 9, 1.0F);
    EngineChoice cpu;
    cpu.device = EngineChoice::Device::cpu;
    const FilterBank bank({1, 500}, {taps.view()}, {}, cpu);
    const Volume signal({1, 1, 500}, PixelType::float32);
    HeldSignals source(signal);
    MemorySink sink(bank);
    std::stop_source stop;
    sink.before_write = [&] { stop.request_stop(); };
    ExecutionContext context;
    context.stop = stop.get_token();
    CHECK_THROWS_AS(bank.execute(source, sink, context), Cancelled);
    CHECK(sink.writes == 1);
}

TEST_CASE("a signal of unknown length gives the results of one of known length") {
    const std::uint64_t seed = test_seed("unknown length");
    for (std::uint64_t n = 0; n < 200; ++n) {
        Random random(seed, n);
        const index_t samples = random.pick<index_t>({1, 2, 63, 64, 65, random.integer(1, 5000)});
        BankCase c = make_bank_case(random, samples, {random.integer(1, 60), random.integer(1, 60)},
                                    random.chance(0.3));
        c.options.mode = random.pick({Mode::full, Mode::same, Mode::same, Mode::valid});
        c.options.origin = {FilterOrigin::Kind::explicit_,
                            random.pick<index_t>({-100, -1, 0, 1, 30, 59, 200})};
        c.options.post = random.pick({PointPost::none, PointPost::power, PointPost::derivative});
        c.options.chunk = random.pick<index_t>({1, 7, 64, 1000, 100000});
        if (samples > 1000) c.options.chunk = std::max<index_t>(c.options.chunk, 64);
        const double window = random.uniform();
        if (window < 0.3)
            c.options.window = {WindowPost::Kind::decimate, random.pick<index_t>({2, 100, 7000})};
        if (window > 0.6 && (!c.complex_data || c.options.post == PointPost::power))
            c.options.window = {WindowPost::Kind::peak, random.pick<index_t>({1, 100, 7000})};
        INFO("case " << n << ": " << c.describe());

        const Volume signal = signals_of(c, c.sample_type());
        const FilterBank unknown = make_bank(c, cpu_filter_engines(1), {1, unknown_samples});
        EndlessSource source(signal);
        std::optional<FilterBank> known;
        try {
            known.emplace(make_bank(c));
        } catch (const InvalidArgument&) {  // mode valid has no results
            MemorySink none(make_bank([&] {
                BankCase other = c;
                other.options.mode = Mode::full;
                return other;
            }()));
            CHECK_THROWS_AS(unknown.execute(source, none), InvalidArgument);
            continue;
        }
        MemorySink results(*known);
        GrowingSink sink(results, known->result_samples());
        unknown.execute(source, sink);
        const bool peaks = c.options.window.kind == WindowPost::Kind::peak;
        const std::string wrong =
            defect(c, results.results.view(), peaks ? results.positions.data() : nullptr);
        INFO(wrong);
        REQUIRE(wrong.empty());
    }
}

TEST_CASE("a limit that is too small for any plan is an error before data are read") {
    Random random(test_seed("stream limit"));
    BankCase c = make_bank_case(random, 1000, {31});
    c.options.max_host_bytes = 1000;
    const FilterBank bank = make_bank(c);
    const Volume signals = signals_of(c, PixelType::float32);
    HeldSignals source(signals);
    MemorySink sink(bank);
    const std::string text = message_of<OutOfMemory>([&] { bank.execute(source, sink); });
    INFO(text);
    CHECK(contains(text, "1000 B"));
    CHECK(source.reads == 0);
    // In memory the limit has no effect.
    CHECK(run_in_memory(c).empty());
}

TEST_CASE("an error of a source or sink is thrown once, and a stop ends the stream") {
    Random random(test_seed("stream failures"));
    BankCase c = make_bank_case(random, 200000, {31, 7});
    c.options.max_host_bytes = 1200000;
    const FilterBank bank = make_bank(c, cpu_filter_engines(1));
    const Volume signals = signals_of(c, PixelType::float32);
    for (const index_t at : {0, 1, 3}) {
        HeldSignals source(signals);
        MemorySink sink(bank);
        source.fail_at = at;
        CHECK(message_of<IoError>([&] { bank.execute(source, sink); }) == "the disk is gone");
        source.fail_at = -1;
        sink.writes = 0;
        sink.fail_at = at;
        CHECK(message_of<IoError>([&] { bank.execute(source, sink); }) == "the disk is full");
    }
    HeldSignals source(signals);
    MemorySink sink(bank);
    std::stop_source stop;
    ExecutionContext context;
    context.stop = stop.get_token();
    context.progress = [&](double) { stop.request_stop(); };
    CHECK_THROWS_AS(bank.execute(source, sink, context), Cancelled);
    CHECK_THROWS_AS(bank.execute(signals.view(), sink.results.view(), nullptr, context), Cancelled);
    // The bank can be used again.
    sink.writes = 0;
    bank.execute(source, sink);
    CHECK(defect(c, sink.results.view(), nullptr).empty());
}

TEST_CASE("streams with NaN are refused, repaired or passed on") {
    Random random(test_seed("stream NaN"));
    BankCase c = make_bank_case(random, 50000, {9});
    Volume signals = signals_of(c, PixelType::float32);
    signals.elements<float>()[40000] = std::numeric_limits<float>::quiet_NaN();
    signals.elements<float>()[41000] = -std::numeric_limits<float>::infinity();
    c.signals[0][40000] = c.signals[0][41000] = 0;
    for (const bool streamed : {false, true})
        for (const Precision precision : {Precision::float32, Precision::float64}) {
            c.options.precision = precision;
            const auto execute = [&](NanPolicy policy) {
                c.options.nan = policy;
                c.options.method = FilterMethod::direct;
                const FilterBank bank = make_bank(c);
                HeldSignals source(signals);
                MemorySink sink(bank);
                const ExecutionReport report =
                    streamed ? bank.execute(source, sink)
                             : bank.execute(signals.view(), sink.results.view());
                return std::pair(report.nonfinite_inputs, std::move(sink.results));
            };
            const std::string text = message_of<BadData>([&] { execute(NanPolicy::error); });
            INFO(text);
            CHECK(contains(text, "signal 0"));
            CHECK(contains(text, "sample 40000"));
            const auto repaired = execute(NanPolicy::zero);
            CHECK(repaired.first == 2);
            CHECK(defect(c, repaired.second.view(), nullptr).empty());
            const auto passed_on = execute(NanPolicy::propagate);
            const Array values = to_array(passed_on.second.view());
            CHECK(std::isnan(values(0, 0, 40000).real()));
            CHECK(std::isfinite(values(0, 0, 39000).real()));
        }
}

TEST_CASE("non-finite samples of batches are counted and named wherever they lie") {
    constexpr index_t count = 100000;
    Volume signals({1, 3, count}, PixelType::float64);
    for (const auto& [signal, sample] : {std::pair(1, 70000), std::pair(2, 5), std::pair(2, 99999)})
        signals.elements<double>()[signal * count + sample] =
            std::numeric_limits<double>::quiet_NaN();
    Volume one({1, 1, 1}, PixelType::float32);
    one.elements<float>()[0] = 1;
    for (const bool streamed : {false, true})
        for (const Precision precision : {Precision::float32, Precision::float64}) {
            FilterOptions options;
            options.precision = precision;
            options.max_host_bytes = 1000000;
            const auto execute = [&](NanPolicy policy) {
                options.nan = policy;
                const FilterBank bank = FilterBankFactory::make({3, count}, {one.view()}, options,
                                                                cpu_filter_engines(1));
                HeldSignals source(signals);
                MemorySink sink(bank);
                return (streamed ? bank.execute(source, sink)
                                 : bank.execute(signals.view(), sink.results.view()))
                    .nonfinite_inputs;
            };
            const std::string text = message_of<BadData>([&] { execute(NanPolicy::error); });
            INFO(text);
            CHECK(contains(text, "signal 1"));
            CHECK(contains(text, "sample 70000"));
            CHECK(execute(NanPolicy::zero) == 3);
            CHECK(execute(NanPolicy::propagate) == 0);
        }
}

TEST_CASE("peaks of windows longer than a chunk are found, also in streams with NaN") {
    // The peak of each window is in its first third; the second window has lower peaks.
    constexpr index_t count = 200000, window = 100000;
    Volume signal({1, 1, count}, PixelType::float32);
    float* const samples = signal.elements<float>();
    for (index_t i = 0; i < count; ++i)
        samples[i] = static_cast<float>(i % 1000) - (i < window ? 0.0F : 5000.0F);
    samples[1234] = 2000;
    samples[window + 4321] = -1;
    Volume one({1, 1, 1}, PixelType::float32);
    one.elements<float>()[0] = 1;
    for (const bool nan_first : {false, true}) {
        if (nan_first) std::fill(samples, samples + 90000, std::numeric_limits<float>::quiet_NaN());
        FilterOptions options;
        options.nan = NanPolicy::propagate;
        options.method = FilterMethod::direct;
        options.window = {WindowPost::Kind::peak, window};
        options.max_host_bytes = 500000;
        const FilterBank bank =
            FilterBankFactory::make({1, count}, {one.view()}, options, cpu_filter_engines(1));
        REQUIRE(bank.plan().chunk < window / 2);
        HeldSignals source(signal);
        MemorySink sink(bank);
        bank.execute(source, sink);
        const float* const peaks = sink.results.elements<float>();
        CHECK(peaks[0] == (nan_first ? 999 : 2000));
        CHECK(peaks[1] == -1);
        CHECK(sink.positions == std::vector<index_t>{nan_first ? 90999 : 1234, window + 4321});

        // In memory the chunks of the engine are shorter.
        bank.execute(signal.view(), sink.results.view(), sink.positions.data());
        CHECK(peaks[0] == (nan_first ? 999 : 2000));
        CHECK(peaks[1] == -1);
        CHECK(sink.positions == std::vector<index_t>{nan_first ? 90999 : 1234, window + 4321});
    }
}

TEST_CASE("a function with a halo gives the same results in memory and in chunks") {
    Random random(test_seed("stream function"));
    BankCase c = make_bank_case(random, 60000, {31, 8});
    c.options.precision = Precision::float64;
    c.options.max_host_bytes = 1000000;
    c.options.function =
        sample_function<double>([](const double* y) { return y[-2] + 3 * y[0] - y[1]; }, 2, 1);
    const FilterBank bank = make_bank(c, cpu_filter_engines(1));
    CHECK(bank.plan().chunk < 60000);
    const Volume signals = signals_of(c, PixelType::float64);
    HeldSignals source(signals);
    MemorySink sink(bank), in_memory(bank);
    bank.execute(source, sink);
    bank.execute(signals.view(), in_memory.results.view());
    for (std::size_t f = 0; f < 2; ++f) {
        const SampleRange range = bank.range();
        // The centers of filters of 31 and 8 taps are taps 15 and 3.
        const index_t shift = f == 1 ? 12 : 0;
        const Row y =
            filtered(c.bank[f], c.signals[0], {range.begin - 2 - shift, range.end + 1 - shift});
        Row want, streamed, direct;
        for (std::size_t i = 2; i + 1 < y.size(); ++i) {
            const std::size_t at = f * 60000 + i - 2;
            want.push_back(y[i - 2] + 3.0 * y[i] - y[i + 1]);
            streamed.emplace_back(sink.results.elements<double>()[at]);
            direct.emplace_back(in_memory.results.elements<double>()[at]);
        }
        CHECK(relative_error(want, streamed, 0) < 2e-15);
        CHECK(relative_error(want, direct, 0) < 2e-15);
    }
}
