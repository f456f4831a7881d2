// SPDX-License-Identifier: Apache-2.0
// Tests correlation banks on streams: peaks have the same bits for any chunks, from pipes and from
// memory, and with the series. python/tests/test_correlation.py compares them with NumPy.

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "convolume/correlation.hpp"
#include "convolume/error.hpp"
#include "signals/sample_recorder.hpp"
#include "tests/catch.hpp"
#include "tests/support/errors.hpp"
#include "tests/support/random.hpp"

using namespace convolume;
using namespace convolume::testing;

namespace {

using Peaks = std::vector<CorrelationPeak>;

/// A source of unknown length.
class PipeOfSamples : public MemorySource {
  public:
    explicit PipeOfSamples(const ConstImageView& signals)
        : MemorySource(signals), samples_(signals.shape.x) {}
    index_t read_until_end(index_t signal, index_t begin, index_t count, void* to) override {
        const index_t there = std::min(count, samples_ - begin);
        if (there > 0) read(signal, begin, there, to);
        return there;
    }

  private:
    index_t samples_;
};

class SeriesSink : public ResultSink {
  public:
    SeriesSink(index_t filters, index_t results)
        : values({1, filters, results}, PixelType::float32) {}
    void write(index_t, index_t filter, index_t begin, index_t count, const void* from) override {
        std::copy_n(static_cast<const float*>(from), count,
                    &values.view().at<float>(0, filter, begin));
    }
    Volume values;
};

/// Signals of noise, with a pulse here and there.
struct EventCase {
    Volume signals, templates;
    CorrelationOptions options;
    SignalShape shape;

    explicit EventCase(Random& random)
        : signals({1, random.integer(1, 3), random.integer(200, 20000)}, PixelType::float32),
          templates({1, random.integer(1, 4), random.integer(1, 150)}, PixelType::float32),
          shape{signals.shape().y, signals.shape().x} {
        fill(random, templates);
        fill(random, signals);
        const index_t length = templates.shape().x;
        for (index_t i = 0; i < signals.shape().y; ++i)
            for (index_t begin = random.integer(0, 300); begin + length < shape.samples;
                 begin += random.integer(length, 2000))
                for (index_t k = 0; k < length; ++k)
                    signals.view().at<float>(0, i, begin + k) +=
                        3 * templates.view().at<float>(0, 0, k);
        options.threshold = 0.5 + 5.5 * random.uniform();
        options.filters.precision = random.pick({Precision::float32, Precision::float64});
        options.filters.mode = random.pick({Mode::full, Mode::same});
        options.position =
            random.pick({PeakPosition::sample, PeakPosition::parabola, PeakPosition::interpolated});
        options.per_template = random.chance(0.5);
        if (random.chance(0.5)) options.window = random.integer(1, 3000);
        if (random.chance(0.5)) options.noise_block = random.integer(16, 4000);
    }

    static void fill(Random& random, Volume& volume) {
        float* const to = volume.elements<float>();
        for (index_t i = 0; i < element_count(volume.shape()); ++i)
            to[i] = static_cast<float>(2 * random.uniform() - 1);
    }
    CorrelationBank bank(const SignalShape& planned) const {
        EngineChoice engines;
        engines.device = EngineChoice::Device::cpu;
        return {planned, {templates.view()}, options, engines};
    }
};

PeakFunction appended_to(Peaks& peaks) {
    return [&peaks](std::span<const CorrelationPeak> some) {
        peaks.insert(peaks.end(), some.begin(), some.end());
    };
}

void require_equal(const Peaks& found, const Peaks& wanted) {
    REQUIRE(found.size() == wanted.size());
    for (std::size_t i = 0; i < found.size(); ++i) {
        CAPTURE(i, found[i].position, wanted[i].position);
        CHECK(found[i].signal == wanted[i].signal);
        CHECK(found[i].template_index == wanted[i].template_index);
        CHECK(found[i].position == wanted[i].position);
        CHECK(found[i].snr == wanted[i].snr);
        CHECK(found[i].phase == wanted[i].phase);
    }
}

}  // namespace

TEST_CASE("peaks have the same bits for any chunks, from pipes, and beside the series", "[long]") {
    const std::uint64_t seed = test_seed("correlation stream");
    std::size_t peaks = 0;
    for (std::uint64_t n = 0; n < 40; ++n) {
        Random random(seed, n);
        EventCase c(random);
        CAPTURE(n);
        const Peaks whole = c.bank(c.shape).peaks(c.signals.view());
        peaks += whole.size();
        MemorySource source(c.signals.view());
        for (const index_t chunk : {index_t{1} << 10, random.integer(50, 400)}) {
            c.options.filters.chunk = chunk;
            Peaks found;
            c.bank(c.shape).execute(source, appended_to(found));
            require_equal(found, whole);
        }
        c.options.keeps_series = true;
        Peaks with_series;
        c.bank(c.shape).execute(source, appended_to(with_series));
        require_equal(with_series, whole);

        c.options.keeps_series = random.chance(0.5);
        const ConstImageView first =
            subview(ConstImageView(c.signals.view()), {{0, 0, 0}, {1, 1, c.shape.samples}});
        PipeOfSamples pipe(first);
        Peaks piped, of_first;
        std::copy_if(whole.begin(), whole.end(), std::back_inserter(of_first),
                     [](const CorrelationPeak& peak) { return peak.signal == 0; });
        c.bank({1, unknown_samples}).execute(pipe, appended_to(piped));
        require_equal(piped, of_first);
    }
    CHECK(peaks > 1000);
}

