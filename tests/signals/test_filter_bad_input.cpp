// SPDX-License-Identifier: Apache-2.0
// Tests which input is refused, and how the message names the cause; ties and NaN among peaks.

#include <limits>

#include "convolume/error.hpp"
#include "convolume/filter_options.hpp"
#include "engines/engines.hpp"
#include "signals/filter_bank_factory.hpp"
#include "tests/catch.hpp"
#include "tests/signals/bank_case.hpp"
#include "tests/support/errors.hpp"

using namespace convolume;
using namespace convolume::testing;

namespace {

template <class E>
std::string refusal(const BankCase& c) {
    const std::string text = message_of<E>([&] { make_bank(c); });
    CHECK(text != "(nothing was thrown)");
    return text;
}

}  // namespace

TEST_CASE("empty signals and banks, and invalid shapes are refused") {
    const FilterEngineList engines = cpu_filter_engines();
    const Volume filter({1, 1, 3}, PixelType::float32);
    for (const SignalShape& shape : {SignalShape{1, 0}, SignalShape{0, 5}, SignalShape{1, -1}})
        CHECK_THROWS_AS(FilterBankFactory::make(shape, {filter.view()}, {}, engines),
                        InvalidArgument);
    CHECK_THROWS_AS(FilterBankFactory::make({1, 5}, {}, {}, engines), InvalidArgument);
    for (const Shape3& shape : {Shape3{1, 0, 3}, Shape3{1, 1, 0}, Shape3{2, 1, 3}}) {
        ConstImageView view = filter.view();
        view.shape = shape;
        CHECK_THROWS_AS(FilterBankFactory::make({1, 5}, {filter.view(), view}, {}, engines),
                        InvalidArgument);
    }
    CHECK_THROWS_AS(FilterBankFactory::make({1, 5}, {filter.view()}, {}, FilterEngineList{}),
                    Unavailable);
}

TEST_CASE("options that contradict each other or the data are refused") {
    Random random(test_seed("bad filter options"));
    const BankCase good = make_bank_case(random, 10, {4, 7});
    CHECK_NOTHROW(make_bank(good));

    BankCase c = good;
    c.bank[1][2] = std::numeric_limits<double>::quiet_NaN();
    const std::string nan_tap = refusal<BadData>(c);
    CHECK(contains(nan_tap, "filter 1"));
    CHECK(contains(nan_tap, "tap 2"));
    c = good;
    c.bank[0][0] = std::numeric_limits<double>::infinity();
    CHECK(contains(refusal<BadData>(c), "filter 0"));

    c = make_bank_case(random, 10, {11});
    c.options.mode = Mode::valid;
    CHECK(contains(refusal<InvalidArgument>(c), "valid"));
    c.options.mode = Mode::full;
    CHECK(make_bank(c).result_samples() == 20);

    for (const SampleRange& range :
         {SampleRange{-1, 3}, SampleRange{0, 18}, SampleRange{5, 5}, SampleRange{6, 2}}) {
        c = good;
        c.options.range = range;
        CHECK(contains(refusal<InvalidArgument>(c), "0:16"));
    }
    for (const index_t length : {0, -4}) {
        c = good;
        c.options.window = {WindowPost::Kind::decimate, length};
        CHECK(contains(refusal<InvalidArgument>(c), "window"));
    }
    c = good;
    c.options.segment = -2;
    refusal<InvalidArgument>(c);
    c = good;
    c.options.max_host_bytes = 0;
    refusal<InvalidArgument>(c);

    c = make_bank_case(random, 10, {3}, true);
    c.options.window = {WindowPost::Kind::peak, 2};
    CHECK(contains(refusal<InvalidArgument>(c), "power"));
    c.options.post = PointPost::power;
    CHECK_NOTHROW(make_bank(c));
    c = good;
    c.options.function = sample_function<double>([](const double* y) { return *y; });
    CHECK(contains(refusal<InvalidArgument>(c), "float64"));
    c.options.function = sample_function<float>([](const float* y) { return *y; });
    CHECK_NOTHROW(make_bank(c));
    c.options.post = PointPost::power;
    CHECK(contains(refusal<InvalidArgument>(c), "function"));
    CHECK_THROWS_AS(sample_function<float>([](const float* y) { return *y; }, -1, 0),
                    InvalidArgument);
}

