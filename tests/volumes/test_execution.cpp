// SPDX-License-Identifier: Apache-2.0
// Tests executions: concurrency, cancellation, progress, reports and timelines.

#include <atomic>
#include <mutex>
#include <thread>

#include "engines/engines.hpp"
#include "tests/catch.hpp"
#include "tests/support/convolver_case.hpp"
#include "tests/support/errors.hpp"
#include "volumes/convolver_factory.hpp"

using namespace convolume;
using namespace convolume::testing;

static_assert(!std::is_copy_constructible_v<Convolver>);
static_assert(std::is_nothrow_move_constructible_v<Convolver> &&
              std::is_nothrow_move_assignable_v<Convolver>);

namespace {

const auto all_methods = {Method::in_core, Method::dif, Method::tiled, Method::direct};

ConvolverCase case_of(Method method, const Shape3& image = {20, 24, 28}) {
    Random random(5);
    ConvolverCase c = make_case(random, image, {4, 5, 6});
    c.options.method = method;
    if (method == Method::dif) c.options.parts = 4;
    return c;
}

Convolver convolver_of(const ConvolverCase& c, const EngineList& engines) {
    const Volume kernel = to_volume(c.kernel, c.kernel_type());
    return ConvolverFactory::make(c.image_shape, kernel.view(), c.options, engines, c.image_type,
                                  c.output_type());
}

/// Returns a limit that lets one engine hold a quarter of the whole.
index_t small_limit(ConvolverCase c) {
    c.options.method = Method::in_core;
    c.options.parts = 0;
    return convolver_of(c, cpu_engines(1)).plan().chosen.engine_bytes / 3;
}

EngineList engines_for(const ConvolverCase& c) {
    return c.options.method == Method::tiled ? cpu_engines(2, small_limit(c)) : cpu_engines(2);
}

}  // namespace

TEST_CASE("four threads execute one convolver at once") {
    for (const Method method : all_methods) {
        const ConvolverCase c = case_of(method);
        const Convolver convolver = convolver_of(c, engines_for(c));
        std::vector<std::string> wrong(4);
        {
            std::vector<std::jthread> threads;
            for (std::string& result : wrong)
                threads.emplace_back([&] {
                    for (int repeat = 0; repeat < 4 && result.empty(); ++repeat) {
                        try {
                            result = defect(c, convolver);
                        } catch (const std::exception& error) {
                            result = error.what();
                        }
                    }
                });
        }
        INFO(to_string(method));
        for (const std::string& result : wrong) CHECK(result == "");
    }
}

TEST_CASE("two convolvers share engines") {
    const EngineList engines = cpu_engines(2);
    const ConvolverCase a = case_of(Method::in_core), b = case_of(Method::dif, {21, 17, 30});
    const Convolver first = convolver_of(a, engines), second = convolver_of(b, engines);
    std::string wrong_a, wrong_b;
    {
        std::jthread other([&] { wrong_b = defect(b, second); });
        wrong_a = defect(a, first);
    }
    CHECK(wrong_a == "");
    CHECK(wrong_b == "");
}

TEST_CASE("a moved convolver still works, and needs neither its kernel nor its engine list") {
    const ConvolverCase c = case_of(Method::dif);
    Convolver original = convolver_of(c, cpu_engines(2));
    Convolver moved = std::move(original);
    CHECK(defect(c, moved) == "");
    Convolver assigned = convolver_of(case_of(Method::in_core), cpu_engines(1));
    assigned = std::move(moved);
    CHECK(defect(c, assigned) == "");
}

TEST_CASE(
    "a stop request before or during an execution throws Cancelled, and the next execution works") {
    for (const Method method : all_methods) {
        const ConvolverCase c = case_of(method);
        const Convolver convolver = convolver_of(c, engines_for(c));
        const Volume image = to_volume(c.image, c.image_type);
        Volume output(c.image_shape, c.output_type());
        INFO(to_string(method));
        {
            std::stop_source stop;
            stop.request_stop();
            ExecutionContext context;
            context.stop = stop.get_token();
            CHECK_THROWS_AS(convolver.execute(image.view(), output.view(), context), Cancelled);
        }
        {
            std::stop_source stop;
            ExecutionContext context;
            context.stop = stop.get_token();
            std::atomic<bool> finished{false};
            context.progress = [&](double fraction) {
                if (fraction >= 1) finished = true;
                stop.request_stop();
            };
            try {
                convolver.execute(image.view(), output.view(), context);
                CHECK(finished);  // not cancelled, as the stop came too late
            } catch (const Cancelled&) {
            }
        }
        CHECK(defect(c, convolver) == "");
    }
}

