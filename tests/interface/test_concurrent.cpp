// SPDX-License-Identifier: Apache-2.0
// Sixteen threads use one object with different data. The results equal those of one call after
// another, to the last bit.

#include <barrier>
#include <functional>
#include <optional>
#include <thread>
#include <utility>

#include "tests/catch.hpp"
#include "tests/interface/problems.hpp"
#include "tests/support/errors.hpp"

using namespace convolume;
using namespace convolume::testing;

namespace {

constexpr std::size_t thread_count = 16;

/// Calls `execute(input, output)` from one thread for every input, then from all threads at once.
/// If FFTW computes, its plans improve once, after some seconds of use, and then round differently:
/// each result must equal that of a call before or of a call after.
void check_concurrent(const Shape3& input_shape, const Shape3& output_shape,
                      const std::function<void(const Volume&, Volume&)>& execute) {
    std::vector<Volume> inputs, serial;
    for (std::size_t t = 0; t < thread_count; ++t) {
        inputs.push_back(random_volume(input_shape, 100 + t));
        serial.push_back(poisoned(output_shape));
        execute(inputs[t], serial[t]);
    }
    for (std::size_t t = 1; t < thread_count; ++t) REQUIRE_FALSE(same_bytes(serial[0], serial[t]));

    std::vector<std::string> wrong(thread_count);
    std::vector<std::optional<Volume>> other_results(thread_count);
    std::barrier start(static_cast<std::ptrdiff_t>(thread_count));
    {
        std::vector<std::jthread> threads;
        for (std::size_t t = 0; t < thread_count; ++t)
            threads.emplace_back([&, t] {
                start.arrive_and_wait();
                for (int repeat = 0; repeat < 3 && wrong[t].empty(); ++repeat) {
                    Volume output = poisoned(output_shape);
                    try {
                        execute(inputs[t], output);
                    } catch (const std::exception& error) {
                        wrong[t] = error.what();
                        continue;
                    }
                    if (same_bytes(output, serial[t])) continue;
                    if (other_results[t] && !same_bytes(output, *other_results[t]))
                        wrong[t] = message("execution ", repeat, " of thread ", t, " differs");
                    other_results[t] = std::move(output);
                }
            });
    }
    for (const std::string& text : wrong) CHECK(text == "");
    for (std::size_t t = 0; t < thread_count; ++t) {
        if (!other_results[t]) continue;
        Volume after = poisoned(output_shape);
        execute(inputs[t], after);
        INFO("thread " << t);
        CHECK(same_bytes(*other_results[t], after));
    }
}

}  // namespace

TEST_CASE("convolver: concurrent executions give the results of serial ones") {
    const Volume kernel = random_volume({4, 5, 6}, 1);
    for (const Method method : {Method::in_core, Method::dif, Method::tiled, Method::direct})
        for (const BoundaryKind boundary : {BoundaryKind::zero, BoundaryKind::mirror}) {
            Options options;
            options.method = method;
            options.boundary.kind = boundary;
            EngineChoice engines = on_cpu();
            engines.cpu_engines = 2;
            if (method == Method::tiled) engines.max_cpu_engine_bytes = 200000;
            const Convolver convolver({20, 24, 28}, kernel.view(), options, engines);
            INFO(convolver.plan().to_string());
            if (method == Method::tiled || method == Method::dif) CHECK(convolver.plan().tasks > 1);
            check_concurrent(convolver.input_shape(), convolver.output_shape(),
                             [&](const Volume& input, Volume& output) {
                                 convolver.execute(input.view(), output.view());
                             });
        }
}

TEST_CASE("convolver: concurrent adjoints, which fold borders, give the results of serial ones") {
    const Volume kernel = random_volume({31, 35, 2}, 1);  // large, so that folds take most time
    Options options;
    options.operation = Operation::adjoint;
    options.boundary.kind = BoundaryKind::reflect;
    const Convolver convolver({33, 37, 400}, kernel.view(), options, on_cpu());
    check_concurrent(convolver.input_shape(), convolver.output_shape(),
                     [&](const Volume& input, Volume& output) {
                         convolver.execute(input.view(), output.view());
                     });
}

TEST_CASE("filter bank: concurrent executions give the results of serial ones") {
    const Volume filters = random_volume({1, 3, 40}, 2);
    for (const FilterMethod method : {FilterMethod::direct, FilterMethod::overlap_save,
                                      FilterMethod::overlap_add, FilterMethod::partitioned}) {
        FilterOptions options;
        options.method = method;
        const FilterBank bank({2, 5000}, {filters.view()}, options, on_cpu());
        INFO(to_string(method));
        check_concurrent({1, 2, 5000}, {2, 3, 5000}, [&](const Volume& input, Volume& output) {
            bank.execute(input.view(), output.view());
        });
    }
}

namespace {

class VolumeSource final : public SignalSource {
  public:
    explicit VolumeSource(const Volume& volume) : volume_(volume) {}
    PixelType type() const override { return PixelType::float32; }
    void read(index_t signal, index_t begin, index_t count, void* to) override {
        std::memcpy(to, volume_.view().at(0, signal, begin), static_cast<std::size_t>(4 * count));
    }

  private:
    const Volume& volume_;
};

class VolumeSink final : public ResultSink {
  public:
    explicit VolumeSink(Volume& volume) : volume_(volume) {}
    void write(index_t signal, index_t filter, index_t begin, index_t count,
               const void* from) override {
        std::memcpy(volume_.view().at(signal, filter, begin), from,
                    static_cast<std::size_t>(4 * count));
    }

  private:
    Volume& volume_;
};

}  // namespace

TEST_CASE("filter bank: concurrent streams give the results of serial ones") {
    const Volume filters = random_volume({1, 3, 40}, 2);
    FilterOptions options;
    options.max_host_bytes = index_t{4} << 20;
    const FilterBank bank({2, 30000}, {filters.view()}, options, on_cpu());
    INFO(bank.plan().to_string());
    check_concurrent({1, 2, 30000}, {2, 3, 30000}, [&](const Volume& input, Volume& output) {
        VolumeSource source(input);
        VolumeSink sink(output);
        bank.execute(source, sink);
    });
}

TEST_CASE("deconvolver: concurrent executions give the results of serial ones") {
    const Volume psf = random_volume({3, 5, 3}, 3);
    const Shape3 shape{10, 14, 12};
    for (const auto method : {DeconvolveMethod::richardson_lucy,
                              DeconvolveMethod::richardson_lucy_tv, DeconvolveMethod::wiener}) {
        DeconvolveOptions options;
        options.method = method;
        options.iterations = 4;
        const Deconvolver deconvolver(shape, psf.view(), options, on_cpu());
        INFO(to_string(method));
        check_concurrent(shape, shape, [&](const Volume& input, Volume& output) {
            deconvolver.execute(input.view(), output.view());
        });
    }
}
