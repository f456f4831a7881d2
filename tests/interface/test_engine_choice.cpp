// SPDX-License-Identifier: Apache-2.0
// Tests EngineChoice and memory limits in Convolver, FilterBank and Deconvolver.

#include <algorithm>
#include <cmath>
#include <functional>

#include "cpu/fftw.hpp"
#include "tests/catch.hpp"
#include "tests/interface/problems.hpp"
#include "tests/support/errors.hpp"

using namespace convolume;
using namespace convolume::testing;

namespace {

const Shape3 shape{12, 16, 20};

Convolver convolver_with(const EngineChoice& engines, const Options& options = {}) {
    return Convolver(shape, random_volume({3, 4, 5}, 1).view(), options, engines);
}
FilterBank bank_with(const EngineChoice& engines, const FilterOptions& options = {}) {
    return FilterBank({1, 5000}, {random_volume({1, 2, 31}, 1).view()}, options, engines);
}
Deconvolver deconvolver_with(const EngineChoice& engines, const DeconvolveOptions& options = {}) {
    return Deconvolver(shape, random_volume({3, 3, 3}, 1).view(), options, engines);
}

struct Maker {
    const char* name;
    std::function<void(const EngineChoice&)> make;
};
const std::vector<Maker> makers{
    {"Convolver", [](const EngineChoice& engines) { convolver_with(engines); }},
    {"FilterBank", [](const EngineChoice& engines) { bank_with(engines); }},
    {"Deconvolver", [](const EngineChoice& engines) { deconvolver_with(engines); }}};

bool starts_with(const std::string& text, const char* begin) {
    return text.rfind(begin, 0) == 0;
}

}  // namespace

TEST_CASE("engines: a plan names the CPU if it was chosen") {
    for (const int threads : {0, 1, 3}) {
        const EngineChoice cpu = on_cpu(threads);
        CHECK(convolver_with(cpu).plan().engines == std::vector<std::string>{"cpu:0"});
        CHECK_FALSE(convolver_with(cpu).plan().chosen.on_gpu);
        CHECK(bank_with(cpu).plan().engine == "cpu:0");
        CHECK(deconvolver_with(cpu).plan().engines == "cpu:0");
        CHECK_FALSE(deconvolver_with(cpu).plan().on_device);
    }
}

TEST_CASE("engines: several engines of the CPU share the tasks of an image") {
    EngineChoice choice = on_cpu();
    choice.cpu_engines = 2;
    Options options;
    options.method = Method::dif;
    options.parts = 4;
    const std::vector<std::string> both{"cpu:0", "cpu:1"};
    CHECK(convolver_with(choice, options).plan().engines == both);
    // Filter banks have one engine on the CPU.
    CHECK(bank_with(choice).plan().engine == "cpu:0");
    CHECK(starts_with(deconvolver_with(choice).plan().engines, "cpu:0"));
}

TEST_CASE("engines: a required GPU is used, or its absence is an error with a reason") {
    EngineChoice gpu;
    gpu.device = EngineChoice::Device::gpu;
    if (!gpu_unavailable().empty()) {
        for (const auto& [name, make] : makers) {
            const std::string text = message_of<Unavailable>([&, make = make] { make(gpu); });
            INFO(name << ": " << text);
            CHECK(contains(text, gpu_unavailable()));
        }
        return;
    }
    CHECK(starts_with(convolver_with(gpu).plan().engines.at(0), "gpu:"));
    CHECK(starts_with(bank_with(gpu).plan().engine, "gpu:"));
    CHECK(starts_with(deconvolver_with(gpu).plan().engines, "gpu:"));
    gpu.gpus = {99};
    for (const auto& [name, make] : makers) {
        INFO(name);
        CHECK(contains(message_of<InvalidArgument>([&, make = make] { make(gpu); }), "no GPU 99"));
    }
}

TEST_CASE("engines: with an automatic choice there is always one") {
    const bool has_gpu = gpu_unavailable().empty();
    for (const std::string& engine :
         {convolver_with({}).plan().engines.at(0), bank_with({}).plan().engine,
          deconvolver_with({}).plan().engines}) {
        INFO(engine);
        CHECK((starts_with(engine, "cpu:0") || (has_gpu && starts_with(engine, "gpu:"))));
    }
    // If a chosen GPU is absent, the CPU computes.
    EngineChoice missing;
    missing.gpus = {99};
    CHECK(convolver_with(missing).plan().engines == std::vector<std::string>{"cpu:0"});
    CHECK(bank_with(missing).plan().engine == "cpu:0");
}