TEST_CASE("progress rises to 1, one call at a time") {
    for (const Method method : all_methods) {
        const ConvolverCase c = case_of(method);
        const Convolver convolver = convolver_of(c, engines_for(c));
        const Volume image = to_volume(c.image, c.image_type);
        Volume output(c.image_shape, c.output_type());
        for (int execution = 0; execution < 2; ++execution) {
            std::vector<double> fractions;
            std::atomic<int> inside{0};
            std::atomic<bool> overlap{false};
            ExecutionContext context;
            context.progress = [&](double fraction) {
                if (inside.fetch_add(1) > 0) overlap = true;
                fractions.push_back(fraction);
                --inside;
            };
            convolver.execute(image.view(), output.view(), context);
            INFO(to_string(method) << ", " << fractions.size() << " calls");
            REQUIRE_FALSE(fractions.empty());
            CHECK_FALSE(overlap);
            CHECK(fractions.back() == 1);
            CHECK(fractions.front() >= 0);
            for (std::size_t i = 1; i < fractions.size(); ++i)
                CHECK(fractions[i - 1] <= fractions[i]);
        }
    }
}

TEST_CASE("the timeline holds the phases of the method") {
    for (const Method method : all_methods) {
        const ConvolverCase c = case_of(method);
        const EngineList engines = engines_for(c);
        const Convolver convolver = convolver_of(c, engines);
        const Volume image = to_volume(c.image, c.image_type);
        Volume output(c.image_shape, c.output_type());
        Timeline timeline;
        ExecutionContext context;
        context.timeline = &timeline;
        const auto report = convolver.execute(image.view(), output.view(), context);
        INFO(to_string(method) << "\n" << timeline.to_json());
        CHECK(timeline.total_s(Phase::convolve) > 0);
        std::vector<bool> tasks(static_cast<std::size_t>(convolver.plan().tasks));
        for (const auto& event : timeline.events()) {
            CHECK(event.begin_s <= event.end_s);
            CHECK(event.engine >= -1);
            CHECK(event.engine < static_cast<int>(engines.size()));
            if (event.phase == Phase::convolve && event.task >= 0)
                tasks.at(static_cast<std::size_t>(event.task)) = true;
        }
        for (std::size_t t = 0; t < tasks.size(); ++t) CHECK(tasks[t]);
        if (method == Method::dif) {
            CHECK(timeline.total_s(Phase::decompose) > 0);
            CHECK(timeline.total_s(Phase::compose) > 0);
        }
        CHECK(report.seconds > 0);
        CHECK(report.seconds < 60);
        CHECK(report.clamped_low + report.clamped_high + report.nonfinite_inputs == 0);
    }
}

TEST_CASE("convolve() plans, executes and returns the natural type") {
    Random random(test_seed("free function"));
    ConvolverCase c = make_case(random, {6, 7, 8}, {3, 3, 4});
    const Volume image = to_volume(c.image, PixelType::float32),
                 kernel = to_volume(c.kernel, PixelType::float32);
    const Volume result = convolve(image.view(), kernel.view(), c.options);
    CHECK(result.type() == PixelType::float32);
    CHECK(compare(c.expected(), to_array(result.view())).within(Precision::float32));

    c.image = random.array({6, 7, 8}, true);
    c.options.precision = Precision::float64;
    c.options.mode = Mode::full;
    const Volume complex_image = to_volume(c.image, PixelType::complex64);
    const Volume complex_result = convolve(complex_image.view(), kernel.view(), c.options);
    CHECK(complex_result.type() == PixelType::complex128);
    CHECK(compare(c.expected(), to_array(complex_result.view())).within(Precision::float64));
}

TEST_CASE("engines are named, limited and counted as chosen") {
    EngineChoice choice;
    choice.device = EngineChoice::Device::cpu;
    choice.cpu_engines = 3;
    choice.threads = 6;
    choice.max_cpu_engine_bytes = 12345678;
    const EngineList engines = make_engines(choice);
    REQUIRE(engines.size() == 3);
    int threads = 0;
    for (const auto& engine : engines) {
        CHECK(engine->info().memory_limit_bytes == 12345678);
        CHECK_FALSE(engine->info().is_gpu);
        threads += engine->info().threads;
    }
    CHECK(threads == 6);
    CHECK(engines[0]->info().name != engines[1]->info().name);
    EngineChoice none = choice;
    none.cpu_engines = 0;
    CHECK_THROWS_AS(make_engines(none), InvalidArgument);
}
