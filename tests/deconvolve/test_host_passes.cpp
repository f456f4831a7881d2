// SPDX-License-Identifier: Apache-2.0
// Compares iterations by passes in host memory with those over whole arrays, for any shape, method
// and number of threads.

#include <cmath>

#include "deconvolve/executors/array_executor.hpp"
#include "deconvolve/executors/host_arrays.hpp"
#include "deconvolve/executors/host_passes.hpp"
#include "deconvolve/loop.hpp"
#include "deconvolve/placement.hpp"
#include "engines/engines.hpp"
#include "tests/catch.hpp"
#include "tests/deconvolve/specimen.hpp"
#include "volumes/convolver_factory.hpp"

using namespace convolume;
using namespace convolume::deconvolve;
using namespace convolume::testing;

namespace {

struct RunResult {
    Array result;
    DeconvolveReport report;
    std::vector<double> likelihoods;
};

RunResult run_on(Executor& executor, const deconvolve::DeconvolutionProblem& problem,
                 const Array& image, const Array& start) {
    RunResult done;
    Volume result(image.shape, PixelType::float32);
    poison(result.view());
    const Volume pixels = to_volume(image, PixelType::float32);
    const Volume first = to_volume(start, PixelType::float32);
    DeconvolveRun along;
    if (start.count() > 0) along.start = first.view();
    along.on_iteration = [&](const Iteration& iteration, const EstimateReader&) {
        done.likelihoods.push_back(iteration.likelihood);
        done.likelihoods.push_back(iteration.held_out);
    };
    deconvolve::HostImages images(pixels.view(), result.view());
    done.report = deconvolve::run(executor, problem, images, {}, along);
    done.result = to_array(result.view());
    return done;
}

RunResult by_arrays(const deconvolve::DeconvolutionProblem& problem, const Array& image,
                    const Array& start) {
    const auto convolver = [&](Operation operation) {
        return ConvolverFactory::make(problem.object, problem.psf.view(), problem.blur(operation),
                                      make_engines(cpu_only(1)));
    };
    const Convolver blur = convolver(Operation::convolve), back = convolver(Operation::adjoint);
    HostArrays arrays(problem, blur, back, 1);
    ArrayExecutor<HostArrays> executor(arrays, problem);
    return run_on(executor, problem, image, start);
}

RunResult by_passes(const deconvolve::DeconvolutionProblem& problem, int threads,
                    bool keep_spectrum, const Array& image, const Array& start) {
    HostPassExecutor executor(HostPassLayout(problem, threads, keep_spectrum), problem.psf_views());
    const RunResult first = run_on(executor, problem, image, start);
    // An execution must not depend on the previous execution.
    const RunResult again = run_on(executor, problem, image, start);
    CHECK(first.result.values == again.result.values);
    CHECK(first.likelihoods == again.likelihoods);
    return again;
}

double difference(const Array& a, const Array& b) {
    Array apart = a;
    for (std::size_t i = 0; i < a.values.size(); ++i) apart.values[i] -= b.values[i];
    return norm(apart);
}

deconvolve::DeconvolutionProblem problem_of(const Array& image, const Array& psf,
                                            const DeconvolveOptions& options) {
    return resolve_problem(image.shape, to_volume(psf, PixelType::float64).view(), options);
}

void check_case(const Array& image, const Array& psf, const DeconvolveOptions& options,
                const Array& start = {}) {
    const deconvolve::DeconvolutionProblem problem = problem_of(image, psf, options);
    REQUIRE((fits_fused_passes(problem) && can_convolve_by_passes(problem)));
    INFO("image " << to_string(image.shape) << ", PSF " << to_string(psf.shape) << ", "
                  << to_string(options.method) << ", " << to_string(options.acceleration)
                  << (options.boundary ? ", zero" : ", extend")
                  << (options.hold_out ? ", hold out" : ""));
    const RunResult arrays = by_arrays(problem, image, start);
    const RunResult one = by_passes(problem, 1, true, image, start);
    CHECK(difference(one.result, arrays.result) <= 1e-5 * norm(arrays.result));
    CHECK(one.report.iterations == arrays.report.iterations);
    REQUIRE(one.likelihoods.size() == arrays.likelihoods.size());
    for (std::size_t i = 0; i < one.likelihoods.size(); ++i)
        CHECK(std::abs(one.likelihoods[i] - arrays.likelihoods[i]) <=
              1e-4 * std::abs(arrays.likelihoods[i]) + 1e-4);
    for (const bool keep_spectrum : {true, false}) {
        const RunResult three = by_passes(problem, 3, keep_spectrum, image, start);
        CHECK(one.result.values == three.result.values);
        CHECK(one.likelihoods == three.likelihoods);
    }
}

}  // namespace

