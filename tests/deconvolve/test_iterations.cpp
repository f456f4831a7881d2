// SPDX-License-Identifier: Apache-2.0
// Tests the loop of iterations: likelihood, stopping, callbacks, and equal results of any threads.

#include <cmath>

#include "deconvolve/executors/array_executor.hpp"
#include "deconvolve/executors/host_arrays.hpp"
#include "deconvolve/loop.hpp"
#include "engines/engines.hpp"
#include "tests/catch.hpp"
#include "tests/deconvolve/cases.hpp"
#include "tests/support/errors.hpp"
#include "volumes/convolver_factory.hpp"

using namespace convolume;
using namespace convolume::testing;

namespace {

struct IterationSpecimen {
    Array psf = gaussian_psf({5, 5, 5}, {2, 2, 2}, {1.5, 1.2, 1.2});
    Array image;

    IterationSpecimen() {
        Random random(test_seed("a sample to iterate on"));
        image = random.integers({10, 14, 12}, 0, 40);
    }
};

// Arrays of which one blur is three times too bright, so that the likelihood of that point falls.
struct SpoiledArrays : deconvolve::HostArrays {
    using HostArrays::HostArrays;
    int spoiled = 0;
    int calls = 0;

    void blur(const float* object, float* image) {
        HostArrays::blur(object, image);
        if (++calls != spoiled) return;
        for_each(10 * 14 * 12, deconvolve::ScaledAddition{image, image, 2});
    }
};

}  // namespace

TEST_CASE("deconvolve: likelihood rises, and faster with acceleration") {
    check_likelihood(cpu_only());
    check_unobserved(cpu_only());
}

TEST_CASE("deconvolve: the scaled heavy ball converges as its paper proves") {
    check_heavy_ball(cpu_only());
}

TEST_CASE("deconvolve: the first likelihood is that of a constant object") {
    const IterationSpecimen sample;
    DeconvolveOptions options;
    options.iterations = 1;
    options.background = 0;
    options.boundary = Boundary{BoundaryKind::reflect};
    double mean = 0;
    for (const Complex& value : sample.image.values) mean += value.real();
    mean /= static_cast<double>(sample.image.count());
    double want = 0;
    for (const Complex& value : sample.image.values) {
        const double y = value.real();
        want -= mean - y + (y > 0 ? y * std::log(y / mean) : 0);
    }
    const double got = deconvolved(sample.image, sample.psf, options).likelihoods.at(0);
    CHECK(std::abs(got / want - 1) < 1e-6);
}

TEST_CASE("deconvolve: iterations end if they gain little") {
    const IterationSpecimen sample;
    DeconvolveOptions options;
    options.iterations = 200;
    options.background = 0;
    for (const auto method : {DeconvolveMethod::richardson_lucy,
                              DeconvolveMethod::richardson_lucy_tv, DeconvolveMethod::wiener}) {
        options.method = method;
        options.stop = 1e-2;
        const Deconvolved early = deconvolved(sample.image, sample.psf, options);
        CHECK(early.report.iterations > 2);
        CHECK(early.report.iterations < 60);
        options.stop = 1e-3;
        CHECK(deconvolved(sample.image, sample.psf, options).report.iterations >
              early.report.iterations);
    }
}

TEST_CASE("deconvolve: likelihood and result do not depend on the number of threads") {
    const IterationSpecimen sample;
    DeconvolveOptions options;
    options.iterations = 8;
    for (const auto method :
         {DeconvolveMethod::richardson_lucy_tv, DeconvolveMethod::wiener,
          DeconvolveMethod::scaled_heavy_ball, DeconvolveMethod::wiener_butterworth,
          DeconvolveMethod::gradient_consensus}) {
        options.method = method;
        const Deconvolved one = deconvolved(sample.image, sample.psf, options, cpu_only(1));
        const Deconvolved three = deconvolved(sample.image, sample.psf, options, cpu_only(3));
        CHECK(one.result.values == three.result.values);
        CHECK(one.likelihoods == three.likelihoods);
        CHECK(one.report.last.residual == three.report.last.residual);
    }
}