TEST_CASE("the error for unsupported methods and segments lists the supported ones") {
    Random random(test_seed("bad methods"));
    BankCase c = make_bank_case(random, 1000, {40});
    c.options.method = FilterMethod::overlap_save;
    c.options.segment = 39;
    CHECK(contains(refusal<InvalidArgument>(c),
                   "segments of 39 samples are shorter than the 40 taps of the filters"));
    c.options.method = FilterMethod::automatic;
    CHECK(contains(refusal<InvalidArgument>(c), "or the method partitioned"));
    c.options.method = FilterMethod::partitioned;  // a segment must be even
    const std::string text = refusal<InvalidArgument>(c);
    INFO(text);
    for (const char* part : {"overlap-save", "39", "cpu:0 direct", "partitioned", "40 taps"})
        CHECK(contains(text, part));
    c.options.method = FilterMethod::direct;  // direct sums have no segments
    refusal<InvalidArgument>(c);
    for (const FilterMethod method : {FilterMethod::automatic, FilterMethod::overlap_save,
                                      FilterMethod::overlap_add, FilterMethod::partitioned})
        for (const index_t segment :
             {index_t{1}, std::numeric_limits<index_t>::max() - 1, index_t{1} << 62}) {
            c.options.method = method;
            c.options.segment = segment;
            CHECK(contains(refusal<InvalidArgument>(c), message("segments of ", segment)));
        }
    c.options.method = FilterMethod::overlap_add;
    c.options.segment = 40;
    CHECK_NOTHROW(make_bank(c));
}

TEST_CASE("origins may be as large as 64 bits allow") {
    Random random(test_seed("far origins"));
    BankCase c = make_bank_case(random, 10, {4, 7});
    for (const index_t index :
         {std::numeric_limits<index_t>::min(), std::numeric_limits<index_t>::max()}) {
        c.options.origin = {FilterOrigin::Kind::explicit_, index};
        c.options.mode = Mode::same;
        CHECK(contains(refusal<InvalidArgument>(c), "origin"));
        c.options.mode = Mode::full;  // mode full ignores the origin
        CHECK(make_bank(c).result_samples() == 16);
    }
}

TEST_CASE("results larger than 64 bits can address are refused") {
    const Volume filter({1, 1, 3}, PixelType::float32);
    const index_t huge = std::numeric_limits<index_t>::max();
    const FilterEngineList engines = cpu_filter_engines();
    for (const SignalShape& shape :
         {SignalShape{1, huge}, SignalShape{1, huge / 4}, SignalShape{huge / 100, 1000}})
        CHECK(contains(message_of<InvalidArgument>(
                           [&] { FilterBankFactory::make(shape, {filter.view()}, {}, engines); }),
                       "64 bits"));
    // A trillion samples are planned.
    CHECK(FilterBankFactory::make({1, index_t{1} << 40}, {filter.view()}, {}, engines)
              .result_samples() == index_t{1} << 40);
}

TEST_CASE("taps that float32 cannot hold are refused") {
    Volume filter({1, 1, 2}, PixelType::float64);
    filter.elements<double>()[1] = 1e300;
    FilterOptions options;
    CHECK_THROWS_AS(FilterBankFactory::make({1, 5}, {filter.view()}, options, cpu_filter_engines()),
                    BadData);
    options.precision = Precision::float64;
    CHECK_NOTHROW(FilterBankFactory::make({1, 5}, {filter.view()}, options, cpu_filter_engines()));
}