TEST_CASE("engines: FFTW computes, or its absence is an error with a cure") {
    EngineChoice choice = on_cpu();
    choice.fft = FftLibrary::fftw;
    for (const auto& [name, make] : makers) {
        INFO(name);
        if (cpu::has_fftw())
            CHECK_NOTHROW(make(choice));
        else
            CHECK(contains(message_of<Unavailable>([&, make = make] { make(choice); }),
                           "built without FFTW: leave out fft"));
    }
    CHECK(contains(describe_fft_libraries(), "own"));
    CHECK(contains(describe_fft_libraries(), cpu::has_fftw() ? "fftw-3" : "without FFTW"));
}

TEST_CASE("engines: invalid counts are refused by name") {
    for (const auto& [name, make] : makers) {
        EngineChoice choice = on_cpu(-3);
        const std::string text = message_of<InvalidArgument>([&, make = make] { make(choice); });
        INFO(name << ": " << text);
        CHECK(contains(text, "-3 threads"));
        CHECK(contains(message_of<InvalidArgument>([&, make = make] { make(on_cpu(100000)); }),
                       "100000 threads"));
        CHECK_NOTHROW(make(on_cpu(1)));
    }
    for (const char* name : {"Convolver", "Deconvolver"}) {
        const Maker& maker = makers[name[0] == 'C' ? 0 : 2];
        INFO(name);
        EngineChoice choice = on_cpu();
        choice.cpu_engines = 0;
        CHECK(contains(message_of<InvalidArgument>([&] { maker.make(choice); }), "0 engines"));
        choice = on_cpu();
        choice.max_cpu_engine_bytes = 0;
        CHECK(contains(message_of<InvalidArgument>([&] { maker.make(choice); }), "memory"));
        choice = on_cpu();
        choice.max_gpu_bytes = 0;
        CHECK(contains(message_of<InvalidArgument>([&] { maker.make(choice); }), "memory"));
    }
}

TEST_CASE("engines: all engines give the same results") {
    const Volume image = random_volume(shape, 5);
    const Convolver reference = convolver_with(on_cpu(1));
    Volume want = poisoned(shape);
    reference.execute(image.view(), want.view());
    EngineChoice several = on_cpu();
    several.cpu_engines = 3;
    EngineChoice small = on_cpu();
    small.max_cpu_engine_bytes = 150000;
    for (const EngineChoice& choice : {on_cpu(0), several, small, EngineChoice{}}) {
        Volume got = poisoned(shape);
        convolver_with(choice).execute(image.view(), got.view());
        double worst = 0;
        for (index_t i = 0; i < element_count(shape); ++i)
            worst = std::max(worst, static_cast<double>(std::abs(got.elements<float>()[i] -
                                                                 want.elements<float>()[i])));
        CHECK(worst < 1e-4);  // bound on the error of values of about 60
    }
}

TEST_CASE("memory: the error for a limit that is too small names its option") {
    Options options;
    options.max_host_bytes = 1000;
    std::string text = message_of<OutOfMemory>([&] { convolver_with(on_cpu(), options); });
    {
        INFO(text);
        CHECK(contains(text, "max_host_bytes"));
        CHECK(contains(text, "1000 B"));
        CHECK_FALSE(contains(text, "max_cpu_engine_bytes"));
    }

    EngineChoice small = on_cpu();
    small.max_cpu_engine_bytes = 1000;
    text = message_of<OutOfMemory>([&] { convolver_with(small, {}); });
    {
        INFO(text);
        CHECK(contains(text, "max_cpu_engine_bytes"));
        CHECK(contains(text, "1000 B"));
        CHECK_FALSE(contains(text, "max_host_bytes"));
    }

    DeconvolveOptions deconvolution;
    deconvolution.max_host_bytes = 1000;
    text = message_of<OutOfMemory>([&] { deconvolver_with(on_cpu(), deconvolution); });
    {
        INFO(text);
        CHECK(contains(text, "max_host_bytes"));
        CHECK(contains(text, "1000 B"));
    }

    // The memory limit of a filter bank applies to streams only.
    FilterOptions filtering;
    filtering.max_host_bytes = 1000;
    const FilterBank bank = bank_with(on_cpu(), filtering);
    struct NoSource final : SignalSource {
        PixelType type() const override { return PixelType::float32; }
        void read(index_t, index_t, index_t, void*) override { FAIL("nothing may be read"); }
    } source;
    struct NoSink final : ResultSink {
        void write(index_t, index_t, index_t, index_t, const void*) override {
            FAIL("nothing may be written");
        }
    } sink;
    text = message_of<OutOfMemory>([&] { bank.execute(source, sink); });
    INFO(text);
    CHECK(contains(text, "max_host_bytes"));
    CHECK(contains(text, "1000 B"));
}