TEST_CASE("deconvolve: on_iteration is called after each iteration, and can stop") {
    const IterationSpecimen sample;
    DeconvolveOptions options;
    options.iterations = 7;
    Deconvolver deconvolver(sample.image.shape, to_volume(sample.psf, PixelType::float32).view(),
                            options, cpu_only());
    const Volume image = to_volume(sample.image, PixelType::uint8);
    Volume result(sample.image.shape, PixelType::float32);
    std::vector<int> numbers;
    std::vector<double> fractions;
    ExecutionContext context;
    context.progress = [&](double fraction) { fractions.push_back(fraction); };
    DeconvolveRun run;
    run.on_iteration = [&](const Iteration& iteration, const EstimateReader&) {
        numbers.push_back(iteration.number);
        CHECK(iteration.of == 7);
    };
    const DeconvolveReport report = deconvolver.execute(image.view(), result.view(), run, context);
    CHECK(numbers == std::vector<int>{1, 2, 3, 4, 5, 6, 7});
    CHECK(report.iterations == 7);
    CHECK(std::is_sorted(fractions.begin(), fractions.end()));
    CHECK(std::abs(fractions.back() - 1) < 1e-12);

    std::stop_source stop;
    context.stop = stop.get_token();
    numbers.clear();
    run.on_iteration = [&](const Iteration& iteration, const EstimateReader&) {
        numbers.push_back(iteration.number);
        if (iteration.number == 3) stop.request_stop();
    };
    CHECK_THROWS_AS(deconvolver.execute(image.view(), result.view(), run, context), Cancelled);
    CHECK(numbers.size() == 3);
    // The same object can be used again, and gives the same result.
    const Array before = to_array(result.view());
    deconvolver.execute(image.view(), result.view());
    const Array again = to_array(result.view());
    deconvolver.execute(image.view(), result.view(), {}, {});
    CHECK(to_array(result.view()).values == again.values);
}

TEST_CASE("deconvolve: an estimate that is accepted is the result") {
    const IterationSpecimen sample;
    const Volume image = to_volume(sample.image, PixelType::uint8);
    const Volume psf = to_volume(sample.psf, PixelType::float32);
    const auto method =
        GENERATE(DeconvolveMethod::richardson_lucy, DeconvolveMethod::non_negative_least_squares);
    const int every = GENERATE(0, 1, 2, 3);
    INFO(to_string(method) << ", every " << every);
    DeconvolveOptions options;
    options.method = method;
    const auto restored = [&](int iterations, const DeconvolveRun& run) {
        options.iterations = iterations;
        Volume result(sample.image.shape, PixelType::float32);
        const DeconvolveReport report =
            Deconvolver(sample.image.shape, psf.view(), options, cpu_only())
                .execute(image.view(), result.view(), run);
        return std::pair{report.iterations, to_array(result.view()).values};
    };
    DeconvolveRun run;
    run.reads_every = every;
    std::vector<int> asked;
    run.accepts = [&](const Iteration& iteration) {
        asked.push_back(iteration.number);
        return iteration.number >= 5;
    };
    const int expected = every == 0 ? 9 : every == 1 ? 5 : 6;
    const auto [iterations, values] = restored(9, run);
    CHECK(iterations == expected);
    CHECK((values == restored(expected, {}).second));
    std::vector<int> numbers;
    for (int k = every; every > 0 && k <= expected; k += every) numbers.push_back(k);
    CHECK(asked == numbers);
}

