// SPDX-License-Identifier: Apache-2.0
// Tests the effect of a start on coarser images.

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "deconvolve/estimates/coarse_start.hpp"
#include "deconvolve/estimates/photons.hpp"
#include "tests/catch.hpp"
#include "tests/deconvolve/specimen.hpp"
#include "tests/support/compare.hpp"
#include "tests/support/errors.hpp"

using namespace convolume;
using namespace convolume::testing;

namespace {

double final_likelihood(const Array& image, const Array& psf, const DeconvolveOptions& options) {
    return deconvolved(image, psf, options).report.last.likelihood;
}

}  // namespace

TEST_CASE("coarse start: fewer iterations are as good, and many reach the same likelihood",
          "[long]") {
    Random random(test_seed("coarse start"));
    const Array psf = wide_psf();
    for (const DeconvolveMethod method :
         {DeconvolveMethod::richardson_lucy, DeconvolveMethod::scaled_heavy_ball,
          DeconvolveMethod::richardson_lucy_tv})
        for (const Acceleration acceleration : {Acceleration::none, Acceleration::biggs_andrews}) {
            const Array image = specimen_image(random, {1, 64, 71}, psf);
            DeconvolveOptions options;
            options.method = method;
            options.acceleration = acceleration;
            options.background = 2;
            if (method == DeconvolveMethod::richardson_lucy_tv) options.tv_weight = 1e-3;
            options.iterations = 5;
            INFO(to_string(method) << " " << to_string(acceleration));
            const double plain = final_likelihood(image, psf, options);
            options.coarse_start = 20;
            const Deconvolved started = deconvolved(image, psf, options);
            CHECK(started.report.iterations == 5);
            CHECK(started.report.coarse_iterations == 40);  // 20 on each of two coarse images
            options.coarse_start = 0;
            options.iterations = 12;
            CHECK(started.report.last.likelihood > final_likelihood(image, psf, options));
            CHECK(started.report.last.likelihood > plain);

            options.iterations = 150;
            const double limit = final_likelihood(image, psf, options);
            options.coarse_start = 20;
            CHECK(std::abs(final_likelihood(image, psf, options) / limit - 1) < 0.01);
        }
}

TEST_CASE("coarse start: every shape, PSF and edge works") {
    Random random(test_seed("coarse shapes"));
    struct Case {
        Shape3 shape;
        Array psf;
    };
    const Case cases[] = {
        {{1, 33, 37}, wide_psf()},
        {{17, 19, 23}, gaussian_psf({8, 6, 7}, {4, 3, 3}, {2, 1.7, 2})},
        {{1, 1, 61}, gaussian_psf({1, 1, 11}, {0, 0, 5}, {1, 1, 2.2})},
        {{16, 20, 18}, gaussian_psf({31, 41, 41}, {15, 20, 20}, {3, 3, 3})},
    };
    for (const Case& c : cases)
        for (const char* edges : {"extend", "zero", "nearest", "reflect", "mirror", "wrap"}) {
            Array image = random.integers(c.shape, 0, 40);
            for (index_t z = 0; z < c.shape.z; ++z)
                for (index_t y = 0; y < c.shape.y; ++y)
                    for (index_t x = 0; x < c.shape.x / 2; ++x) image(z, y, x) += 200;
            DeconvolveOptions options;
            options.boundary = parse_edges(edges);
            options.iterations = 2;
            options.background.reset();
            INFO(to_string(c.shape) << ", PSF " << to_string(c.psf.shape) << ", " << edges);
            const Deconvolved plain = deconvolved(image, c.psf, options);
            options.coarse_start = 8;
            const Deconvolved started = deconvolved(image, c.psf, options);
            CHECK(started.report.background == plain.report.background);
            if (started.report.coarse_iterations == 0) {
                // The odd extents of a periodic image cannot be halved.
                CHECK(edges == std::string("wrap"));
                CHECK(same(started.result, plain.result));
            } else {
                CHECK(started.report.last.likelihood > plain.report.last.likelihood);
            }
        }
}