TEST_CASE("deconvolve: passes in host memory agree with whole arrays") {
    Random random(test_seed("passes in host memory"));
    const std::vector<std::pair<Shape3, Shape3>> shapes{
        {{9, 13, 11}, {3, 5, 4}},  {{12, 40, 37}, {5, 7, 9}}, {{7, 19, 18}, {7, 19, 18}},
        {{1, 45, 33}, {1, 5, 5}},  {{1, 1, 60}, {1, 1, 9}},   {{6, 1, 10}, {4, 1, 3}},
        {{5, 8, 6}, {11, 17, 15}}, {{20, 6, 1}, {6, 3, 1}},   {{1, 1, 1}, {3, 3, 3}}};
    for (const auto& [image_shape, psf_shape] : shapes) {
        for (const bool zero : {false, true}) {
            const Array image = random.integers(image_shape, 10, 60);
            const Array psf = random_psf(random, psf_shape);
            DeconvolveOptions options;
            options.iterations = 6;  // more iterations amplify rounding with these PSFs
            options.background = 0.5;
            if (zero) {
                options.boundary = Boundary{};
                options.center = {KernelCenter::Kind::explicit_, {}};
                for (int a = 0; a < 3; ++a)
                    options.center.index[a] = random.integer(0, psf_shape[a] - 1);
            }
            options.acceleration = random.pick({Acceleration::none, Acceleration::biggs_andrews});
            check_case(image, psf, options);
            options.method = DeconvolveMethod::scaled_heavy_ball;
            check_case(image, psf, options);
        }
    }
}

TEST_CASE(
    "deconvolve: passes in host memory leave out photons and pixels, and start from an estimate") {
    Random random(test_seed("held out in passes"));
    const Array psf = gaussian_psf({5, 7, 7}, {2, 3, 3}, {1, 1.5, 1.5});
    const Array image = random.integers({9, 20, 17}, 0, 80);
    DeconvolveOptions options;
    options.iterations = 10;
    for (const auto acceleration : {Acceleration::none, Acceleration::biggs_andrews}) {
        options.acceleration = acceleration;
        options.saturation = 75;
        check_case(image, psf, options);
        options.hold_out = true;
        check_case(image, psf, options);
        options.saturation.reset();
        options.gain = 1;
        options.offset = 0;
        check_case(image, psf, options);
        options.hold_out = false;
        check_case(image, psf, options, random.integers(image.shape, 0, 9));
    }
}

TEST_CASE("deconvolve: passes in host memory reject a step, and take another from the same point") {
    Random random(test_seed("refused passes"));
    const Array psf = gaussian_psf({3, 5, 5}, {1, 2, 2}, {1, 1, 1});
    const Array image = random.integers({6, 11, 10}, 1, 50);
    const deconvolve::DeconvolutionProblem problem = problem_of(image, psf, {});
    HostPassExecutor executor(HostPassLayout(problem, 2, true), problem.psf_views());
    const Volume pixels = to_volume(image, PixelType::float32);
    const auto* const values = static_cast<const float*>(pixels.view().data);
    executor.write_image(values, 0, image.count());
    LoadedImage loaded;
    loaded.mean = 25;
    executor.begin(loaded, 0);
    const DeconvolveRun along;
    const ExecutionContext context;
    const IterationProgress progress(context, along, 3);
    const auto estimate = [&] {
        std::vector<float> voxels(static_cast<std::size_t>(element_count(problem.object)));
        executor.read_estimate(voxels.data(), 0, element_count(problem.object));
        return voxels;
    };
    StepStart start;
    const StepResult first = executor.iterate(start, progress);
    CHECK(first.products().second == 0);
    start.iteration = 2;
    start.extrapolation = {0.5F, 0};
    start.restart = false;
    const StepResult second = executor.iterate(start, progress);
    CHECK(second.products().second > 0);
    const std::vector<float> before = estimate();
    start.objective_limit = 0.5 * second.objective();
    CHECK(executor.iterate(start, progress).refused);
    CHECK(estimate() == before);
    StepStart restarted;
    restarted.iteration = 3;
    const StepResult plain = executor.iterate(restarted, progress);
    CHECK_FALSE(plain.refused);
    CHECK(plain.misfit() < second.misfit());
    CHECK(plain.products().second == 0);
    CHECK(estimate() != before);
}

TEST_CASE("deconvolve: passes in host memory are chosen if they fit, and stay within the limit") {
    Random random(test_seed("limits of passes"));
    const Array psf = random_psf(random, {9, 15, 15});
    const Array image = random.integers({24, 60, 60}, 1, 50);
    DeconvolveOptions options;
    options.iterations = 3;
    options.background = 0;
    const deconvolve::DeconvolutionProblem problem = problem_of(image, psf, options);
    const HostPassLayout whole(problem, 2, true), compact(problem, 2, false);
    CHECK(compact.bytes() < whole.bytes());
    const index_t caller = 2 * 4 * image.count();
    const Deconvolved free = deconvolved(image, psf, options, cpu_only(2));
    for (const HostPassLayout* layout : {&whole, &compact}) {
        const Volume pixels = to_volume(image, PixelType::float32);
        const Volume taps = to_volume(psf, PixelType::float64);
        Volume result(image.shape, PixelType::float32);
        options.max_host_bytes = layout->bytes() + caller;
        const Deconvolver deconvolver(image.shape, taps.view(), options, cpu_only(2));
        CHECK(deconvolver.plan().host_bytes == layout->bytes() + caller);
        CHECK(deconvolver.plan().array_bytes == layout->array_bytes());
        const index_t before = memory_use().current_bytes;
        reset_memory_peak();
        deconvolver.execute(pixels.view(), result.view());
        const index_t held = memory_use().peak_bytes - before;
        INFO(held << " of " << layout->bytes() << " bytes");
        CHECK(held <= layout->bytes());
        CHECK(held >= layout->bytes() / 2);
        CHECK(to_array(result.view()).values == free.result.values);
    }
}