TEST_CASE("executing with other shapes and types is refused") {
    Random random(test_seed("bad executions"));
    const BankCase c = make_bank_case(random, 20, {3, 3});
    const FilterBank bank = make_bank(c);
    const Volume signals = signals_of(c, PixelType::float32);
    Volume results({1, 2, 20}, PixelType::float32);
    CHECK_NOTHROW(bank.execute(signals.view(), results.view()));
    std::vector<index_t> positions(40);
    CHECK_THROWS_AS(bank.execute(signals.view(), results.view(), positions.data()),
                    InvalidArgument);
    Volume other_type({1, 2, 20}, PixelType::float64), other_shape({1, 2, 21}, PixelType::float32);
    CHECK_THROWS_AS(bank.execute(signals.view(), other_type.view()), InvalidArgument);
    CHECK_THROWS_AS(bank.execute(signals.view(), other_shape.view()), InvalidArgument);
    const Volume short_signal({1, 1, 19}, PixelType::float32);
    CHECK_THROWS_AS(bank.execute(short_signal.view(), results.view()), InvalidArgument);
    const Volume complex_signal({1, 1, 20}, PixelType::complex64);
    CHECK_THROWS_AS(bank.execute(complex_signal.view(), results.view()), InvalidArgument);
}

TEST_CASE("the first of equal peaks wins, and NaN never does") {
    const float nan_value = std::numeric_limits<float>::quiet_NaN();
    const float infinity = std::numeric_limits<float>::infinity();
    const std::vector<float> samples{
        1,         3,         3,         2,         nan_value, 5,         nan_value, 5, nan_value,
        nan_value, nan_value, nan_value, -infinity, -infinity, nan_value, -7,        4, 4};
    Volume signal({1, 1, static_cast<index_t>(samples.size())}, PixelType::float32);
    std::copy(samples.begin(), samples.end(), signal.elements<float>());
    Volume one({1, 1, 1}, PixelType::float32);
    one.elements<float>()[0] = 1;
    for (const index_t length : {4, 1000}) {
        FilterOptions options;
        options.nan = NanPolicy::propagate;
        options.method = FilterMethod::direct;
        options.window = {WindowPost::Kind::peak, length};
        const FilterBank bank = FilterBankFactory::make({1, signal.shape().x}, {one.view()},
                                                        options, cpu_filter_engines());
        Volume peaks({1, 1, bank.result_samples()}, PixelType::float32);
        std::vector<index_t> at(static_cast<std::size_t>(bank.result_samples()));
        bank.execute(signal.view(), peaks.view(), at.data());
        const float* const value = peaks.elements<float>();
        if (length == 4) {
            CHECK(at == std::vector<index_t>{1, 5, 8, 15, 16});
            CHECK(value[0] == 3);
            CHECK(value[1] == 5);
            CHECK(std::isnan(value[2]));
            CHECK(value[3] == -7);
            CHECK(value[4] == 4);
        } else {
            CHECK(at == std::vector<index_t>{5});
            CHECK(value[0] == 5);
        }
    }
    // A window that is longer than a chunk.
    Volume waves({1, 1, 100000}, PixelType::float32);
    for (index_t i = 0; i < 100000; ++i) waves.elements<float>()[i] = static_cast<float>(i % 20000);
    FilterOptions options;
    options.method = FilterMethod::direct;
    options.window = {WindowPost::Kind::peak, 70000};
    const FilterBank bank =
        FilterBankFactory::make({1, 100000}, {one.view()}, options, cpu_filter_engines());
    Volume peaks({1, 1, 2}, PixelType::float32);
    std::vector<index_t> at(2);
    bank.execute(waves.view(), peaks.view(), at.data());
    CHECK(at == std::vector<index_t>{19999, 79999});
}

TEST_CASE("a GPU that is required and absent is an error") {
    EngineChoice choice;
    choice.device = EngineChoice::Device::gpu;
    if (!gpu_unavailable().empty()) CHECK_THROWS_AS(make_filter_engines(choice), Unavailable);
    choice = {};
    choice.threads = -1;
    CHECK_THROWS_AS(make_filter_engines(choice), InvalidArgument);
}