TEST_CASE("coarse start: values of saturated pixels make no difference") {
    Random random(test_seed("coarse saturation"));
    const Array psf = wide_psf();
    Array image = specimen_image(random, {1, 40, 44}, psf);
    DeconvolveOptions options;
    options.iterations = 3;
    options.background = 2;
    options.coarse_start = 10;
    options.saturation = 5000;
    options.offset = 0;
    for (index_t i = 0; i < 12; ++i) image(0, 3 * i, 20 + i) = 5000;
    const Deconvolved one = deconvolved(image, psf, options);
    for (index_t i = 0; i < 12; ++i) image(0, 3 * i, 20 + i) = 9000 + static_cast<double>(i);
    const Deconvolved other = deconvolved(image, psf, options);
    CHECK(one.report.coarse_iterations > 0);
    CHECK(one.report.saturated_pixels == 12);
    CHECK(same(one.result, other.result));

    // Every coarse pixel contains a missing pixel, so there is no coarse image to start on.
    for (index_t y = 0; y < 40; y += 2)
        for (index_t x = 0; x < 44; x += 2) image(0, y, x) = static_cast<double>(missing_pixel);
    const Deconvolved none = deconvolved(image, psf, options);
    CHECK(none.report.coarse_iterations == 0);
    options.coarse_start = 0;
    const Deconvolved plain = deconvolved(image, psf, options);
    CHECK(std::abs(none.report.last.likelihood / plain.report.last.likelihood - 1) < 0.05);
}

TEST_CASE("coarse start: a search for the number of iterations starts coarsely, as the run does") {
    Random random(test_seed("coarse held out"));
    const Array psf = wide_psf();
    const Array image = specimen_image(random, {1, 64, 64}, psf, 4000);
    DeconvolveOptions options;
    options.iterations = 100;
    options.background = 2;
    options.coarse_start = 4;
    options.hold_out = true;
    options.gain = 1;
    options.offset = 0;
    const Deconvolved found = deconvolved(image, psf, options);
    CHECK(found.report.searched > 0);
    CHECK(found.report.coarse_iterations == 8);  // two coarse images
    CHECK(found.report.iterations >= 1);
    // The search starts as a deconvolution of half of the photons does.
    Array half(image.shape);
    for (index_t i = 0; i < image.count(); ++i) {
        deconvolve::PixelRandomBits bits(1, deconvolve::ThinningPurpose::hold_out, i);
        const auto value = static_cast<float>(image.values[static_cast<std::size_t>(i)].real());
        half.values[static_cast<std::size_t>(i)] =
            2 * deconvolve::drawn_value(value, 1, 1, 0, bits);
    }
    DeconvolveOptions of_half = options;
    of_half.hold_out = false;
    of_half.gain.reset();
    of_half.iterations = 1;
    const double first = deconvolved(half, psf, of_half).likelihoods.front();
    CHECK(std::abs(found.likelihoods.front() / first - 1) < 1e-4);

    // The result equals the result of the same number of iterations with all photons.
    options.hold_out = false;
    options.gain.reset();
    options.iterations = found.report.iterations;
    CHECK(same(found.result, deconvolved(image, psf, options).result));
}

TEST_CASE("coarse start: a given estimate is used instead") {
    Random random(test_seed("coarse start given"));
    const Array psf = wide_psf();
    const Array image = specimen_image(random, {1, 40, 44}, psf);
    const Volume start = to_volume(random.array(image.shape, false, 3), PixelType::float32);
    const auto resumed = [&](int coarse) {
        DeconvolveOptions options;
        options.iterations = 3;
        options.coarse_start = coarse;
        const Deconvolver deconvolver(image.shape, to_volume(psf, PixelType::float64).view(),
                                      options, cpu_only());
        Volume result(image.shape, PixelType::float32);
        DeconvolveRun run;
        run.start = start.view();
        const DeconvolveReport report =
            deconvolver.execute(to_volume(image, PixelType::float32).view(), result.view(), run);
        CHECK(report.coarse_iterations == 0);
        return to_array(std::as_const(result).view());
    };
    CHECK(same(resumed(0), resumed(10)));
}