TEST_CASE("maxima that a filter bank finds have the peaks of the bank") {
    const std::uint64_t seed = test_seed("correlation maxima");
    for (std::uint64_t n = 0; n < 20; ++n) {
        Random random(seed, n);
        EventCase c(random);
        c.options.noise_block.reset();
        CAPTURE(n);
        const CorrelationBank bank = c.bank(c.shape);
        FilterOptions options = c.options.filters;
        options.origin.kind = FilterOrigin::Kind::anticausal;
        options.post = PointPost::power;
        options.window = {WindowPost::Kind::peak, bank.window()};
        std::vector<ConstImageView> filters;
        const std::vector<Volume> taps = matched_filters({c.templates.view()});
        for (const Volume& one : taps) filters.push_back(one.view());
        const FilterBank maxima(c.shape, filters, options);
        Volume powers({c.shape.signals, maxima.filters(), maxima.result_samples()},
                      maxima.result_type());
        std::vector<index_t> positions(static_cast<std::size_t>(element_count(powers.shape())));
        maxima.execute(c.signals.view(), powers.view(), positions.data());
        MemorySource source(c.signals.view());
        require_equal(bank.peaks_of_maxima(powers.view(), positions.data(), source),
                      bank.peaks(c.signals.view()));
    }
}

TEST_CASE("the series goes to its sink, and only if it is kept") {
    Random random(test_seed("correlation series"), 0);
    EventCase c(random);
    c.options.filters.precision = Precision::float32;
    c.options.noise_block.reset();
    MemorySource source(c.signals.view());
    SeriesSink sink(c.templates.shape().y, 1);
    CHECK(contains(message_of<InvalidArgument>([&] {
                       c.bank(c.shape).execute(
                           source, [](auto) {}, &sink);
                   }),
                   "keeps_series"));
    c.options.keeps_series = true;
    const CorrelationBank bank = c.bank({1, c.shape.samples});
    SeriesSink kept(c.templates.shape().y, bank.filter_bank().result_samples());
    bank.execute(
        source, [](auto) {}, &kept);
    // A peak without refinement is the value of the series at its place.
    c.options.position = PeakPosition::sample;
    const CorrelationBank samples = c.bank({1, c.shape.samples});
    const index_t first = bank.filter_bank().range().begin - bank.filter_bank().origin();
    Peaks peaks;
    samples.execute(source, appended_to(peaks));
    CHECK(!peaks.empty());
    for (const CorrelationPeak& peak : peaks) {
        const auto at = static_cast<index_t>(peak.position) - first;
        const double value = kept.values.view().at<float>(0, peak.template_index, at);
        CHECK(std::abs(std::abs(value) - peak.snr) < 1e-4 * peak.snr + 1e-4);
    }
}

TEST_CASE("errors of the function that takes peaks end the search") {
    Random random(test_seed("correlation errors"), 0);
    EventCase c(random);
    c.options.threshold = 1e-3;
    MemorySource source(c.signals.view());
    const CorrelationBank bank = c.bank(c.shape);
    CHECK(contains(message_of<IoError>([&] {
                       bank.execute(source, [](auto) { throw IoError("the table is full"); });
                   }),
                   "the table is full"));
}

TEST_CASE("samples that are not finite are read as zero if the caller says so") {
    std::vector<float> signal(500), pulse = {1, 2, 1};
    for (index_t k = 0; k < 3; ++k)
        signal[static_cast<std::size_t>(200 + k)] = 5 * pulse[static_cast<std::size_t>(k)];
    signal[203] = signal[100] = std::numeric_limits<float>::quiet_NaN();
    CorrelationOptions options;
    options.threshold = 5;
    const std::vector<ConstImageView> templates = {view_of(pulse.data(), {1, 1, 3})};
    const ConstImageView view = view_of(signal.data(), {1, 1, 500});
    CHECK(contains(message_of<BadData>([&] {
                       CorrelationBank({1, 500}, templates, options).peaks(view);
                   }),
                   "sample 100"));
    options.filters.nan = NanPolicy::zero;
    const Peaks zeroed = CorrelationBank({1, 500}, templates, options).peaks(view);
    REQUIRE(zeroed.size() == 1);
    CHECK(std::abs(zeroed[0].position - 200) < 1e-9);
    options.filters.nan = NanPolicy::propagate;
    for (const CorrelationPeak& peak : CorrelationBank({1, 500}, templates, options).peaks(view))
        CHECK(std::isfinite(peak.snr));
}

TEST_CASE("a recorder keeps samples until they are released") {
    const std::vector<float> signal = {1, 2, 3, 4, 5};
    MemorySource source(view_of(signal.data(), {1, 1, 5}));
    SampleRecorder recorder(source);
    std::vector<float> read(3);
    recorder.read(0, 0, 3, read.data());
    CHECK(recorder.samples_there(0) == 3);
    std::vector<std::complex<double>> recalled(5);
    recorder.recall(0, -1, 5, false, recalled.data());
    CHECK(recalled == std::vector<std::complex<double>>{0, 1, 2, 3, 0});
    recorder.release(0, 2);
    recorder.read(0, 3, 2, read.data());
    recorder.recall(0, 2, 5, false, recalled.data());
    CHECK(recalled == std::vector<std::complex<double>>{3, 4, 5, 0, 0});
    recorder.recall(0, 0, 5, false, recalled.data());
    CHECK(recalled[1] == 0.0);
    recorder.release(0);
    CHECK(recorder.samples_there(0) == 0);
}