TEST_CASE("deconvolve: estimates can be read between iterations, and continued from") {
    const IterationSpecimen sample;
    const Volume image = to_volume(sample.image, PixelType::uint8);
    const Volume psf = to_volume(sample.psf, PixelType::float32);
    DeconvolveOptions options;
    options.acceleration = Acceleration::none;
    const auto solver = [&](int iterations) {
        options.iterations = iterations;
        return Deconvolver(sample.image.shape, psf.view(), options, cpu_only());
    };
    const Deconvolver nine = solver(9);
    Volume whole(sample.image.shape, PixelType::float32);
    Volume fourth(nine.plan().object, PixelType::float32);
    Volume last(sample.image.shape, PixelType::float32);
    Volume wrong({1, 2, 3}, PixelType::float32);
    DeconvolveRun run;
    run.on_iteration = [&](const Iteration& iteration, const EstimateReader& read) {
        if (iteration.number == 4) read(fourth.view());
        if (iteration.number == 9) read(last.view());
        CHECK_THROWS_AS(read(wrong.view()), InvalidArgument);
    };
    nine.execute(image.view(), whole.view(), run);
    CHECK(to_array(last.view()).values == to_array(whole.view()).values);
    DeconvolveRun rest;
    rest.start = fourth.view();
    Volume resumed(sample.image.shape, PixelType::float32);
    solver(5).execute(image.view(), resumed.view(), rest);
    CHECK(to_array(resumed.view()).values == to_array(whole.view()).values);

    // If the object ends with the image, an estimate of the image's shape is complete.
    options.boundary = Boundary{BoundaryKind::reflect};
    double last_seen = 0;
    const Deconvolver bounded = solver(9);
    run.on_iteration = [&](const Iteration& iteration, const EstimateReader&) {
        last_seen = iteration.likelihood;
    };
    bounded.execute(image.view(), last.view(), run);
    double first = 0;
    DeconvolveRun warm;
    warm.start = last.view();
    warm.on_iteration = [&](const Iteration& iteration, const EstimateReader&) {
        if (iteration.number == 1) first = iteration.likelihood;
    };
    bounded.execute(image.view(), resumed.view(), warm);
    CHECK(first > last_seen);
    warm.start = wrong.view();
    CHECK_THROWS_AS(nine.execute(image.view(), resumed.view(), warm), InvalidArgument);
    options.method = DeconvolveMethod::wiener;
    CHECK_THROWS_AS(solver(2).execute(image.view(), resumed.view(), rest), InvalidArgument);
}

TEST_CASE("deconvolve: an extrapolation that overshoots is undone") {
    const IterationSpecimen sample;
    DeconvolveOptions options;
    options.iterations = 12;
    const deconvolve::DeconvolutionProblem problem = deconvolve::resolve_problem(
        sample.image.shape, to_volume(sample.psf, PixelType::float32).view(), options);
    const auto convolver = [&](Operation operation) {
        return ConvolverFactory::make(problem.object, problem.psf.view(), problem.blur(operation),
                                      make_engines(cpu_only()));
    };
    const Convolver blur = convolver(Operation::convolve);
    const Convolver back = convolver(Operation::adjoint);
    for (const int spoiled : {0, 3, 7}) {
        SpoiledArrays arrays(problem, blur, back, 2);
        arrays.spoiled = spoiled;
        const Volume image = to_volume(sample.image, PixelType::float32);
        arrays.write(image.elements<float>(), arrays.image(0), 0, sample.image.count());
        std::vector<double> likelihoods;
        DeconvolveRun run;
        run.on_iteration = [&](const Iteration& iteration, const EstimateReader&) {
            likelihoods.push_back(iteration.likelihood);
        };
        const ExecutionContext context;
        deconvolve::IterationProgress progress(context, run, *options.iterations);
        deconvolve::LoadedImage loaded;
        loaded.mean = 20;
        deconvolve::ArrayExecutor<SpoiledArrays> executor(arrays, problem);
        const auto outcome =
            deconvolve::iterate(executor, problem, loaded, 0, progress, *options.iterations);
        INFO("spoiled " << spoiled);
        CHECK(outcome.report.restarts == (spoiled > 0));
        CHECK(arrays.calls == 12 + (spoiled > 0));
        CHECK(std::is_sorted(likelihoods.begin(), likelihoods.end()));
    }
}