TEST_CASE(
    "coarse start: it is planned, shows progress, can be stopped, and is refused if impossible") {
    Random random(test_seed("coarse plan"));
    const Array psf = wide_psf();
    const Array image = specimen_image(random, {1, 64, 64}, psf);
    DeconvolveOptions options;
    options.iterations = 4;
    options.coarse_start = 6;
    const Volume taps = to_volume(psf, PixelType::float64);
    const Deconvolver deconvolver(image.shape, taps.view(), options, cpu_only());
    const DeconvolvePlan plan = deconvolver.plan();
    CHECK(plan.coarse_images == std::vector<Shape3>{{1, 16, 16}, {1, 32, 32}});
    CHECK(contains(plan.to_string(), "6 iterations on an image of 1×32×32"));
    options.coarse_start = 0;
    const Deconvolver plain(image.shape, taps.view(), options, cpu_only());
    CHECK(plain.plan().host_bytes < plan.host_bytes);
    CHECK(plain.plan().coarse_images.empty());
    CHECK(!contains(plain.plan().to_string(), "begins"));

    const Volume pixels = to_volume(image, PixelType::uint16);
    Volume result(image.shape, PixelType::uint16);
    std::vector<double> fractions;
    int reported = 0;
    ExecutionContext context;
    context.progress = [&](double fraction) { fractions.push_back(fraction); };
    DeconvolveRun run;
    run.on_iteration = [&](const Iteration& iteration, const EstimateReader&) {
        CHECK(iteration.number == ++reported);
        CHECK(iteration.of == 4);
    };
    deconvolver.execute(pixels.view(), result.view(), run, context);
    CHECK(reported == 4);
    CHECK(std::is_sorted(fractions.begin(), fractions.end()));
    CHECK(fractions.size() >= 16);
    CHECK(fractions.back() == 1);

    std::stop_source stop;
    context.stop = stop.get_token();
    context.progress = [&](double) { stop.request_stop(); };
    CHECK_THROWS_AS(deconvolver.execute(pixels.view(), result.view(), {}, context), Cancelled);

    options.coarse_start = 6;
    const Array point = gaussian_psf({1, 3, 3}, {0, 1, 1}, {1, 0.2, 0.2});
    const Deconvolver sharp(image.shape, to_volume(point, PixelType::float64).view(), options,
                            cpu_only());
    CHECK(contains(sharp.plan().to_string(), "no coarser image"));

    options.coarse_start = -1;
    CHECK_THROWS_AS(Deconvolver(image.shape, taps.view(), options, cpu_only()), InvalidArgument);
    options.coarse_start = 1;
    for (const DeconvolveMethod method :
         {DeconvolveMethod::wiener, DeconvolveMethod::wiener_butterworth,
          DeconvolveMethod::gradient_consensus}) {
        options.method = method;
        CHECK(contains(message_of<InvalidArgument>(
                           [&] { Deconvolver(image.shape, taps.view(), options, cpu_only()); }),
                       "coarse_start does not apply"));
    }
}

TEST_CASE("coarse start: plans contain the memory, and stay within its limit") {
    const Shape3 shape{40, 48, 56};
    Random random(test_seed("coarse memory"));
    const Volume taps =
        to_volume(gaussian_psf({9, 9, 9}, {4, 4, 4}, {2, 2, 2}), PixelType::float32);
    DeconvolveOptions options;
    options.iterations = 2;
    options.coarse_start = 2;
    options.max_host_bytes = index_t{9000} << 10;
    const index_t before = memory_use().current_bytes;
    reset_memory_peak();
    const Deconvolver engine(shape, taps.view(), options, cpu_only());
    Volume image(shape, PixelType::float32);
    std::fill_n(image.elements<float>(), element_count(shape), 5.0F);
    CHECK(engine.execute(image.view(), image.view()).coarse_iterations > 0);
    CHECK(engine.plan().host_bytes <= *options.max_host_bytes);
    CHECK(memory_use().peak_bytes - before <= engine.plan().host_bytes);
    options.max_host_bytes = index_t{1} << 20;
    CHECK_THROWS_AS(Deconvolver(shape, taps.view(), options, cpu_only()), OutOfMemory);
}
